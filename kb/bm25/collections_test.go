package bm25_test

import (
	"strings"
	"testing"

	"perch/kb/bm25"
	"perch/kb/kbtest"
	"perch/kb/segment"
)

// The engine by itself, each document one unit: what segmentation and formula
// can do before chunks come into play.
func TestRankingReachesItsGoalsOnPublicCollections(t *testing.T) {
	shared := kbtest.Shared()
	if shared == "" {
		t.Skip("the retrieval collections are not here; set PERCH_SHARED")
	}
	cs, err := kbtest.Load(shared)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cs {
		c := &cs[i]
		if strings.HasSuffix(c.Name, " short") {
			continue // needs the second look at what stands side by side
		}
		t.Run(c.Name, func(t *testing.T) {
			an := segment.NewAnalyzer()
			b := bm25.NewBuilder()
			langs := map[segment.Lang]int{}
			for i, d := range c.Docs {
				lang := segment.Detect(d.Text)
				langs[lang]++
				b.Add(uint32(i), an.Terms(nil, d.Text, lang))
			}
			seg := &bm25.Mem{Data: *b.Finish()}
			segs := []bm25.Segment{seg}
			stats := bm25.Stat(segs)
			var ls []segment.Lang
			for l := range langs {
				ls = append(ls, l)
			}
			s := kbtest.Measure(c, func(q string, k int) []string {
				var terms []bm25.Term
				for _, g := range segment.Query(q, ls) {
					terms = append(terms, bm25.Term{Variants: g.Variants, Weight: g.Weight})
				}
				var ids []string
				for _, h := range bm25.Search(segs, stats, terms, k) {
					ids = append(ids, c.Docs[h.ID].ID)
				}
				return ids
			})
			t.Logf("nDCG@10 %.4f (goal %.3f), %.2f %% without a hit; languages %v", s.NDCG, c.Goal, s.Empty*100, langs)
			if s.NDCG < c.Goal {
				t.Errorf("nDCG@10 is %.4f, the goal %.3f", s.NDCG, c.Goal)
			}
			if s.Empty > c.MaxEmpty {
				t.Errorf("%.2f %% of the queries find nothing", s.Empty*100)
			}
		})
	}
}
