package backend

import (
	"fmt"
	"slices"

	"perch/kb/bm25"
	"perch/kb/segment"
	"perch/kb/vector"
)

// RankKeywords searches segments for the groups of a query.
func RankKeywords(segs []bm25.Segment, stats bm25.Stats, groups []segment.Group, k int) []Hit {
	terms := make([]bm25.Term, len(groups))
	for i, g := range groups {
		terms[i] = bm25.Term{Variants: g.Variants, Weight: g.Weight}
	}
	found := bm25.Search(segs, stats, terms, k)
	out := make([]Hit, len(found))
	for i, h := range found {
		out[i] = Hit(h)
	}
	return out
}

// BestHits sorts hits, best first and ties by id, and keeps k.
func BestHits(hits []Hit, k int) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	return hits[:min(k, len(hits))]
}

// QuantizeAll checks and converts vectors for a set of that dimension.
func QuantizeAll(dim int, vs []Vector) ([]vector.Row, error) {
	rows := make([]vector.Row, len(vs))
	for i, v := range vs {
		if len(v.Values) != dim {
			return nil, fmt.Errorf("a vector has %d dimensions, its set %d", len(v.Values), dim)
		}
		r, err := vector.Quantize(v.Values)
		if err != nil {
			// A text that the model has no direction for is stored as it is, so
			// that it is not asked for again; its cosine is 0.
			r = vector.Row{Values: make([]int16, dim)}
		}
		rows[i] = r
	}
	return rows, nil
}
