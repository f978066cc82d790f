package walk

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestIgnoreRules(t *testing.T) {
	for _, c := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"*.log", "a.log", false, true}, {"*.log", "x/y/a.log", false, true}, {"*.log", "a.txt", false, false},
		{"/a.log", "a.log", false, true}, {"/a.log", "x/a.log", false, false},
		{"build/", "build", true, true}, {"build/", "build", false, false}, {"build/", "x/build", true, true},
		{"docs/*.tmp", "docs/a.tmp", false, true}, {"docs/*.tmp", "docs/x/a.tmp", false, false},
		{"**/gen", "x/y/gen", true, true}, {"a/**/b", "a/b", false, true}, {"a/**/b", "a/x/y/b", false, true}, {"a/**", "a/x", false, true},
		{"*.log\n!keep.log", "keep.log", false, false}, {"# note\n\n\\#x", "#x", false, true}, {"name ", "name", false, true},
	} {
		f := &ignoreFile{dir: "/r", name: ".gitignore", rules: parseIgnore(c.rules)}
		if _, got := ignored([]*ignoreFile{f}, filepath.Join("/r", c.path), c.dir); got != c.want {
			t.Errorf("%q on %q: %v", c.rules, c.path, got)
		}
	}
}

func TestBelowHoldsTheRulesOfTheFoldersAbove(t *testing.T) {
	root := t.TempDir()
	for p, s := range map[string]string{".gitignore": "skip/\n*.log\n", "a/b/c.txt": "x", "a/b/d.log": "x", "skip/e.txt": "x", ".h/f.txt": "x"} {
		p = filepath.Join(root, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{"a": 1, "a/b/c.txt": 1, "a/b/d.log": 0, "skip": 0, "skip/e.txt": 0, ".h/f.txt": 0} {
		res, err := Below(context.Background(), root, filepath.Join(root, path), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Files) != want {
			t.Errorf("%s: %v, want %d", path, res.Files, want)
		}
	}
	if _, err := Below(context.Background(), root, filepath.Join(root, "gone"), Options{}); err != ErrGone {
		t.Errorf("error %v", err)
	}
}
