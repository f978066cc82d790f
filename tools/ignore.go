package tools

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ignoreFiles are read in every folder; later ones win.
var ignoreFiles = []string{".gitignore", ".ignore", ".rgignore"}

// versionFolders hold the history of a version control system, not files of the
// project.
var versionFolders = map[string]bool{".git": true, ".hg": true, ".svn": true, ".jj": true, ".bzr": true}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	pattern  []string // by component
	negate   bool
	dirOnly  bool
	anchored bool // the pattern is a path from the file's folder
}

// ignores are the rules of a folder and of all above it.
type ignores struct {
	parent *ignores
	base   string // the folder, below the start, with slashes; "" is the start
	prefix string // the way from the folder down to the start, if it is above it
	rules  []ignoreRule
}

// ignoresOf reads the ignore files of a folder; without any it is the parent.
func ignoresOf(dir, base string, parent *ignores) *ignores {
	var rules []ignoreRule
	for _, name := range ignoreFiles {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			rules = append(rules, parseIgnore(b)...)
		}
	}
	if base == "" {
		if b, err := os.ReadFile(filepath.Join(dir, ".git", "info", "exclude")); err == nil {
			rules = append(parseIgnore(b), rules...)
		}
	}
	if len(rules) == 0 {
		return parent
	}
	return &ignores{parent: parent, base: base, rules: rules}
}

// parseIgnore reads an ignore file as gitignore(5) describes it.
func parseIgnore(b []byte) []ignoreRule {
	var out []ignoreRule
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		line := strings.TrimSuffix(sc.Text(), "\r")
		if t := strings.TrimRight(line, " "); !strings.HasSuffix(t, `\`) {
			line = t
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		if line[0] == '!' {
			r.negate, line = true, line[1:]
		}
		line = strings.TrimPrefix(line, `\`)
		if strings.HasSuffix(line, "/") {
			r.dirOnly, line = true, strings.TrimSuffix(line, "/")
		}
		r.anchored = strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if line == "" {
			continue
		}
		r.pattern = strings.Split(line, "/")
		out = append(out, r)
	}
	return out
}

// match reports whether a path (below the start, with slashes) is ignored. The
// last rule that matches decides; a deeper file's rules come later.
func (g *ignores) match(p string, isDir bool) bool {
	for ; g != nil; g = g.parent {
		rel := p
		if g.base != "" {
			rel = strings.TrimPrefix(p, g.base+"/")
		}
		if g.prefix != "" {
			rel = g.prefix + "/" + p
		}
		for i := len(g.rules) - 1; i >= 0; i-- {
			r := &g.rules[i]
			if r.dirOnly && !isDir {
				continue
			}
			if r.matches(rel) {
				return !r.negate
			}
		}
	}
	return false
}

func (r *ignoreRule) matches(rel string) bool {
	if !r.anchored {
		ok, _ := path.Match(r.pattern[0], path.Base(rel))
		return ok
	}
	return matchParts(r.pattern, strings.Split(rel, "/"))
}

// matchParts matches components; ** stands for any number of them.
func matchParts(pattern, parts []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return len(parts) > 0
			}
			for i := range len(parts) + 1 {
				if matchParts(pattern[1:], parts[i:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], parts[0]); err != nil || !ok {
			return false
		}
		pattern, parts = pattern[1:], parts[1:]
	}
	return len(parts) == 0
}

// matchGlob matches a path below the start against the globs of a call. A glob
// without a slash is about the name only.
func matchGlob(glob, rel string) bool {
	for _, g := range braces(glob) {
		if !strings.Contains(g, "/") {
			if ok, _ := path.Match(g, path.Base(rel)); ok {
				return true
			}
		} else if matchParts(strings.Split(strings.TrimPrefix(g, "/"), "/"), strings.Split(rel, "/")) {
			return true
		}
	}
	return false
}

// braces expands one level of {a,b} (*.{ts,tsx}), which path.Match does not know.
func braces(glob string) []string {
	open := strings.IndexByte(glob, '{')
	end := strings.IndexByte(glob, '}')
	if open < 0 || end < open {
		return []string{glob}
	}
	var out []string
	for _, alt := range strings.Split(glob[open+1:end], ",") {
		out = append(out, braces(glob[:open]+alt+glob[end+1:])...)
	}
	return out
}
