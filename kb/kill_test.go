package kb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/kb/backend"
	"perch/kb/backend/bolt"
)

// httpEmbedder asks a test server for vectors.
type httpEmbedder struct{ url string }

func (h httpEmbedder) Model() string { return "test/model" }

func (h httpEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(json.NewEncoder(w).Encode(texts)) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, r)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, chat.NewError(chat.ClassTransient, "err.test", "%v", err)
	}
	defer resp.Body.Close()
	var out [][]float32
	return out, json.NewDecoder(resp.Body).Decode(&out)
}

// vectorOf is any vector that depends on the text.
func vectorOf(text string) []float32 {
	h := backend.HashText(text)
	v := make([]float32, 16)
	for i := range v {
		v[i] = float32(int(h[i]) - 127)
	}
	return v
}

const killHelper = "PERCH_KB_KILL_HELPER"

// TestKillHelper is the process that is killed: it indexes a folder and embeds.
func TestKillHelper(t *testing.T) {
	spec := os.Getenv(killHelper)
	if spec == "" {
		t.Skip("is run by the test below")
	}
	var s struct{ DB, Dir, URL string }
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	b, err := Open(Options{Path: s.DB, Embedder: httpEmbedder{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.KBAdd(context.Background(), []string{s.Dir}, nil); err != nil {
		t.Fatal(err)
	}
	fmt.Println("indexed")
	for b.embed.busy() || len(b.embed.wake) > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("embedded")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTwentyKillsLoseNothingAndEmbedNothingTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("kills twenty processes")
	}
	const files, kills = 600, 20
	dir, db := t.TempDir(), filepath.Join(t.TempDir(), "kb.db")
	for i := range files {
		write(t, filepath.Join(dir, fmt.Sprintf("d%02d", i%20), fmt.Sprintf("f%03d.txt", i)), fmt.Sprintf("Document number%d speaks of topic%d and nothing else.\n", i, i%7))
	}
	var mu sync.Mutex
	asked := map[string]int{} // texts in answers that were written
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var texts []string
		if json.NewDecoder(r.Body).Decode(&texts) != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
		var out [][]float32
		for _, s := range texts {
			out = append(out, vectorOf(s))
		}
		mu.Lock()
		for _, s := range texts {
			asked[s]++
		}
		mu.Unlock()
		_ = json.NewEncoder(w).Encode(out)
	}))
	defer srv.Close()
	spec, err := json.Marshal(map[string]string{"DB": db, "Dir": dir, "URL": srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	committed := map[string]bool{}
	settled := map[string]int{} // texts with a stored vector → how often they had been asked for
	stored := 0
	for n := range kills + 1 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKillHelper$", "-test.v")
		cmd.Env = append(os.Environ(), killHelper+"="+string(spec))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n < kills {
			time.Sleep(time.Duration(30+rand.IntN(250)) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		} else if err := cmd.Wait(); err != nil {
			t.Fatalf("the last run failed: %v", err)
		}
		stored = inspect(t, db, committed, stored)
		mu.Lock()
		for _, text := range withVectors(t, db, dir) {
			if _, ok := settled[text]; !ok {
				settled[text] = asked[text]
			}
		}
		for text, n := range settled {
			if asked[text] > n {
				t.Errorf("%q had its vector on disk and was embedded again", text)
			}
		}
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(committed) != files || stored != files {
		t.Errorf("%d documents and %d vectors, want %d", len(committed), stored, files)
	}
	// A kill costs at most the batch that was on its way at that moment.
	twice := 0
	for _, k := range asked {
		twice += k - 1
	}
	if twice > kills*embedTexts {
		t.Errorf("%d texts were embedded again after %d kills", twice, kills)
	}
	t.Logf("%d texts, %d asked for again because their batch was on its way when the process died", len(asked), twice)
}

// inspect opens the file after a kill and compares it with what was there.
func inspect(t *testing.T, db string, committed map[string]bool, stored int) int {
	t.Helper()
	be, err := bolt.Open(db)
	if err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	defer be.Close()
	if err := be.Check(); err != nil {
		t.Fatalf("Bolt's check: %v", err)
	}
	now := map[string]bool{}
	if err := be.Documents(t.Context(), func(d backend.Document) bool { now[d.Path] = true; return true }); err != nil {
		t.Fatal(err)
	}
	for p := range committed {
		if !now[p] {
			t.Errorf("%s was committed and is lost", p)
		}
	}
	for p := range now {
		committed[p] = true
	}
	sets, err := be.Sets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range sets {
		c, err := be.Counted(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		n += c
	}
	if n < stored {
		t.Errorf("%d vectors, there were %d", n, stored)
	}
	return n
}

// withVectors returns the texts of the folder whose vectors are stored.
func withVectors(t *testing.T, db, dir string) []string {
	t.Helper()
	be, err := bolt.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	defer be.Close()
	missing, _, err := be.Missing(t.Context(), backend.SetName("test/model", 16), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	lacks := map[string]bool{}
	for _, m := range missing {
		lacks[m.Text] = true
	}
	all, _, err := be.Missing(t.Context(), "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		if !lacks[a.Text] {
			out = append(out, a.Text)
		}
	}
	return out
}
