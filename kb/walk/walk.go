// Package walk lists the files below a folder that belong into the index, and
// says of the others why they do not.
package walk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A File is a regular file that belongs into the index.
type File struct {
	Path    string
	Size    int64
	ModTime time.Time
}

// A Skip is a file or folder that is left out. A folder stands for all that is
// below it.
type Skip struct {
	Path   string
	Reason string
}

// Options say what to leave out.
type Options struct {
	MaxBytes int64 // 0 is no limit
	// Exclude are absolute paths that are never entered, such as Perch's own data.
	Exclude []string
}

// Result is what a walk found.
type Result struct {
	Files   []File
	Skipped []Skip
	Dirs    []string // every folder entered, for watching
}

// alwaysSkipped are folders that hold no documents but many files: version
// control, caches and what package managers fetch.
var alwaysSkipped = map[string]string{
	".git": "version control", ".hg": "version control", ".svn": "version control", ".jj": "version control",
	"node_modules": "installed packages", "__pycache__": "a cache", ".venv": "installed packages",
	".tox": "a cache", ".mypy_cache": "a cache", ".cache": "a cache", ".Trash": "the trash",
	"$RECYCLE.BIN": "the trash", "lost+found": "the file system's own",
}

// ErrGone is a root that does not exist any more.
var ErrGone = errors.New("the folder or file does not exist any more")

// Walk lists what is below root, which may be a file. Links are
// not followed: a target inside the root is found under its own name, one
// outside is the user's to add. So a link to a parent ends nothing and repeats
// nothing. It stops when ctx ends.
func Walk(ctx context.Context, root string, o Options) (Result, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, ErrGone
	}
	if err != nil {
		return Result{}, err
	}
	w := walker{ctx: ctx, o: o}
	if !info.IsDir() {
		w.file(root, info)
		return w.res, nil
	}
	if w.real, err = filepath.EvalSymlinks(root); err != nil {
		return Result{}, err
	}
	err = w.dir(root, nil)
	return w.res, err
}

type walker struct {
	ctx  context.Context
	o    Options
	real string // the root with links resolved
	res  Result
}

func (w *walker) skip(path, reason string) {
	w.res.Skipped = append(w.res.Skipped, Skip{path, reason})
}

// dir lists one folder. rules are the ignore files of the folders above.
func (w *walker) dir(path string, rules []*ignoreFile) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		w.skip(path, reasonOf(err))
		return nil
	}
	w.res.Dirs = append(w.res.Dirs, path)
	rules = withIgnoreFiles(rules, path)
	for _, e := range entries {
		p := filepath.Join(path, e.Name())
		if err := w.entry(p, e, rules); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(p string, e fs.DirEntry, rules []*ignoreFile) error {
	name := e.Name()
	if what, ok := alwaysSkipped[name]; ok && e.IsDir() {
		w.skip(p, "left out: "+what)
		return nil
	}
	if strings.HasPrefix(name, ".") {
		if !isIgnoreFile(name) {
			w.skip(p, "left out: hidden")
		}
		return nil
	}
	for _, x := range w.o.Exclude {
		if p == x {
			w.skip(p, "left out: Perch's own data")
			return nil
		}
	}
	info, err := e.Info()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.skip(p, reasonOf(err))
		}
		return nil
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		w.skip(p, w.linkReason(p))
		return nil
	}
	if file, ok := ignored(rules, p, info.IsDir()); ok {
		w.skip(p, "left out by "+file)
		return nil
	}
	if info.IsDir() {
		return w.dir(p, rules)
	}
	w.file(p, info)
	return nil
}

func (w *walker) linkReason(p string) string {
	real, err := filepath.EvalSymlinks(p)
	switch {
	case err != nil:
		return "a link that leads nowhere"
	case within(w.real, real):
		return "a link to " + real + ", which is indexed under its own name"
	}
	return "a link to " + real + ", outside the folder; add that by itself"
}

func (w *walker) file(p string, info fs.FileInfo) {
	if s := kindReason(info.Mode()); s != "" {
		w.skip(p, s)
		return
	}
	w.res.Files = append(w.res.Files, File{p, info.Size(), info.ModTime()})
}

func kindReason(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m&fs.ModeNamedPipe != 0:
		return "is a pipe, not a file"
	case m&fs.ModeSocket != 0:
		return "is a socket, not a file"
	case m&fs.ModeDevice != 0:
		return "is a device, not a file"
	}
	return "is no regular file"
}

func within(root, p string) bool {
	rel, err := filepath.Rel(root, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read it"
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist any more"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return "cannot be read: " + err.Error()
}

// Reason puts an error of reading a file into words for the user.
func Reason(err error) string { return reasonOf(err) }

// Below lists what is at or below path, which is inside root, with the rules
// that hold there.
func Below(ctx context.Context, root, path string, o Options) (Result, error) {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." || !within(root, path) {
		return Walk(ctx, root, o)
	}
	w := walker{ctx: ctx, o: o}
	if w.real, err = filepath.EvalSymlinks(root); err != nil {
		return Result{}, ErrGone
	}
	var rules []*ignoreFile
	dir := root
	parts := strings.Split(rel, string(filepath.Separator))
	for i, name := range parts {
		rules = withIgnoreFiles(rules, dir)
		p := filepath.Join(dir, name)
		info, err := os.Lstat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return Result{}, ErrGone
		}
		if err != nil {
			w.skip(p, reasonOf(err))
			return w.res, nil
		}
		if i == len(parts)-1 {
			err = w.entry(p, fs.FileInfoToDirEntry(info), rules)
			return w.res, err
		}
		probe := walker{ctx: cancelled, o: o, real: w.real}
		_ = probe.entry(p, fs.FileInfoToDirEntry(info), rules)
		if len(probe.res.Skipped) > 0 || !info.IsDir() {
			return Result{}, nil // a folder above is left out, and says so itself
		}
		dir = p
	}
	return w.res, nil
}

// cancelled lets a walker look at one entry and not go further down.
var cancelled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
