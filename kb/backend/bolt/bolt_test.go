package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"perch/kb/backend"
	"perch/kb/backend/backendtest"
)

func open(t *testing.T, path string) *Backend {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Check(); err != nil {
			t.Error(err)
		}
		b.Close()
	})
	return b
}

func TestSuite(t *testing.T) {
	backendtest.Run(t, true, func(t *testing.T) backend.Backend { return open(t, filepath.Join(t.TempDir(), "kb.db")) })
}

func TestADamagedFileIsToldFromALockedOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kb.db")
	if err := os.WriteFile(path, []byte("this is no index, and longer than a page would need to be"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v", err)
	}
	path = filepath.Join(t.TempDir(), "kb.db")
	open(t, path)
	if _, err := Open(path); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("error %v", err)
	}
}
