package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Revert puts back every file that a run changed and deletes those that it made.
// It returns the paths that it changed. A file that cannot be put back does not
// keep the others; the error names it. Reverting twice gives the same state.
func (s *Store) Revert(run string) ([]string, error) {
	j, err := s.journalOf(run, false)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	pack, err := os.Open(filepath.Join(j.dir, "pack"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if pack != nil {
		defer pack.Close()
	}
	var changed []string
	var dirs []*entry
	var errs []error
	did := func(path string, yes bool, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("put back %s: %w", path, err))
		}
		if yes {
			changed = append(changed, path)
		}
	}
	for i := len(j.entries) - 1; i >= 0; i-- {
		switch e := &j.entries[i]; e.Kind {
		case kindFolder:
			for _, name := range j.madeIn(e) {
				path := filepath.Join(e.Path, filepath.FromSlash(name))
				yes, err := remove(path)
				did(path, yes, err)
			}
		case kindDir:
			dirs = append(dirs, e)
		case kindAbsent:
			yes, err := remove(e.Path)
			for k := len(e.Made) - 1; k >= 0; k-- {
				os.Remove(e.Made[k]) // stays if something else is in it
			}
			did(e.Path, yes, err)
		case kindLink:
			yes, err := restoreLink(e)
			did(e.Path, yes, err)
		case kindFile:
			yes, err := restoreFile(e, pack)
			did(e.Path, yes, err)
		}
	}
	// Folders last, the deepest first: one that lost its write bit still takes the
	// files above.
	for _, e := range dirs {
		yes, err := restoreDir(e)
		did(e.Path, yes, err)
	}
	slices.Sort(changed)
	return slices.Compact(changed), errors.Join(errs...)
}

// madeIn are the names that the run made in a kept folder, the deepest first.
// Those noted after each command count; where a command did not end (Perch was
// killed), everything that is new counts.
func (j *journal) madeIn(e *entry) []string {
	var made []string
	noted := false
	for _, o := range j.entries {
		if o.Kind == kindSeen && o.Path == e.Path {
			noted = true
			made = append(made, o.Names...)
		}
	}
	if !noted {
		names, _, err := survey(e.Path, j.skip)
		var large tooLarge
		if err != nil && !errors.As(err, &large) {
			return nil
		}
		for _, n := range names {
			if !slices.Contains(e.Names, n) {
				made = append(made, n)
			}
		}
	}
	// A folder comes after what is in it.
	slices.SortFunc(made, func(a, b string) int { return strings.Compare(b, a) })
	return made
}

// remove deletes a file, a link, or a folder that is empty.
func remove(path string) (bool, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = os.Remove(path)
	if err != nil && fi.IsDir() {
		return false, nil // something else is in it, which the run did not make
	}
	return err == nil, err
}

// restoreDir makes a folder that the run deleted and gives it its mode.
func restoreDir(e *entry) (bool, error) {
	fi, err := os.Lstat(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(e.Path, 0o755); err != nil {
			return false, err
		}
	case err != nil:
		return false, err
	case !fi.IsDir():
		if err := os.Remove(e.Path); err != nil {
			return false, err
		}
		if err := os.Mkdir(e.Path, 0o755); err != nil {
			return false, err
		}
	case fi.Mode().Perm() == e.Mode:
		return false, nil
	}
	return true, os.Chmod(e.Path, e.Mode)
}

func restoreLink(e *entry) (bool, error) {
	if to, err := os.Readlink(e.Path); err == nil && to == e.Target {
		return false, nil
	}
	if err := clearWay(e.Path); err != nil {
		return false, err
	}
	tmp := besideName(e.Path)
	os.Remove(tmp)
	if err := os.Symlink(e.Target, tmp); err != nil {
		return false, err
	}
	return true, os.Rename(tmp, e.Path)
}

// restoreFile writes the content back, unless it is there with mode and all.
func restoreFile(e *entry, pack *os.File) (bool, error) {
	if pack == nil {
		return false, errors.New("its copy is lost")
	}
	if fi, err := os.Lstat(e.Path); err == nil && fi.Mode() == e.Mode && fi.Size() == e.Size && sameContent(e, pack) {
		if !fi.ModTime().Equal(e.Time) {
			return false, os.Chtimes(e.Path, e.Time, e.Time)
		}
		return false, nil
	}
	if err := clearWay(e.Path); err != nil {
		return false, err
	}
	tmp := besideName(e.Path)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp) // fails once it was renamed
	_, err = io.Copy(f, io.NewSectionReader(pack, e.Offset, e.Size))
	if err == nil {
		err = f.Chmod(e.Mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return false, err
	}
	if err := os.Chtimes(tmp, e.Time, e.Time); err != nil {
		return false, err
	}
	if err := os.Rename(tmp, e.Path); err != nil {
		return false, err
	}
	syncDir(filepath.Dir(e.Path))
	return true, nil
}

// clearWay makes the folder of a path and takes away a folder that the run put
// in the place of a file, if it is empty by now.
func clearWay(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() {
		return os.Remove(path)
	}
	return nil
}

func besideName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".perch-revert")
}

// sameContent compares a file with its copy.
func sameContent(e *entry, pack *os.File) bool {
	f, err := os.Open(e.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	r := io.NewSectionReader(pack, e.Offset, e.Size)
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(f, a)
		m, _ := io.ReadFull(r, b)
		if n != m || string(a[:n]) != string(b[:m]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}
