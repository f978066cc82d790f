package child

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Find finds one of Perch's own programs: beside the running one, else in PATH.
func Find(name string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		// A link to perch, as packages make them, is not where its helpers lie.
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		p := filepath.Join(filepath.Dir(self), name)
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() {
			return p, nil
		}
	}
	p, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		// A program of the current folder is anybody's.
		return "", exec.ErrNotFound
	}
	return p, err
}
