package auth

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"perch/chat"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
	// lockWait bounds waiting for another process that writes the file: it
	// holds the lock for milliseconds.
	lockWait = 5 * time.Second
)

// file is the credentials file: where each credential lies, and those that no
// keyring took.
type file struct {
	Version int              `json:"version"`
	Entries map[string]entry `json:"entries"`
}

type entry struct {
	Place  string  `json:"place"`
	Record *record `json:"record,omitempty"`
}

func readFile(path string) (file, error) {
	f := file{Version: 1, Entries: map[string]entry{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		var p *fs.PathError
		if !errors.As(err, &p) {
			err = errors.New("it is damaged") // the parser's words may hold a piece of a secret
		}
		return f, chat.NewError(chat.ClassStore, "err.auth.file", "The credentials in %s cannot be read: %v. Check the file's owner and permissions.", path, err)
	}
	if f.Entries == nil {
		f.Entries = map[string]entry{}
	}
	return f, nil
}

// updateFile changes the file as one step, under a lock that other processes
// respect: a kill leaves the old content or the new.
func updateFile(path string, change func(*file)) error {
	fail := func(err error) error {
		return chat.NewError(chat.ClassStore, "err.auth.write", "The credentials in %s cannot be written: %v. Check the folder's owner and the free space.", path, err).Wrap(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return fail(err)
	}
	unlock, err := lockFile(path+".lock", time.Now().Add(lockWait))
	if err != nil {
		return fail(err)
	}
	defer unlock()
	f, err := readFile(path)
	if err != nil {
		return err
	}
	change(&f)
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fail(err)
	}
	if err := replace(path, data); err != nil {
		return fail(err)
	}
	return nil
}

func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(fileMode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync() // not every file system can; the rename itself is done
		d.Close()
	}
	return nil
}

// lockEvery is how often a held lock is tried again.
const lockEvery = 20 * time.Millisecond

var errLocked = errors.New("another process holds the lock")

// lockFile takes an exclusive lock, which the system frees when the process
// ends.
func lockFile(path string, until time.Time) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	for {
		err := tryLock(f)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, errLocked) || time.Now().After(until) {
			f.Close()
			return nil, err
		}
		time.Sleep(lockEvery)
	}
}
