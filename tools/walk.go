package tools

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"perch/tools/places"
)

// found is one entry of a walk.
type found struct {
	path string // absolute
	rel  string // below the start, with slashes
	dir  bool
	info fs.DirEntry
}

// walker walks a folder in the order of names. Links are shown but not followed:
// they may lead anywhere.
type walker struct {
	secret *places.Places
	// all also walks what ignore files name.
	all bool
	// depth is how many levels are walked; 0 is all.
	depth int
	// skipped counts secret places that were left out.
	skipped int
}

// walk calls visit for each entry until it returns false.
func (w *walker) walk(ctx context.Context, start string, visit func(found) bool) error {
	_, err := w.folder(ctx, start, "", 1, w.rulesAbove(start), visit)
	return err
}

// rulesAbove reads the ignore files between the root of a repository and start,
// so that a search below it follows them as well.
func (w *walker) rulesAbove(start string) *ignores {
	if w.all {
		return nil
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if dir == start {
				return nil // read as the start's own
			}
			rel, err := filepath.Rel(dir, start)
			if err != nil {
				return nil
			}
			if g := ignoresOf(dir, "", nil); g != nil {
				g.prefix = filepath.ToSlash(rel)
				return g
			}
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (w *walker) folder(ctx context.Context, dir, rel string, level int, above *ignores, visit func(found) bool) (goOn bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		if level == 1 {
			return false, explainOpen(dir, err)
		}
		return true, nil // one folder that is closed does not end the walk
	}
	rules := above
	if !w.all {
		rules = ignoresOf(dir, rel, above)
	}
	for _, e := range entries {
		f := found{path: filepath.Join(dir, e.Name()), rel: e.Name(), dir: e.IsDir(), info: e}
		if rel != "" {
			f.rel = rel + "/" + e.Name()
		}
		if f.dir && versionFolders[e.Name()] {
			continue
		}
		if w.secret.Secret(f.path) {
			w.skipped++
			continue
		}
		if !w.all && rules.match(f.rel, f.dir) {
			continue
		}
		if !visit(f) {
			return false, nil
		}
		if f.dir && (w.depth == 0 || level < w.depth) {
			if goOn, err := w.folder(ctx, f.path, f.rel, level+1, rules, visit); !goOn || err != nil {
				return goOn, err
			}
		}
	}
	return true, nil
}
