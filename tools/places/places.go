// Package places knows the folders that decide what a tool may touch: which path
// a name really means, what lies inside the working folder, and which places
// are secret.
//
// It guarantees that a path is judged by where it really leads: links and ".."
// are resolved, component by component, before anything is compared.
package places

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxLinks is how many links one path may lead through, as the kernel counts
// (MAXSYMLINKS is 40 on Linux).
const maxLinks = 40

// Resolve returns the absolute path that name really means, seen from dir: a
// leading ~ is the home folder, links are followed, ".." is taken after the link
// before it as the kernel does. What does not exist yet is allowed at the end.
func Resolve(dir, name string) (string, error) {
	if name == "" {
		return "", errors.New("the path is empty")
	}
	if strings.ContainsRune(name, 0) {
		return "", errors.New("the path holds a NUL character")
	}
	if name == "~" || strings.HasPrefix(name, "~/") || strings.HasPrefix(name, `~\`) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%s: no home folder is known: %w", name, err)
		}
		name = home + string(filepath.Separator) + name[1:]
	}
	if !filepath.IsAbs(name) {
		name = dir + string(filepath.Separator) + name
	}
	if !filepath.IsAbs(name) {
		return "", fmt.Errorf("%s: the working folder %q is not absolute", name, dir)
	}
	return walk(name)
}

// walk resolves an absolute path.
func walk(name string) (string, error) {
	vol := filepath.VolumeName(name)
	root := vol + string(filepath.Separator)
	todo := split(name[len(vol):])
	at, links, missing := root, 0, false
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			if missing {
				return "", fmt.Errorf("%s: .. behind a folder that does not exist", name)
			}
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, c)
		if missing {
			at = next
			continue
		}
		fi, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing, at = true, next
			continue
		case err != nil:
			return "", err
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", name)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			v := filepath.VolumeName(target)
			at, target = v+string(filepath.Separator), target[len(v):]
		}
		todo = append(split(target), todo...)
	}
	return at, nil
}

func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool {
		return r == '/' || runtime.GOOS == "windows" && r == '\\'
	})
}

// Inside reports whether path is dir or lies below it. Both must be resolved.
func Inside(dir, path string) bool {
	if dir == "" || path == "" {
		return false
	}
	if foldCase {
		dir, path = strings.ToLower(dir), strings.ToLower(path)
	}
	if !strings.HasPrefix(path, dir) {
		return false
	}
	return len(path) == len(dir) || os.IsPathSeparator(dir[len(dir)-1]) || os.IsPathSeparator(path[len(dir)])
}

// foldCase says that the system's file names ignore case.
const foldCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// Places are the secret places of one user.
type Places struct {
	home    string
	secrets []string // resolved
}

// New returns the secret places below home and the folders of Perch itself.
// Folders that do not exist yet count, too.
func New(home string, own ...string) *Places {
	p := &Places{home: resolved(home)}
	p.secrets = append(p.secrets, systemSecrets...)
	for _, s := range own {
		if s != "" {
			p.secrets = appendBoth(p.secrets, s)
		}
	}
	if home != "" {
		for _, s := range homeSecrets {
			p.secrets = appendBoth(p.secrets, filepath.Join(home, filepath.FromSlash(s)))
		}
	}
	return p
}

// appendBoth adds a place under its own name and under the one it leads to.
func appendBoth(list []string, place string) []string {
	list = append(list, filepath.Clean(place))
	if r := resolved(place); r != filepath.Clean(place) {
		list = append(list, r)
	}
	return list
}

func resolved(p string) string {
	if p == "" {
		return ""
	}
	if r, err := walk(p); err == nil {
		return r
	}
	return filepath.Clean(p)
}

// Home is the user's home folder, resolved.
func (p *Places) Home() string { return p.home }

// Secret reports whether a resolved path is a secret place or lies in one.
func (p *Places) Secret(path string) bool {
	if processes.MatchString(path) {
		return true
	}
	for _, s := range p.secrets {
		if Inside(s, path) {
			return true
		}
	}
	return false
}

// Holds reports whether a secret place lies in that resolved folder, so that the
// folder must never be granted whole.
func (p *Places) Holds(dir string) bool {
	for _, s := range p.secrets {
		if s != dir && Inside(dir, s) && exists(s) {
			return true
		}
	}
	return false
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// maxOpened bounds how many folders [Places.Open] looks into: a home folder has
// a few dozen that hold a secret place, and each costs a rule in the kernel.
const maxOpened = 200

// Open returns what may be granted of a folder: the folder itself where it holds
// no secret place, else its entries without those that do, level by level. A
// folder that is or lies in a secret place gives nothing. Links are left out:
// what they lead to must be granted by its own name.
func (p *Places) Open(dir string) []string {
	var out []string
	opened := 0
	var open func(dir string)
	open = func(dir string) {
		if p.Secret(dir) {
			return
		}
		if !p.Holds(dir) {
			out = append(out, dir)
			return
		}
		if opened++; opened > maxOpened {
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink == 0 {
				open(filepath.Join(dir, e.Name()))
			}
		}
	}
	open(dir)
	return out
}

// Folders are the secret places that exist and are folders.
func (p *Places) Folders() []string {
	var out []string
	for _, s := range p.secrets {
		if fi, err := os.Lstat(s); err == nil && fi.IsDir() {
			out = append(out, s)
		}
	}
	return out
}
