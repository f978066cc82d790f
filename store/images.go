package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"perch/chat"
)

// imageGrace is how old an image must be before it can be taken for unused: the
// message that refers to it is written after it.
const imageGrace = time.Hour

// blobs are the pictures of all sessions, each stored once by its hash.
type blobs interface {
	put(data []byte) (string, error)
	get(hash string) ([]byte, error)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// validHash keeps a name from the log from leading out of the folder.
func validHash(h string) bool {
	if len(h) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(h) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// withoutData stores the bytes of a message's images and returns the message
// that refers to them. The caller's message is not changed.
func withoutData(b blobs, m chat.Message) (chat.Message, error) {
	store := func(img *chat.Image) error {
		hash, err := b.put(img.Data)
		if err != nil {
			return err
		}
		img.Hash, img.Size, img.Data = hash, len(img.Data), nil
		return nil
	}
	copied := false
	for i := range m.Parts {
		if img := m.Parts[i].Image; img != nil && len(img.Data) > 0 {
			if !copied {
				m.Parts, copied = append([]chat.Part(nil), m.Parts...), true
			}
			cp := *img
			if err := store(&cp); err != nil {
				return m, err
			}
			m.Parts[i].Image = &cp
		}
	}
	if m.Result != nil {
		copied = false
		for i := range m.Result.Images {
			if len(m.Result.Images[i].Data) == 0 {
				continue
			}
			if !copied {
				r := *m.Result
				r.Images = append([]chat.Image(nil), r.Images...)
				m.Result, copied = &r, true
			}
			if err := store(&m.Result.Images[i]); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// withoutPendingData does the same for the messages that wait in a session.
func withoutPendingData(b blobs, m *chat.SessionMeta) error {
	var out []chat.Message
	for _, p := range m.Pending {
		q, err := withoutData(b, p)
		if err != nil {
			return err
		}
		out = append(out, q)
	}
	m.Pending = out
	return nil
}

// eachHash calls fn for every image that a stored line refers to.
func eachHash(line []byte, fn func(hash string)) {
	key := []byte(`"hash":"`)
	for {
		i := bytes.Index(line, key)
		if i < 0 {
			return
		}
		line = line[i+len(key):]
		if len(line) < 2*sha256.Size {
			return
		}
		if h := string(line[:2*sha256.Size]); validHash(h) {
			fn(h)
		}
	}
}

// imageDir keeps images as 0600 files in a 0700 folder. A file appears under
// its name only when its bytes have reached the disk.
type imageDir struct {
	dir string
	mu  sync.Mutex // keeps the collection of unused images from a write
}

func (d *imageDir) put(data []byte) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := hashOf(data)
	path := filepath.Join(d.dir, hash)
	if st, err := os.Stat(path); err == nil && st.Size() == int64(len(data)) {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // wanted again: its grace begins anew
		return hash, nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return "", classify(d.dir, err)
	}
	if err := writeSynced(path, data); err != nil {
		return "", classify(path, err)
	}
	return hash, nil
}

func (d *imageDir) get(hash string) ([]byte, error) {
	if !validHash(hash) {
		return nil, fmt.Errorf("image %.80q: not a hash: %w", hash, fs.ErrNotExist)
	}
	path := filepath.Join(d.dir, hash)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("image %s is not in %s: %w", hash, d.dir, err)
	}
	if err != nil {
		return nil, classify(path, err)
	}
	if hashOf(data) != hash {
		return nil, corrupt(path, errors.New("the image's bytes do not match its hash"))
	}
	return data, nil
}

// collect removes images that used does not hold and that are old enough.
func (d *imageDir) collect(used map[string]bool, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	files, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return classify(d.dir, err)
	}
	for _, f := range files {
		st, err := f.Info()
		if err != nil || used[f.Name()] || now.Sub(st.ModTime()) < imageGrace {
			continue
		}
		if validHash(f.Name()) || isTemp(f.Name()) {
			if err := os.Remove(filepath.Join(d.dir, f.Name())); err != nil {
				return classify(d.dir, err)
			}
		}
	}
	return nil
}

// tempSuffix marks files that were being written.
const tempSuffix = ".part"

func isTemp(name string) bool { return filepath.Ext(name) == tempSuffix }

// writeSynced writes a file whole or not at all.
func writeSynced(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*"+tempSuffix) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}
