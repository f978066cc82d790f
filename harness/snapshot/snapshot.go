// Package snapshot keeps copies of files before a run changes them, so that the
// run can be reverted.
//
// Guarantees: a copy is on the disk before [Store.BeforeWrite] returns, in files
// that only the user can read; what was kept first of a file in a run stays, so
// that a revert gives back the state before the run, byte for byte, with mode
// and time; files that the run made are deleted. All of it holds after a kill at
// any moment, since the state is an append-only journal.
//
// Tools name each file before they change it. A command cannot be asked what it
// will change: before one runs, the working folder as a whole is named, and all
// its files are kept, provided it is small (see the constants). What a command
// changes elsewhere, or in a large folder, is not kept, and the call's result
// says so.
package snapshot

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"perch/chat"
)

// Bounds.
const (
	// maxFolderFiles and maxFolderBytes are the largest folder that is kept as a
	// whole: about a second of copying on an ordinary disk.
	maxFolderFiles = 5000
	maxFolderBytes = 128 << 20
	// maxFileBytes is the largest file of such a folder; a larger one is data that
	// commands rarely change.
	maxFileBytes = 32 << 20
	// keepFor and keepRuns are how long copies are of use: nobody reverts a run of
	// last month.
	keepFor  = 14 * 24 * time.Hour
	keepRuns = 200
)

// leftOut are folders that tools make again; a folder kept as a whole does not
// include them.
var leftOut = []string{"node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".gradle", ".tox", ".next", ".cache"}

// Store keeps the copies of all runs. It is safe for several runs at once.
type Store struct {
	dir  string
	skip string // the folder of Perch's data, which no revert may touch

	mu   sync.Mutex // protects runs
	runs map[string]*journal
}

// Open opens the folder of copies and drops old ones.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of copies: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder of copies: %w", err)
	}
	s := &Store{dir: real, skip: filepath.Dir(real), runs: map[string]*journal{}}
	s.prune(time.Now())
	return s, nil
}

// prune drops the copies of old runs.
func (s *Store) prune(now time.Time) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	type old struct {
		name string
		time time.Time
	}
	var all []old
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && e.IsDir() {
			all = append(all, old{e.Name(), fi.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b old) int { return b.time.Compare(a.time) })
	for i, o := range all {
		if i >= keepRuns || now.Sub(o.time) > keepFor {
			os.RemoveAll(filepath.Join(s.dir, o.name)) // a failure leaves a few files more
		}
	}
}

// The kinds of an entry.
const (
	kindFile   = "file"
	kindLink   = "link"
	kindAbsent = "absent" // the run made it
	kindDir    = "dir"    // a folder inside a kept one, with its mode
	kindFolder = "folder" // names all that a folder held
	kindSeen   = "seen"   // a command has ended; what is new in the folder was made by it
)

// entry is one line of a journal.
type entry struct {
	Kind string      `json:"kind"`
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode,omitempty"`
	Time time.Time   `json:"time,omitzero"`
	// Offset and Size say where the content lies in the pack.
	Offset int64 `json:"offset,omitempty"`
	Size   int64 `json:"size,omitempty"`
	// Target is where a link leads.
	Target string `json:"target,omitempty"`
	// Names are what a folder held, or what was new in it; folders end in a slash.
	Names []string `json:"names,omitempty"`
	// Made are folders that did not exist on the way to an absent file.
	Made []string `json:"made,omitempty"`
}

// journal is the state of one run: a pack with contents and a list of entries.
type journal struct {
	mu      sync.Mutex
	dir     string
	skip    string
	entries []entry
	kept    map[string]bool // paths of file, link and absent entries
	folders map[string]bool
}

// journalOf returns the journal of a run. It is made if make is set.
func (s *Store) journalOf(run string, create bool) (*journal, error) {
	if run == "" || run != filepath.Base(run) || strings.HasPrefix(run, ".") {
		return nil, fmt.Errorf("%q is no id of a run", run)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.runs[run]; j != nil {
		return j, nil
	}
	j := &journal{dir: filepath.Join(s.dir, run), skip: s.skip, kept: map[string]bool{}, folders: map[string]bool{}}
	if create {
		if err := os.MkdirAll(j.dir, 0o700); err != nil {
			return nil, err
		}
		syncDir(s.dir)
	}
	if err := j.read(); err != nil {
		if errors.Is(err, fs.ErrNotExist) && !create {
			return nil, chat.NewError(chat.ClassMisuse, "err.nothing_to_revert", "There is nothing to put back: this run changed no file, or its copies are older than two weeks.").Wrap(err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	s.runs[run] = j
	return j, nil
}

// read loads the journal. A last line that a kill cut off counts as not written:
// the change it announced had not begun.
func (j *journal) read() error {
	f, err := os.Open(filepath.Join(j.dir, "journal"))
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	whole := int64(0)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var e entry
		if json.Unmarshal(line, &e) != nil {
			break
		}
		whole += int64(len(line))
		j.note(e)
	}
	if fi, err := f.Stat(); err == nil && fi.Size() > whole {
		return os.Truncate(f.Name(), whole)
	}
	return nil
}

func (j *journal) note(e entry) {
	j.entries = append(j.entries, e)
	switch e.Kind {
	case kindFolder:
		j.folders[e.Path] = true
	case kindSeen:
	default:
		j.kept[e.Path] = true
	}
}

// append writes entries durably.
func (j *journal) append(es ...entry) error {
	if len(es) == 0 {
		return nil
	}
	var b []byte
	for _, e := range es {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b = append(append(b, line...), '\n')
	}
	f, err := os.OpenFile(filepath.Join(j.dir, "journal"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if len(j.entries) == 0 {
		syncDir(j.dir)
	}
	for _, e := range es {
		j.note(e)
	}
	return nil
}

// BeforeWrite keeps what is at an absolute path before a run first changes it.
// For a folder it keeps all its files; called again for the folder, it notes
// what a command has made in it. A folder that is too large gives an error with
// the method NotKept, which says so.
func (s *Store) BeforeWrite(run, path string) error {
	j, err := s.journalOf(run, true)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if j.kept[path] {
			return nil
		}
		return j.append(entry{Kind: kindAbsent, Path: path, Made: missingAbove(path)})
	case err != nil:
		return err
	case fi.IsDir():
		return j.folder(path)
	case j.kept[path]:
		return nil
	}
	var p packer
	defer p.close()
	e, err := p.keep(j.dir, path, fi)
	if err != nil {
		return err
	}
	if err := p.sync(); err != nil {
		return err
	}
	return j.append(e)
}

// missingAbove are the folders on the way to a path that do not exist, the
// deepest last.
func missingAbove(path string) []string {
	var out []string
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || d == filepath.Dir(d) {
			slices.Reverse(out)
			return out
		}
		out = append(out, d)
	}
}

// packer appends contents to the pack of a run.
type packer struct {
	f   *os.File
	end int64
}

func (p *packer) open(dir string) error {
	if p.f != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, "pack"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	p.f = f
	p.end, err = f.Seek(0, io.SeekEnd)
	return err
}

// keep copies one file or link and returns its entry. The copy is durable after
// sync.
func (p *packer) keep(dir, path string, fi fs.FileInfo) (entry, error) {
	e := entry{Path: path, Mode: fi.Mode(), Time: fi.ModTime()}
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		e.Kind, e.Target = kindLink, to
		return e, err
	case !fi.Mode().IsRegular():
		return e, fmt.Errorf("%s is not a regular file and cannot be kept", path)
	}
	if err := p.open(dir); err != nil {
		return e, err
	}
	src, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer src.Close()
	n, err := io.Copy(p.f, src)
	if err != nil {
		return e, fmt.Errorf("copy %s: %w", path, err)
	}
	e.Kind, e.Offset, e.Size = kindFile, p.end, n
	p.end += n
	return e, nil
}

func (p *packer) sync() error {
	if p.f == nil {
		return nil
	}
	return p.f.Sync()
}

func (p *packer) close() {
	if p.f != nil {
		p.f.Close()
	}
}
