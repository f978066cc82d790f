package kb

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/kb/backend"
	"perch/kb/backend/bolt"
)

// testEmbedder gives vectors of a dimension and counts what it is asked.
type testEmbedder struct {
	model string
	dim   int

	mu    sync.Mutex
	asked map[string]int
	fail  []error // of the next calls
	gate  chan struct{}
}

func (e *testEmbedder) Model() string { return e.model }

func (e *testEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	gate := e.gate
	e.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.fail) > 0 {
		err := e.fail[0]
		e.fail = e.fail[1:]
		return nil, err
	}
	if e.asked == nil {
		e.asked = map[string]int{}
	}
	var out [][]float32
	for _, s := range texts {
		e.asked[s]++
		v := make([]float32, e.dim)
		for i, x := range vectorOf(s) {
			v[i%e.dim] += x
		}
		out = append(out, v)
	}
	return out, nil
}

func (e *testEmbedder) count(text string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[text]
}

func embedded(t *testing.T, b *Base, model string, n int) {
	t.Helper()
	eventually(t, "embedding", func() bool {
		b.fresh()
		s, err := b.KBStatus(t.Context())
		active, _ := b.be.Meta(t.Context(), metaActive)
		m, _, _ := backend.ParseSet(active)
		return err == nil && s.Model == model && s.Vectors == n && m == model
	})
}

func TestSwitchingTheModelKeepsTheOldVectorsUntilTheNewAreComplete(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.txt"), "A text about otters.\n")
		write(t, filepath.Join(dir, "b.txt"), "A text about herons.\n")
		old := &testEmbedder{model: "m/old", dim: 8}
		o.Embedder = old
		o.Config = settings(func(c *config.KB) { c.Threshold = 0 })
		b := open(t, o)
		add(t, b, dir)
		embedded(t, b, "m/old", 2)
		gate := make(chan struct{})
		next := &testEmbedder{model: "m/new", dim: 4, gate: gate}
		b.SetEmbedder(next)
		hits, err := b.KBSearch(t.Context(), "A text about otters.", 5)
		if err != nil || len(hits) == 0 || hits[0].Score < 0.9 {
			t.Fatalf("while the new model works: %+v, %v", hits, err)
		}
		if old.count("A text about otters.") != 2 {
			t.Errorf("the old model was asked %d times", old.count("A text about otters."))
		}
		close(gate)
		embedded(t, b, "m/new", 2)
		eventually(t, "dropping the old vectors", func() bool {
			sets, err := b.be.Sets(t.Context())
			return err == nil && len(sets) == 1 && sets[0] == "m/new@4"
		})
		if hits, _ := b.KBSearch(t.Context(), "A text about otters.", 5); len(hits) == 0 || filepath.Base(hits[0].Path) != "a.txt" || len(hits[0].Matched) != 2 {
			t.Errorf("with the new model: %+v", hits)
		}
		// Another dimension under the same name is another model.
		b.SetEmbedder(&testEmbedder{model: "m/new", dim: 5})
		write(t, filepath.Join(dir, "c.txt"), "A text about moles.\n")
		add(t, b, dir)
		eventually(t, "the new dimension", func() bool {
			sets, _ := b.be.Sets(t.Context())
			n, _ := b.be.Counted(t.Context(), "m/new@5")
			return len(sets) == 1 && n == 3
		})
	})
}

func TestNothingIsEmbeddedTwice(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		p := filepath.Join(dir, "a.txt")
		write(t, p, "Same text.\n")
		e := &testEmbedder{model: "m/x", dim: 8}
		o.Embedder = e
		b := open(t, o)
		add(t, b, dir)
		embedded(t, b, "m/x", 1)
		write(t, filepath.Join(dir, "copy.txt"), "Same text.\n")    // the same text elsewhere
		write(t, filepath.Join(dir, "touched.txt"), "Same text.\n") // and once more
		add(t, b, dir)
		embedded(t, b, "m/x", 3)
		if n := e.count("Same text."); n != 1 {
			t.Errorf("embedded %d times", n)
		}
	})
}

func TestEmbeddingWaitsWhenToldAndStopsWhenItCannotHelp(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "Patient text.\n")
	limited := chat.NewError(chat.ClassRateLimit, "err.test", "Too many.")
	limited.HasRetryAfter, limited.RetryAfter = true, time.Millisecond
	e := &testEmbedder{model: "m/x", dim: 8, fail: []error{limited, limited, limited}}
	notices := make(chan string, 10)
	b := open(t, Options{Embedder: e, Notice: func(s string) { notices <- s }})
	add(t, b, dir)
	embedded(t, b, "m/x", 1)
	bad := &testEmbedder{model: "m/bad", dim: 8, fail: []error{chat.NewError(chat.ClassAuth, "err.test", "The key is wrong.")}}
	b.SetEmbedder(bad)
	select {
	case n := <-notices:
		if n == "" {
			t.Error("an empty notice")
		}
	case <-time.After(10 * time.Second):
		t.Error("the user is not told")
	}
	if n := found(t, b, "patient"); len(n) != 1 {
		t.Errorf("keywords find %v", n)
	}
}

func TestVectorsLeaveTheMemoryWhenIdle(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "Idle text.\n")
	b := open(t, Options{Path: filepath.Join(t.TempDir(), "kb.db"), Embedder: &testEmbedder{model: "m/x", dim: 8}, IdleRelease: 50 * time.Millisecond})
	add(t, b, dir)
	embedded(t, b, "m/x", 1)
	found(t, b, "Idle text.")
	eventually(t, "release", func() bool { return b.be.(*bolt.Backend).Resident() == 0 })
	if n := found(t, b, "Idle text."); len(n) != 1 {
		t.Errorf("after the release: %v", n)
	}
}
