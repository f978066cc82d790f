package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"perch/chat"
	"perch/tools/charset"
	"perch/tools/places"
)

// maxEditBytes is the largest file that is held in memory to be shown whole or
// edited. What a person edits is far smaller; longer files are read in ranges.
const maxEditBytes = 32 << 20

// Extractor reads the text of a document that is no text file (PDF, office).
type Extractor func(ctx context.Context, path string) (text string, err error)

// files is what the file tools share.
type files struct {
	places  *places.Places
	extract Extractor
}

// Files returns the tools that work on files. secret knows the secret places;
// extract may be nil: then documents are not read.
func Files(secret *places.Places, extract Extractor) []chat.Tool {
	f := files{places: secret, extract: extract}
	return []chat.Tool{readFile{f}, writeFile{f}, editFile{f}, listFiles{f}, searchFiles{f}}
}

// decode reads a call's input, which the runner has checked against the schema.
func decode(input json.RawMessage, into any) error {
	if err := json.Unmarshal(input, into); err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	return nil
}

// workingFolder is the working folder, resolved.
func workingFolder(env chat.Env) string {
	dir, err := places.Resolve("/", env.Dir())
	if err != nil {
		return env.Dir()
	}
	return dir
}

// need is what a call needs of one path. It remembers where the path leads, so
// that a link that is changed between the question and the work is noticed.
func (f files) need(env chat.Env, tool string, kind chat.NeedKind, name string) (chat.Need, error) {
	dir := workingFolder(env)
	real, err := places.Resolve(dir, name)
	if err != nil {
		return chat.Need{}, err
	}
	env.Remember(leadsKey(tool, name), real)
	n := chat.Need{Kind: kind, Subject: real, Detail: Visible(real)}
	spool, err := places.Resolve("/", env.SpoolDir())
	switch {
	case err == nil && kind == chat.NeedRead && places.Inside(spool, real):
		n.Free = true
	case f.places.Secret(real):
		n.Secret = true
	case places.Inside(dir, real):
		n.Free = kind == chat.NeedRead
		n.Prefix = dir
	default:
		n.Prefix = filepath.Dir(real)
	}
	if n.Prefix != "" && f.places.Holds(n.Prefix) {
		n.Prefix = "" // a rule must not cover a secret place
	}
	return n, nil
}

func leadsKey(tool, name string) string { return "leads:" + tool + ":" + name }

// resolve returns where a path leads now. It fails if that is not where it led
// when the call was allowed.
func (f files) resolve(env chat.Env, tool, name string) (string, error) {
	real, err := places.Resolve(workingFolder(env), name)
	if err != nil {
		return "", err
	}
	if was, ok := env.Recall(leadsKey(tool, name)); ok && was != real {
		return "", fmt.Errorf("%s leads to %s now, but was allowed for %s: call the tool again", name, real, was)
	}
	return real, nil
}

// content is a file as it is in memory.
type content struct {
	bytes []byte
	mode  fs.FileMode
	enc   charset.Encoding
	text  bool
}

// load reads a whole regular file of at most maxEditBytes.
func load(path string) (content, error) {
	file, fi, err := openRegular(path)
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	if fi.Size() > maxEditBytes {
		return content{}, fmt.Errorf("%s has %s, more than the %s that can be edited: work on it with run_command", path, size(fi.Size()), size(maxEditBytes))
	}
	b, err := io.ReadAll(io.LimitReader(file, maxEditBytes+1))
	if err != nil {
		return content{}, err
	}
	c := content{bytes: b, mode: fi.Mode()}
	c.enc, c.text = charset.Detect(b, true)
	return c, nil
}

// openRegular opens a file that is a regular one: a pipe or a device would block
// or never end.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, nil, explainOpen(path, err)
	}
	fi, err := file.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		err = fmt.Errorf("%s is a folder: use list_files", path)
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file (%s)", path, fi.Mode().Type())
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, fi, nil
}

// explainOpen says what to do about a file that cannot be opened.
func explainOpen(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		msg := fmt.Sprintf("there is no file %s", path)
		if near := similar(path); len(near) > 0 {
			msg += "; did you mean " + strings.Join(near, " or ")
		}
		return errors.New(msg)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be opened by this user", path)
	}
	return err
}

// similar are entries of the same folder whose names differ in case or ending
// only.
func similar(path string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	stem := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, filepath.Ext(s))) }
	var out []string
	for _, e := range entries {
		if stem(e.Name()) == stem(filepath.Base(path)) && len(out) < 3 {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out
}

// The facts that the tools remember of a file: the hash of what was last read or
// written.
func seenKey(path string) string { return "seen:" + path }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checkSeen fails unless the file is as the model last saw it.
func checkSeen(env chat.Env, path string, now []byte) error {
	was, ok := env.Recall(seenKey(path))
	switch {
	case !ok:
		return fmt.Errorf("%s was not read in this session: read it with read_file before you change it", path)
	case was != digest(now):
		return fmt.Errorf("%s has changed since it was read, so nothing was written: read it again", path)
	}
	return nil
}

// replaceFile writes a file so that at any moment either the old or the new
// content is there: into a file beside it, synced, then renamed. Mode and owner
// are those of the old one.
func replaceFile(path string, b []byte, old fs.FileInfo) error {
	dir := filepath.Dir(path)
	tmp, err := createBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it was renamed
	_, err = tmp.Write(b)
	if err == nil && old != nil {
		if err = tmp.Chmod(old.Mode().Perm()); err == nil {
			keepOwner(tmp, old)
		}
	}
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	syncFolder(dir)
	return nil
}

// createBeside makes a file in the same folder with the mode of a new file.
func createBeside(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.perch-%d-%d", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && i < 100 {
			continue
		}
		return f, err
	}
}

// size is a length in bytes for reading.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
