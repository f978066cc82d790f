// Package bolt keeps the index in one Bolt file.
//
// The file holds documents by path, chunks by id (compressed), immutable BM25
// segments, and vectors in blocks. A batch is one transaction. Large merges are
// written in many small transactions into a segment that no reader knows yet,
// and one last transaction puts it in the place of the old ones, so that a
// search or a small change never waits for a merge.
package bolt

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"perch/chat"
	"perch/kb/backend"
	"perch/kb/segment"
)

// schema is the version of the file's layout. A file of another version is
// built anew: everything in it comes from the user's documents.
const schema = "1"

// lockTimeout is how long to wait for another process that holds the file.
const lockTimeout = time.Second

var (
	bMeta     = []byte("meta")
	bDocs     = []byte("docs")     // path → docRecord
	bPaths    = []byte("paths")    // document number → path, NUL, title
	bChunks   = []byte("chunks")   // chunk id → chunk record
	bHashes   = []byte("hashes")   // chunk id → hash of its text
	bSegs     = []byte("segments") // segment number → bucket
	bProblems = []byte("problems") // path → reason
	bRoots    = []byte("roots")    // path → backend.Root
	bVectors  = []byte("vectors")  // set → bucket
	bFacts    = []byte("facts")    // Meta and SetMeta

	kSchema = []byte("schema")
	kState  = []byte("state")
)

// Backend is an index in a Bolt file.
type Backend struct {
	// handle guards db, which compacting replaces; writing keeps writers out while
	// it copies.
	handle  sync.RWMutex
	writing sync.Mutex
	db      *bbolt.DB
	written atomic.Int64 // when, in nanoseconds

	// maintain keeps two merges from running at once.
	maintain sync.Mutex
	vec      residents
}

var _ backend.Backend = (*Backend)(nil)

// state is what each transaction reads first.
type state struct {
	NextChunk uint32               `json:"next_chunk"`
	NextDoc   uint64               `json:"next_doc"`
	NextSeg   uint64               `json:"next_seg"`
	Segs      []uint64             `json:"segs"` // the readable ones, by age
	Documents int                  `json:"documents"`
	Chunks    int                  `json:"chunks"`
	Terms     int                  `json:"terms"` // length of all chunks
	Langs     map[segment.Lang]int `json:"langs"`
	// Orphans counts texts that lost a chunk since vectors were last swept.
	Orphans int `json:"orphans,omitempty"`
}

// docRecord is a document as it is stored.
type docRecord struct {
	backend.Document
	Number uint64 `json:"n"`
	First  uint32 `json:"first"` // its chunks' ids are First … First+Chunks-1
}

// ErrDamaged is a file that is no index, or a broken one.
var ErrDamaged = errors.New("the knowledge base's file is damaged")

// Open opens or creates the file. A locked file is a classed error; a damaged
// one wraps [ErrDamaged].
func Open(path string) (b *Backend, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the knowledge base: %w", err)
	}
	defer func() { // bbolt panics on some damaged pages
		if p := recover(); p != nil {
			b, err = nil, fmt.Errorf("open %s: %w: %v", path, ErrDamaged, p)
		}
	}()
	_ = os.Remove(path + compacting) // left by a kill
	db, err := openFile(path)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, chat.NewError(chat.ClassStore, "err.kb_locked", "The knowledge base %s is in use by another program. Close the other Perch and try again.", path).Wrap(err)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrDamaged, err)
	case err != nil:
		return nil, chat.NewError(chat.ClassStore, "err.kb_open", "The knowledge base %s could not be opened: %v. Check the folder's permissions and the disk.", path, err).Wrap(err)
	}
	b = &Backend{db: db}
	if err := b.prepare(); err != nil {
		_ = db.Close()
		return nil, err
	}
	return b, nil
}

// allocStep is by how much the file grows at a time; Bolt's own step of 16 MB is
// half of a small index.
const allocStep = 2 << 20

func openFile(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType})
	if err == nil {
		db.AllocSize = allocStep
	}
	return db, err
}

// view runs a reading transaction.
func (b *Backend) view(f func(tx *bbolt.Tx) error) error {
	b.handle.RLock()
	defer b.handle.RUnlock()
	return b.db.View(f)
}

// write runs a writing transaction.
func (b *Backend) write(f func(tx *bbolt.Tx) error) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.handle.RLock()
	defer b.handle.RUnlock()
	b.written.Store(time.Now().UnixNano())
	return b.db.Update(f)
}

// prepare makes the buckets and removes segments that a merge did not finish.
func (b *Backend) prepare() error {
	return b.write(func(tx *bbolt.Tx) error {
		if m := tx.Bucket(bMeta); m != nil && string(m.Get(kSchema)) != schema {
			var names [][]byte
			_ = tx.ForEach(func(name []byte, _ *bbolt.Bucket) error { names = append(names, name); return nil })
			for _, n := range names {
				if err := tx.DeleteBucket(n); err != nil {
					return err
				}
			}
		}
		for _, name := range [][]byte{bMeta, bDocs, bPaths, bChunks, bHashes, bSegs, bProblems, bRoots, bVectors, bFacts} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		m := tx.Bucket(bMeta)
		if m.Get(kSchema) == nil {
			if err := m.Put(kSchema, []byte(schema)); err != nil {
				return err
			}
			return writeState(tx, &state{NextChunk: 1, NextDoc: 1, NextSeg: 1, Langs: map[segment.Lang]int{}})
		}
		st, err := readState(tx)
		if err != nil {
			return err
		}
		known := map[uint64]bool{}
		for _, s := range st.Segs {
			known[s] = true
		}
		var stale [][]byte
		segs := tx.Bucket(bSegs)
		_ = segs.ForEachBucket(func(k []byte) error {
			if !known[binary.BigEndian.Uint64(k)] {
				stale = append(stale, append([]byte(nil), k...))
			}
			return nil
		})
		for _, k := range stale {
			if err := segs.DeleteBucket(k); err != nil {
				return err
			}
		}
		return nil
	})
}

func readState(tx *bbolt.Tx) (*state, error) {
	var st state
	if err := json.Unmarshal(tx.Bucket(bMeta).Get(kState), &st); err != nil {
		return nil, fmt.Errorf("%w: its state cannot be read: %w", ErrDamaged, err)
	}
	if st.Langs == nil {
		st.Langs = map[segment.Lang]int{}
	}
	return &st, nil
}

func writeState(tx *bbolt.Tx, st *state) error {
	v, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return tx.Bucket(bMeta).Put(kState, v)
}

// update runs a writing transaction. A full disk and its kin are classed.
func (b *Backend) update(ctx context.Context, f func(tx *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := b.write(f)
	var classed *chat.Error
	if err == nil || errors.As(err, &classed) || errors.Is(err, context.Canceled) {
		return err
	}
	return chat.NewError(chat.ClassStore, "err.kb_write", "The knowledge base could not be written: %v. Free some disk space, then index again.", err).Wrap(err)
}

// Close closes the file.
func (b *Backend) Close() error {
	b.vec.drop()
	return b.db.Close()
}

// Path is the file's.
func (b *Backend) Path() string { return b.db.Path() }

// Check runs Bolt's own check of the file.
func (b *Backend) Check() error {
	return b.view(func(tx *bbolt.Tx) error {
		var all error
		for err := range tx.Check() {
			all = errors.Join(all, err)
		}
		return all
	})
}

func be4(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func be8(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
