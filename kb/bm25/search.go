package bm25

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// A Term is one thing a query looks for: any of its variants, which together
// count as one term when it comes to how rare it is. Weight is how often the
// query holds it.
type Term struct {
	Variants []string
	Weight   float64
}

// A Hit is a document found.
type Hit struct {
	ID    uint32
	Score float64
}

// maxTerms is how many terms of a query are scored; of more, the rarest. A
// pasted page has thousands, and the frequent ones decide nothing.
const maxTerms = 128

// Stats are the figures of the whole collection.
type Stats struct {
	Docs  int // living documents
	Terms int // their length in terms
}

// Stat adds up the figures of the segments.
func Stat(segs []Segment) Stats {
	var s Stats
	for _, seg := range segs {
		d, t := Totals(seg)
		s.Docs += d
		s.Terms += t
	}
	return s
}

// found is a term with its postings in each segment.
type found struct {
	df    int
	idf   float64
	lists [][]postings // by segment, by variant
}

// Frequency returns in how many documents a term occurs, the deleted included.
func Frequency(segs []Segment, term string) int {
	df := 0
	for _, s := range segs {
		df += find(s, term).df
	}
	return df
}

// Search returns the best k documents, best first, ties by id. It is exact:
// every document that holds a term is scored. Scores are divided by the sum of
// the terms' inverse document frequencies, those that occur nowhere included: an
// average document that holds each term once has about 1.
func Search(segs []Segment, stats Stats, terms []Term, k int) []Hit {
	if stats.Docs == 0 || k <= 0 {
		return nil
	}
	fs, sum := lookUp(segs, stats, terms)
	if len(fs) == 0 {
		return nil
	}
	for i := range fs {
		fs[i].idf /= sum
	}
	avg := max(float64(stats.Terms)/float64(stats.Docs), 1)
	top := topK{k: k}
	for i, s := range segs {
		scoreSegment(s, i, fs, avg, &top)
	}
	return top.sorted()
}

// lookUp finds the postings of the terms and drops those that occur nowhere. sum
// is of all inverse document frequencies.
func lookUp(segs []Segment, stats Stats, terms []Term) (fs []found, sum float64) {
	for _, t := range terms {
		f := found{lists: make([][]postings, len(segs))}
		for i, s := range segs {
			for _, v := range t.Variants {
				if p := find(s, v); p.df > 0 {
					f.df += p.df
					f.lists[i] = append(f.lists[i], p)
				}
			}
		}
		n, df := float64(stats.Docs), math.Min(float64(f.df), float64(stats.Docs))
		f.idf = t.Weight * math.Log(1+(n-df+0.5)/(df+0.5))
		sum += f.idf
		if f.df > 0 {
			fs = append(fs, f)
		}
	}
	if len(fs) > maxTerms {
		slices.SortStableFunc(fs, func(a, b found) int { return cmp.Compare(a.df, b.df) })
		fs = fs[:maxTerms]
	}
	return fs, sum
}

// scratch is the working memory of one search.
type scratch struct {
	score []float32
	seen  []int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func scoreSegment(s Segment, seg int, fs []found, avg float64, top *topK) {
	n := Docs(s)
	lens, dead, ids := s.Lens(), s.Dead(), s.IDs()
	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	if cap(sc.score) < n {
		sc.score = make([]float32, n)
	}
	score, seen := sc.score[:n], sc.seen[:0]
	k0, k1 := float32(K1*(1-B)), float32(K1*B/avg)
	for i := range fs {
		w := float32(fs[i].idf * (K1 + 1))
		for _, p := range fs[i].lists[seg] {
			ord, data := -1, p.data
			for len(data) > 0 {
				var delta, tf int
				delta, tf, data = next(data)
				ord += delta
				if ord >= n || delta <= 0 {
					break // a damaged list ends here
				}
				if score[ord] == 0 {
					seen = append(seen, int32(ord))
				}
				f := float32(tf)
				score[ord] += w * f / (f + k0 + k1*float32(length(lens, ord)))
			}
		}
	}
	for _, o := range seen {
		ord := int(o)
		v := score[ord]
		score[ord] = 0
		if float64(v) >= top.least && !IsDead(dead, ord) {
			top.push(Hit{id(ids, ord), float64(v)})
		}
	}
	sc.seen = seen[:0]
}

// topK keeps the best k hits in a heap whose root is the worst of them.
type topK struct {
	k     int
	heap  []Hit
	least float64 // score that a hit needs once the heap is full
}

// worse orders hits: lower score first, then higher id.
func worse(a, b Hit) bool {
	if a.Score != b.Score {
		return a.Score < b.Score
	}
	return a.ID > b.ID
}

func (t *topK) push(h Hit) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, h)
		for i := len(t.heap) - 1; i > 0; {
			p := (i - 1) / 2
			if !worse(t.heap[i], t.heap[p]) {
				break
			}
			t.heap[i], t.heap[p] = t.heap[p], t.heap[i]
			i = p
		}
	} else if worse(t.heap[0], h) {
		t.heap[0] = h
		for i := 0; ; {
			c := 2*i + 1
			if c >= len(t.heap) {
				break
			}
			if c+1 < len(t.heap) && worse(t.heap[c+1], t.heap[c]) {
				c++
			}
			if !worse(t.heap[c], t.heap[i]) {
				break
			}
			t.heap[i], t.heap[c] = t.heap[c], t.heap[i]
			i = c
		}
	}
	if len(t.heap) == t.k {
		t.least = t.heap[0].Score
	}
}

func (t *topK) sorted() []Hit {
	slices.SortFunc(t.heap, func(a, b Hit) int {
		if worse(b, a) {
			return -1
		}
		return 1
	})
	return t.heap
}
