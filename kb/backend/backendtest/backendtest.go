// Package backendtest holds the tests that every backend of the knowledge base
// must pass.
package backendtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"perch/kb/backend"
	"perch/kb/segment"
)

// Run runs the suite. open returns a new, empty backend each time; vectors says
// whether it can hold vectors.
func Run(t *testing.T, vectors bool, open func(t *testing.T) backend.Backend) {
	t.Run("a document is found, replaced and deleted", func(t *testing.T) { documents(t, open(t)) })
	t.Run("ranking stays the same through merges", func(t *testing.T) { merges(t, open(t)) })
	t.Run("roots, problems and facts are kept", func(t *testing.T) { facts(t, open(t)) })
	if vectors {
		t.Run("vectors belong to texts", func(t *testing.T) { vectorSets(t, open(t)) })
	}
}

func entry(path string, texts ...string) backend.Entry {
	an := segment.NewAnalyzer()
	e := backend.Entry{Document: backend.Document{Path: path, Root: "/r", Title: "T " + path, Lang: "en", ModTime: time.Unix(1, 0), Hash: path}}
	for i, s := range texts {
		e.Parts = append(e.Parts, backend.Part{Text: s, Heading: "H", StartLine: 10*i + 1, EndLine: 10*i + 9, Page: i, Terms: an.Terms(nil, s, "en")})
	}
	return e
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// search returns path and text of what a query finds.
func search(t *testing.T, b backend.Backend, q string) (out []string) {
	t.Helper()
	hits, err := b.Keywords(t.Context(), segment.Query(q, []segment.Lang{"en"}), 20)
	ok(t, err)
	var ids []uint32
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	cs, err := b.Chunks(t.Context(), ids)
	ok(t, err)
	for _, c := range cs {
		out = append(out, c.Path+": "+c.Text)
	}
	return out
}

func documents(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	ok(t, b.Apply(ctx, backend.Batch{Put: []backend.Entry{entry("/r/a", "red apples", "green pears"), entry("/r/b", "red wine, O'Brien's \\ path")}}))
	if got := search(t, b, "red"); len(got) != 2 {
		t.Errorf("red finds %v", got)
	}
	if got := search(t, b, "pear"); len(got) != 1 || got[0] != "/r/a: green pears" {
		t.Errorf("pear finds %v", got)
	}
	if got := search(t, b, "o'brien \\path"); len(got) != 1 {
		t.Errorf("quotes find %v", got)
	}
	ok(t, b.Apply(ctx, backend.Batch{Put: []backend.Entry{entry("/r/a", "blue plums")}}))
	if got := search(t, b, "pear"); len(got) != 0 {
		t.Errorf("the old text is found: %v", got)
	}
	d, found, err := b.Document(ctx, "/r/a")
	ok(t, err)
	if !found || d.Chunks != 1 || d.Title != "T /r/a" || !d.ModTime.Equal(time.Unix(1, 0)) {
		t.Errorf("document %+v, %v", d, found)
	}
	d.ModTime = time.Unix(2, 0)
	ok(t, b.Apply(ctx, backend.Batch{Touch: []backend.Document{d}, Delete: []string{"/r/b"}}))
	s, err := b.Stats(ctx)
	ok(t, err)
	if s.Documents != 1 || s.Chunks != 1 || s.Langs["en"] != 1 || len(s.Langs) != 1 {
		t.Errorf("stats %+v", s)
	}
	n := 0
	ok(t, b.Documents(ctx, func(d backend.Document) bool {
		n++
		if !d.ModTime.Equal(time.Unix(2, 0)) {
			t.Errorf("not touched: %+v", d)
		}
		return true
	}))
	if n != 1 {
		t.Errorf("%d documents", n)
	}
	hits, err := b.Keywords(ctx, segment.Query("plums", []segment.Lang{"en"}), 5)
	ok(t, err)
	cs, err := b.Chunks(ctx, []uint32{1 << 30, hits[0].ID})
	ok(t, err)
	if len(cs) != 1 || cs[0].Heading != "H" || cs[0].StartLine != 1 || cs[0].EndLine != 9 {
		t.Errorf("chunks %+v", cs)
	}
}

// rare is a word of letters that no other number has.
func rare(n int) string { return "qx" + string(rune('a'+n/26)) + string(rune('a'+n%26)) + "qx" }

func merges(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	r := rand.New(rand.NewPCG(1, 1))
	words := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}
	text := func(n int) string {
		s := rare(n)
		for range 12 {
			s += " " + words[r.IntN(len(words))]
		}
		return s
	}
	for i := range 60 {
		ok(t, b.Apply(ctx, backend.Batch{Put: []backend.Entry{entry(fmt.Sprintf("/r/%02d", i), text(2*i), text(2*i+1))}}))
	}
	for i := 0; i < 60; i += 3 {
		ok(t, b.Apply(ctx, backend.Batch{Delete: []string{fmt.Sprintf("/r/%02d", i)}}))
	}
	for {
		more, err := b.Maintain(ctx)
		ok(t, err)
		if !more {
			break
		}
	}
	for i := range 120 {
		got := search(t, b, rare(i))
		if want := (i/2)%3 != 0; want != (len(got) == 1) {
			t.Errorf("%s finds %d passages", rare(i), len(got))
		}
	}
	if got := search(t, b, "alpha theta"); len(got) != 20 {
		t.Errorf("%d hits for frequent words", len(got))
	}
}

func facts(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	ok(t, b.PutRoot(ctx, backend.Root{Path: "/b"}))
	ok(t, b.PutRoot(ctx, backend.Root{Path: "/a", Added: time.Unix(5, 0)}))
	ok(t, b.PutRoot(ctx, backend.Root{Path: "/c"}))
	ok(t, b.DeleteRoot(ctx, "/b"))
	rs, err := b.Roots(ctx)
	ok(t, err)
	if len(rs) != 2 || rs[0].Path != "/a" || rs[1].Path != "/c" || !rs[0].Added.Equal(time.Unix(5, 0)) {
		t.Errorf("roots %+v", rs)
	}
	ok(t, b.Apply(ctx, backend.Batch{Problems: map[string]string{"/x": "no", "/y": "why"}}))
	ok(t, b.Apply(ctx, backend.Batch{Problems: map[string]string{"/x": "", "/y": "because"}}))
	ps, err := b.Problems(ctx)
	ok(t, err)
	if len(ps) != 1 || ps["/y"] != "because" {
		t.Errorf("problems %v", ps)
	}
	ok(t, b.SetMeta(ctx, "k", "v"))
	v, err := b.Meta(ctx, "k")
	ok(t, err)
	if none, _ := b.Meta(ctx, "other"); v != "v" || none != "" {
		t.Errorf("facts %q and %q", v, none)
	}
}

func vectorSets(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	ok(t, b.Apply(ctx, backend.Batch{Put: []backend.Entry{entry("/r/a", "one", "two"), entry("/r/b", "three", "one")}}))
	missing, n, err := b.Missing(ctx, "", 10)
	ok(t, err)
	if n != 3 || len(missing) != 3 || missing[0].Text != "H\none" {
		t.Fatalf("missing %v of %d", missing, n)
	}
	const set = "m/x@3"
	ok(t, b.PutVectors(ctx, set, []backend.Vector{{Hash: missing[0].Hash, Values: []float32{1, 0, 0}}, {Hash: missing[1].Hash, Values: []float32{3, 4, 0}}}))
	if _, n, err = b.Missing(ctx, set, 10); err != nil || n != 1 {
		t.Errorf("%d missing, error %v", n, err)
	}
	if err := b.PutVectors(ctx, set, []backend.Vector{{Hash: missing[2].Hash, Values: []float32{1}}}); err == nil {
		t.Error("a vector of another dimension is accepted")
	}
	near := func(q ...float32) (out []string) {
		hits, err := b.Nearest(ctx, set, q, 10)
		ok(t, err)
		for _, h := range hits {
			c, err := b.Chunks(ctx, []uint32{h.ID})
			ok(t, err)
			out = append(out, fmt.Sprintf("%s %s %.2f", c[0].Path, c[0].Text, h.Score))
		}
		return out
	}
	if got := fmt.Sprint(near(2, 0, 0)); got != "[/r/a one 1.00 /r/b one 1.00 /r/a two 0.60]" {
		t.Errorf("nearest %v", got)
	}
	// A moved document keeps its vectors; a deleted one is not found.
	e := entry("/r/moved", "one", "two")
	ok(t, b.Apply(ctx, backend.Batch{Delete: []string{"/r/a"}, Put: []backend.Entry{e}}))
	if got := fmt.Sprint(near(0, 5, 0)); got != "[/r/moved two 0.80 /r/b one 0.00 /r/moved one 0.00]" {
		t.Errorf("after the move %v", got)
	}
	b.Release()
	if n, err := b.Counted(ctx, set); err != nil || n != 3 {
		t.Errorf("%d chunks have a vector, error %v", n, err)
	}
	if got := near(0, 5); got != nil {
		t.Errorf("a query of another dimension finds %v", got)
	}
	ok(t, b.PutVectors(ctx, "other@2", []backend.Vector{{Hash: missing[2].Hash, Values: []float32{1, 1}}}))
	ok(t, b.DropSet(ctx, set))
	sets, err := b.Sets(ctx)
	ok(t, err)
	if len(sets) != 1 || sets[0] != "other@2" {
		t.Errorf("sets %v", sets)
	}
}
