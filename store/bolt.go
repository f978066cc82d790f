package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	// openTimeout bounds the wait for a file that another process holds. Bolt's
	// default is to wait for ever.
	openTimeout = time.Second
	// schema is the version of the layout below.
	schema = "1"
	// logFill packs the pages of a log, which only grows at its end.
	logFill = 0.9
	// compactAbove is the size in bytes from which a file that is mostly free is
	// worth writing anew.
	compactAbove = 4 << 20
	// compactTx bounds the memory of one transaction while a file is written anew.
	compactTx = 8 << 20
)

// The buckets of the file. Log and aside hold a bucket a session; the others
// hold one value a session, under its id.
var (
	bAbout   = []byte("about")   // schema
	bLog     = []byte("log")     // session → sequence number → message
	bAside   = []byte("aside")   // session → sequence number → unreadable line
	bMeta    = []byte("meta")    // session → description
	bView    = []byte("view")    // session → what the model sees differently
	bCheck   = []byte("check")   // session → the answer that is streaming
	bDeleted = []byte("deleted") // session → when it was deleted
	bValues  = []byte("values")  // name → key → value

	kSchema = []byte("schema")
)

// Options say where a durable store lives.
type Options struct {
	Path   string // of the Bolt file
	Images string // folder of the pictures
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Bolt is the durable store. Only one process can have it open.
type Bolt struct {
	path   string
	images *imageDir
	now    func() time.Time

	// file is held for writing only while the file is exchanged or closed.
	file sync.RWMutex
	db   *bbolt.DB

	mu      sync.Mutex // protects working
	working working
}

var _ Store = (*Bolt)(nil)

// Open opens or makes a store. It fails within about a second with an error that
// is [ErrLocked] when another process holds the file, and with one that is
// [ErrCorrupt] when the file cannot be read; the file is then left as it is.
func Open(o Options) (*Bolt, error) {
	s := &Bolt{path: o.Path, images: &imageDir{dir: o.Images}, now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, classify(filepath.Dir(o.Path), err)
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	s.sweep()
	if err := s.compactIfSparse(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open opens the file.
func (s *Bolt) open() (err error) {
	defer func() {
		if err != nil && s.db != nil {
			s.db.Close()
			s.db = nil
		}
	}()
	return guard(s.path, func() error {
		db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: openTimeout, FreelistType: bbolt.FreelistMapType})
		switch {
		case errors.Is(err, berrors.ErrTimeout):
			return locked(s.path)
		case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
			return corrupt(s.path, err)
		case err != nil && looksDamaged(s.path, err):
			return corrupt(s.path, err)
		case err != nil:
			return classify(s.path, err)
		}
		s.db = db
		return whole(db, s.path)
	})
}

// looksDamaged tells a file that Bolt cannot make sense of from one that cannot
// be opened.
func looksDamaged(path string, err error) bool {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return false
	}
	f, ferr := os.Open(path)
	if ferr != nil {
		return false
	}
	defer f.Close()
	st, ferr := f.Stat()
	return ferr == nil && st.Mode().IsRegular() && st.Size() > 0 && !isFull(err)
}

// whole reports a file that is shorter than its header says: reading what is
// missing would end the process.
func whole(db *bbolt.DB, path string) error {
	return db.View(func(tx *bbolt.Tx) error {
		st, err := os.Stat(path)
		if err != nil {
			return classify(path, err)
		}
		if st.Size() < tx.Size() {
			return corrupt(path, fmt.Errorf("it has %d bytes of %d", st.Size(), tx.Size()))
		}
		return nil
	})
}

// prepare makes the buckets and checks the schema.
func (s *Bolt) prepare() error {
	ready := false
	err := s.view(func(tx *bbolt.Tx) error {
		about := tx.Bucket(bAbout)
		if about == nil {
			if k, _ := tx.Cursor().First(); k != nil {
				return corrupt(s.path, errors.New("it is no session store"))
			}
			return nil
		}
		if v := about.Get(kSchema); string(v) != schema {
			return newerSchema(s.path, string(v))
		}
		ready = true
		return nil
	})
	if err != nil || ready {
		return err
	}
	if err := syncDir(filepath.Dir(s.path)); err != nil { // the file's name is new
		return classify(s.path, err)
	}
	return s.update(func(tx *bbolt.Tx) error {
		for _, b := range [][]byte{bAbout, bLog, bAside, bMeta, bView, bCheck, bDeleted, bValues} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return tx.Bucket(bAbout).Put(kSchema, []byte(schema))
	})
}

// guard runs fn and turns what a damaged page does to it, a panic or a fault in
// the mapped file, into an error.
func guard(path string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = corrupt(path, fmt.Errorf("%v", r))
		}
	}()
	return fn()
}

var errClosed = errors.New("the session store is closed")

// view reads in one transaction.
func (s *Bolt) view(fn func(tx *bbolt.Tx) error) error {
	s.file.RLock()
	defer s.file.RUnlock()
	if s.db == nil {
		return classify(s.path, errClosed)
	}
	return classify(s.path, guard(s.path, func() error { return s.db.View(fn) }))
}

// update writes in one transaction, which has reached the disk when it returns.
func (s *Bolt) update(fn func(tx *bbolt.Tx) error) error {
	s.file.RLock()
	defer s.file.RUnlock()
	if s.db == nil {
		return classify(s.path, errClosed)
	}
	return classify(s.path, guard(s.path, func() error { return s.db.Update(fn) }))
}

// Close closes the file. It waits for what is being read or written.
func (s *Bolt) Close() error {
	s.file.Lock()
	defer s.file.Unlock()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return classify(s.path, err)
}

// compactIfSparse writes the file anew when more than half of it is free.
func (s *Bolt) compactIfSparse() error {
	s.file.Lock()
	defer s.file.Unlock()
	if s.db == nil {
		return nil
	}
	var size int64
	if err := s.db.View(func(tx *bbolt.Tx) error { size = tx.Size(); return nil }); err != nil {
		return classify(s.path, err)
	}
	st := s.db.Stats()
	free := int64(st.FreePageN+st.PendingPageN) * int64(s.db.Info().PageSize)
	if size < compactAbove || free*2 <= size {
		return nil
	}
	return guard(s.path, s.compact)
}

// compact exchanges the file for a copy without its free pages. When the copy
// cannot be made (a full disk), the file stays as it is, which is no failure.
func (s *Bolt) compact() error {
	tmp := s.path + tempSuffix
	os.Remove(tmp)
	dst, err := bbolt.Open(tmp, 0o600, &bbolt.Options{Timeout: openTimeout, NoSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil
	}
	err = guard(tmp, func() error { return bbolt.Compact(dst, s.db, compactTx) })
	if err == nil {
		err = dst.Sync()
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(tmp)
		return nil
	}
	if err := s.db.Close(); err != nil {
		return classify(s.path, err)
	}
	s.db = nil
	err = os.Rename(tmp, s.path)
	if err == nil {
		err = syncDir(filepath.Dir(s.path))
	}
	if oerr := s.open(); oerr != nil {
		return oerr
	}
	return classify(s.path, err)
}

// seqKey is a sequence number as a key: big-endian sorts as numbers do.
func seqKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// put adds lines at the end of a session's bucket.
func put(b *bbolt.Bucket, lines ...[]byte) error {
	b.FillPercent = logFill
	for _, line := range lines {
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		if err := b.Put(seqKey(n), line); err != nil {
			return err
		}
	}
	return nil
}
