package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// tooLarge says that a folder is not kept.
type tooLarge struct{ why string }

// Error says why.
func (e tooLarge) Error() string { return e.why }

// NotKept says why, for the result of the call.
func (e tooLarge) NotKept() string { return e.why }

// folder keeps all files of a folder, or notes what is new in one that was kept.
func (j *journal) folder(dir string) error {
	if j.folders[dir] {
		return j.seen(dir)
	}
	names, files, err := survey(dir, j.skip)
	if err != nil {
		return err
	}
	var p packer
	defer p.close()
	var es []entry
	for _, f := range files {
		if j.kept[f.path] {
			continue
		}
		if f.info.IsDir() {
			es = append(es, entry{Kind: kindDir, Path: f.path, Mode: f.info.Mode().Perm()})
			continue
		}
		e, err := p.keep(j.dir, f.path, f.info)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			continue // what this user cannot read, its commands cannot either
		}
		if err != nil {
			return err
		}
		es = append(es, e)
	}
	if err := p.sync(); err != nil {
		return err
	}
	return j.append(append(es, entry{Kind: kindFolder, Path: dir, Names: names})...)
}

// seen notes what was made in a kept folder since it was kept.
func (j *journal) seen(dir string) error {
	known := map[string]bool{}
	for _, e := range j.entries {
		if e.Path == dir && (e.Kind == kindFolder || e.Kind == kindSeen) {
			for _, n := range e.Names {
				known[n] = true
			}
		}
	}
	names, _, err := survey(dir, j.skip)
	var large tooLarge
	if err != nil && !errors.As(err, &large) {
		return err
	}
	var made []string
	for _, n := range names {
		if !known[n] {
			made = append(made, n)
		}
	}
	if len(made) == 0 && slices.ContainsFunc(j.entries, func(e entry) bool { return e.Kind == kindSeen && e.Path == dir }) {
		return nil
	}
	return j.append(entry{Kind: kindSeen, Path: dir, Names: made})
}

// surveyed is a file of a folder.
type surveyed struct {
	path string
	info fs.FileInfo
}

// errTooMany ends a survey.
var errTooMany = errors.New("too many files")

// survey lists a folder without the folder skip: all names below it (those of folders with a slash), and
// the files, folders and links that are kept. The names are there also when it is too
// large.
func survey(dir, skip string) (names []string, files []surveyed, err error) {
	var bytes int64
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil // a closed folder: its commands cannot enter it either
		}
		if path == dir {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(leftOut, d.Name()) || path == skip {
				return fs.SkipDir
			}
			names = append(names, filepath.ToSlash(rel)+"/")
			if fi, err := d.Info(); err == nil {
				files = append(files, surveyed{path, fi})
			}
			return nil
		}
		names = append(names, filepath.ToSlash(rel))
		if len(names) > 2*maxFolderFiles {
			return errTooMany
		}
		if !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		fi, err := d.Info()
		if err != nil || fi.Size() > maxFileBytes {
			return nil
		}
		bytes += fi.Size()
		files = append(files, surveyed{path, fi})
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errTooMany):
		return nil, nil, err
	case errors.Is(err, errTooMany) || len(files) > maxFolderFiles:
		return names, nil, tooLarge{fmt.Sprintf("the working folder has more than %d files", maxFolderFiles)}
	case bytes > maxFolderBytes:
		return names, nil, tooLarge{fmt.Sprintf("the working folder has more than %d MB", maxFolderBytes>>20)}
	}
	return names, files, nil
}
