package kb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/config"
	"perch/kb/kbtest"
)

// The whole way: files on disk, passages, index, search. Documents are files, so
// what a hit names is compared by file.
func TestSearchReachesItsGoalsOnPublicCollections(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds")
	}
	shared := kbtest.Shared()
	if shared == "" {
		t.Skip("the retrieval collections are not here; set PERCH_SHARED")
	}
	cs, err := kbtest.Load(shared)
	if err != nil {
		t.Fatal(err)
	}
	indexed := map[string]*Base{}
	for i := range cs {
		c := &cs[i]
		t.Run(c.Name, func(t *testing.T) {
			name := strings.TrimSuffix(c.Name, " short")
			b := indexed[name]
			if b == nil {
				dir, err := os.MkdirTemp("", "perch-collection-")
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(dir)
				for _, d := range c.Docs {
					write(t, filepath.Join(dir, d.ID+".txt"), d.Text)
				}
				if b, err = Open(Options{Path: filepath.Join(dir, "kb", "kb.db"), Config: settings(func(c *config.KB) { c.VectorWeight, c.KeywordWeight, c.Threshold = 0, 1, 0 }), Exclude: []string{filepath.Join(dir, "kb")}}); err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				add(t, b, dir)
			}
			s := kbtest.Measure(c, func(q string, k int) []string {
				hits, err := b.KBSearch(t.Context(), q, 2*k)
				if err != nil {
					t.Fatal(err)
				}
				var ids []string
				seen := map[string]bool{}
				for _, h := range hits {
					id := strings.TrimSuffix(filepath.Base(h.Path), ".txt")
					if !seen[id] {
						seen[id] = true
						ids = append(ids, id)
					}
				}
				return ids
			})
			t.Logf("nDCG@10 %.4f (goal %.3f), %.2f %% without a hit", s.NDCG, c.Goal, s.Empty*100)
			if s.NDCG < c.Goal || s.Empty > c.MaxEmpty {
				t.Errorf("nDCG@10 %.4f, goal %.3f; %.2f %% without a hit, at most %.2f %%", s.NDCG, c.Goal, s.Empty*100, c.MaxEmpty*100)
			}
		})
	}
}
