package kbtest

import (
	"math"
	"sort"
)

// NDCG is the normalised discounted cumulative gain of a ranking at a cut
// (Järvelin and Kekäläinen, 2002), with linear gains.
func NDCG(ranking []string, gain map[string]float64, at int) float64 {
	dcg := 0.0
	for i, id := range ranking {
		if i == at {
			break
		}
		dcg += gain[id] / math.Log2(float64(i)+2)
	}
	var best []float64
	for _, g := range gain {
		best = append(best, g)
	}
	sort.Sort(sort.Reverse(sort.Float64Slice(best)))
	ideal := 0.0
	for i, g := range best {
		if i == at {
			break
		}
		ideal += g / math.Log2(float64(i)+2)
	}
	if ideal == 0 {
		return 0
	}
	return dcg / ideal
}

// Score is the quality of a search over a collection.
type Score struct {
	NDCG  float64 // mean nDCG@10
	Empty float64 // share of queries without a hit
}

// Measure runs every query that has an answer. search returns document ids,
// best first.
func Measure(c *Collection, search func(query string, k int) []string) Score {
	var s Score
	n := 0.0
	for _, q := range c.Queries {
		if len(q.Gain) == 0 {
			continue
		}
		n++
		r := search(q.Text, 10)
		if len(r) == 0 {
			s.Empty++
		}
		s.NDCG += NDCG(r, q.Gain, 10)
	}
	if n > 0 {
		s.NDCG /= n
		s.Empty /= n
	}
	return s
}
