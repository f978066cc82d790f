package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// layers says what each top-level package may import of ours, itself and its own
// subpackages aside. The test files of a package may also use the test kits.
var layers = map[string]string{
	"chat":      "",
	"assets":    "chat",
	"config":    "chat",
	"control":   "chat config",
	"store":     "chat config",
	"providers": "chat config assets",
	"tools":     "chat config assets control store providers",
	"kb":        "chat config assets control store providers",
	"harness":   "chat config assets control store providers",
	"popup":     "chat config assets control",
	"tray":      "chat config assets control",
	"cli":       "chat config assets control",
	// The composition root starts popup and hotkey as processes of their own.
	"main": "chat config assets control store providers tools kb harness tray cli",
}

// testKits are packages that any test may import.
var testKits = map[string]bool{"tray/desktest": true, "harness/harnesstest": true, "tools/toolstest": true, "kb/kbtest": true, "providers/providertest": true}

func TestImportsFollowTheLayers(t *testing.T) {
	fset := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "compare" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		seen++
		top, _, nested := strings.Cut(filepath.ToSlash(path), "/")
		if !nested {
			top = "main"
		}
		may, known := layers[top]
		if !known {
			t.Errorf("%s: the folder %s is in no layer", path, top)
			return nil
		}
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			ours, ok := strings.CutPrefix(p, "perch/")
			if !ok {
				continue
			}
			of, _, _ := strings.Cut(ours, "/")
			if of == top || contains(may, of) || strings.HasSuffix(path, "_test.go") && (testKits[ours] || top == "main") {
				continue
			}
			t.Errorf("%s imports %s, which its layer may not know", path, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func contains(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}

func TestPerchNeedsNoWindowToolkitHotkeyOrCgo(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, p := range strings.Fields(string(out)) {
		if p == "runtime/cgo" || strings.HasPrefix(p, "fyne.io/fyne") || strings.HasPrefix(p, "golang.design/x/hotkey") ||
			strings.HasPrefix(p, "perch/popup") || strings.HasPrefix(p, "github.com/sugarme") || strings.HasPrefix(p, "perch/tray/perch-hotkey") {
			t.Errorf("perch depends on %s", p)
		}
	}
}
