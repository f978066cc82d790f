package walk

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ignoreNames are the files whose rules hold for their folder and those below.
// They have the syntax of .gitignore.
var ignoreNames = []string{".gitignore", ".ignore", ".perchignore"}

func isIgnoreFile(name string) bool {
	for _, n := range ignoreNames {
		if n == name {
			return true
		}
	}
	return false
}

// maxIgnoreBytes bounds an ignore file; longer ones are no such thing.
const maxIgnoreBytes = 1 << 20

type ignoreFile struct {
	dir   string
	name  string
	rules []ignoreRule
}

type ignoreRule struct {
	pattern  []string // segments; "**" stands for any number of them
	negate   bool
	dirOnly  bool
	anchored bool
}

// withIgnoreFiles adds the ignore files of a folder.
func withIgnoreFiles(above []*ignoreFile, dir string) []*ignoreFile {
	out := above[:len(above):len(above)]
	for _, n := range ignoreNames {
		p := filepath.Join(dir, n)
		info, err := os.Lstat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreBytes {
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		if rules := parseIgnore(string(b)); len(rules) > 0 {
			out = append(out, &ignoreFile{dir, n, rules})
		}
	}
	return out
}

func parseIgnore(s string) []ignoreRule {
	var out []ignoreRule
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, "\\ ") {
			line = strings.TrimRight(line, " \t")
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var r ignoreRule
		if strings.HasPrefix(line, "!") {
			r.negate, line = true, line[1:]
		}
		line = strings.TrimPrefix(line, "\\")
		if strings.HasSuffix(line, "/") {
			r.dirOnly = true
			line = strings.TrimRight(line, "/")
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

// ignored reports whether a path is left out, and by which file. Later rules and
// deeper files win.
func ignored(files []*ignoreFile, p string, dir bool) (string, bool) {
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		rel, err := filepath.Rel(f.dir, p)
		if err != nil {
			continue
		}
		segs := strings.Split(filepath.ToSlash(rel), "/")
		for k := len(f.rules) - 1; k >= 0; k-- {
			r := f.rules[k]
			if r.dirOnly && !dir || !r.matches(segs) {
				continue
			}
			return filepath.Join(f.dir, f.name), !r.negate
		}
	}
	return "", false
}

func (r ignoreRule) matches(segs []string) bool {
	if !r.anchored {
		return matchSegment(r.pattern[0], segs[len(segs)-1])
	}
	return matchSegments(r.pattern, segs)
}

func matchSegments(pat, segs []string) bool {
	for len(pat) > 0 {
		if pat[0] == "**" {
			if len(pat) == 1 {
				return len(segs) > 0
			}
			for i := 0; i <= len(segs); i++ {
				if matchSegments(pat[1:], segs[i:]) {
					return true
				}
			}
			return false
		}
		if len(segs) == 0 || !matchSegment(pat[0], segs[0]) {
			return false
		}
		pat, segs = pat[1:], segs[1:]
	}
	return len(segs) == 0
}

func matchSegment(pat, s string) bool {
	ok, err := path.Match(pat, s)
	return err == nil && ok
}

// IsIgnoreFile reports whether a file of that name holds rules.
func IsIgnoreFile(name string) bool { return isIgnoreFile(name) }
