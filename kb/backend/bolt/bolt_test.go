package bolt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"perch/kb/backend"
	"perch/kb/backend/backendtest"
	"perch/kb/segment"
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

func TestCompactingKeepsEverythingAndShrinksTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kb.db")
	b := open(t, path)
	r := rand.New(rand.NewPCG(1, 1))
	entry := func(name string) backend.Entry {
		e := backend.Entry{Document: backend.Document{Path: name, Title: name}}
		for range 100 {
			text := make([]byte, 2000)
			for i := range text {
				text[i] = byte('a' + r.IntN(26))
			}
			e.Parts = append(e.Parts, backend.Part{Text: string(text), Terms: []string{name, string(text[:8])}})
		}
		return e
	}
	for i := range 100 {
		if err := b.Apply(t.Context(), backend.Batch{Put: []backend.Entry{entry(fmt.Sprint("d", i))}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 90 {
		if err := b.Apply(t.Context(), backend.Batch{Delete: []string{fmt.Sprint("d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.Size() > before.Size()/2 {
		t.Errorf("%d bytes, before %d", after.Size(), before.Size())
	}
	s, err := b.Stats(t.Context())
	if err != nil || s.Documents != 10 || s.Chunks != 1000 {
		t.Errorf("%+v, %v", s, err)
	}
	hits, err := b.Keywords(t.Context(), []segment.Group{{Variants: []string{"d95"}, Weight: 1}}, 200)
	if err != nil || len(hits) != 100 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
}
