package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// brute is the formula, written down again.
func brute(docs [][]string, dead map[int]bool, query []string) map[int]float64 {
	n, total := 0, 0
	for i, d := range docs {
		if !dead[i] {
			n++
			total += len(d)
		}
	}
	avg := float64(total) / float64(n)
	scores := map[int]float64{}
	sum := 0.0
	for _, q := range query {
		df := 0
		for i, d := range docs {
			if !dead[i] && slices.Contains(d, q) {
				df++
			}
		}
		idf := math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
		sum += idf
		for i, d := range docs {
			tf := 0.0
			for _, t := range d {
				if t == q {
					tf++
				}
			}
			if tf > 0 && !dead[i] {
				scores[i] += idf * tf * (K1 + 1) / (tf + K1*(1-B+B*float64(len(d))/avg))
			}
		}
	}
	for i := range scores {
		scores[i] /= sum
	}
	return scores
}

func TestSegmentsAndMergesRankAsTheFormulaSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var docs [][]string
	var segs []*Mem
	for range 12 {
		b := NewBuilder()
		for range 1 + r.IntN(40) {
			var d []string
			for range 1 + r.IntN(60) {
				d = append(d, fmt.Sprint("t", int(r.ExpFloat64()*20)))
			}
			b.Add(uint32(len(docs)+1), d)
			docs = append(docs, d)
		}
		segs = append(segs, &Mem{Data: *b.Finish()})
	}
	dead := map[int]bool{}
	for range len(docs) / 4 {
		i := r.IntN(len(docs))
		dead[i] = true
		for _, s := range segs {
			if o := Ordinal(s, uint32(i+1)); o >= 0 {
				s.DeadBits, _ = MarkDead(s.DeadBits, Docs(s), o)
			}
		}
	}
	// Merging all of them leaves the deleted out, so frequencies are exact again.
	var parts []Scanner
	for _, s := range segs {
		parts = append(parts, s)
	}
	merged := &Mem{}
	var err error
	merged.Data.IDs, merged.Data.Lens, err = Merge(parts, func(b Block) error { merged.Blocks = append(merged.Blocks, b); return nil })
	if err != nil {
		t.Fatal(err)
	}
	all := []Segment{merged}
	stats := Stat(all)
	for range 50 {
		var q []string
		var terms []Term
		for range 1 + r.IntN(4) {
			w := fmt.Sprint("t", r.IntN(60))
			if !slices.Contains(q, w) {
				q = append(q, w)
				terms = append(terms, Term{[]string{w}, 1})
			}
		}
		want := brute(docs, dead, q)
		got := Search(all, stats, terms, len(docs))
		if len(got) != len(want) {
			t.Fatalf("%v: %d hits, want %d", q, len(got), len(want))
		}
		for i, h := range got {
			if math.Abs(h.Score-want[int(h.ID)-1]) > 1e-4 {
				t.Fatalf("%v: document %d has %.6f, want %.6f", q, h.ID, h.Score, want[int(h.ID)-1])
			}
			if i > 0 && worse(got[i-1], h) {
				t.Fatalf("%v: place %d is out of order", q, i)
			}
		}
		if top := Search(all, stats, terms, 5); !slices.Equal(top, got[:min(5, len(got))]) {
			t.Fatalf("%v: the first five depend on how many are asked for", q)
		}
	}
}

func TestMergePlan(t *testing.T) {
	many := func(n, docs int) (out []Size) {
		for range n {
			out = append(out, Size{Docs: docs})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		sizes    []Size
		from, to int
		ok       bool
	}{
		{"nothing", nil, 0, 0, false},
		{"seven small ones wait", many(7, 10), 0, 0, false},
		{"eight small ones", many(8, 10), 0, 8, true},
		{"a large one is spared", append(many(1, 100_000), many(8, 10)...), 1, 9, true},
		{"eight of a class", append(many(1, 100_000), many(8, 1000)...), 1, 9, true},
		{"half deleted", []Size{{Docs: 1000}, {Docs: 100, Dead: 50}, {Docs: 1000}}, 1, 2, true},
	} {
		from, to, ok := Plan(c.sizes)
		if ok != c.ok || ok && (from != c.from || to != c.to) {
			t.Errorf("%s: %d–%d %v", c.name, from, to, ok)
		}
	}
}

func TestADamagedBlockEndsNothingButItself(t *testing.T) {
	b := NewBuilder()
	b.Add(1, []string{"alpha", "beta"})
	d := b.Finish()
	for i := range d.Blocks[0].Data {
		cut := &Mem{Data: Data{Blocks: []Block{{d.Blocks[0].First, d.Blocks[0].Data[:i]}}, IDs: d.IDs, Lens: d.Lens}}
		Search([]Segment{cut}, Stats{1, 2}, []Term{{[]string{"beta"}, 1}}, 1)
	}
}
