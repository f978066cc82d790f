package tokens

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goldenCounts are the true counts of the texts in testdata/golden, by text and
// family.
func goldenCounts(t testing.TB) (counts map[string]map[string]int, texts map[string]string) {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &counts); err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for name := range counts {
		b, err := os.ReadFile(filepath.Join("testdata/golden", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(b)
	}
	return counts, texts
}

// Limits on the golden texts, in percent. They are single short texts of kinds
// that nothing was fitted on (the weights' own reports measure hundreds); what
// is tested is that no kind is far off and that all together are close.
const (
	goldenWorst  = 25
	goldenMedian = 6
	goldenSum    = 4
)

func TestEstimatesAreCloseToRealTokenizers(t *testing.T) {
	counts, texts := goldenCounts(t)
	for _, family := range Families {
		if family == Default {
			continue
		}
		e := ForFamily(family)
		var est, truth []int
		sumE, sumT := 0, 0
		for name, c := range counts {
			n := e.Text(texts[name])
			est, truth = append(est, n), append(truth, c[family])
			sumE, sumT = sumE+n, sumT+c[family]
			if d := math.Abs(float64(n-c[family])) / float64(c[family]) * 100; d > goldenWorst {
				t.Errorf("%s: %s is %d, estimated %d", family, name, c[family], n)
			}
		}
		m := Measure(est, truth)
		sum := math.Abs(float64(sumE-sumT)) / float64(sumT) * 100
		t.Logf("%s: median %.1f %%, all together %.1f %%", family, m.Median, sum)
		if m.Median > goldenMedian {
			t.Errorf("%s: median error %.1f %%", family, m.Median)
		}
		if sum > goldenSum {
			t.Errorf("%s: all texts together are %.1f %% off", family, sum)
		}
	}
}

// A conversation in one language is where a wrong weight adds up. Traditional
// characters are rarer in the vocabularies and in the text that was fitted on:
// their session is allowed to come closer to the window's end.
func TestAnAllChineseSessionCompactsInTime(t *testing.T) {
	counts, texts := goldenCounts(t)
	const window, trigger, safety = 32768, 0.60, 1.05
	for _, c := range []struct {
		name    string
		turns   []string
		atMost  float64
		atLeast float64
	}{
		{"simplified", []string{"chinese", "chinese", "mixed"}, 62, 52},
		{"traditional", []string{"chinese-tw"}, 68, 52},
	} {
		for _, family := range Families {
			if family == Default {
				continue
			}
			e := ForFamily(family)
			est, truth := 0, 0
			for i := 0; float64(est)*safety <= trigger*window; i++ {
				name := c.turns[i%len(c.turns)]
				est += e.Text(texts[name]) + e.shape.message
				truth += counts[name][family] + e.shape.message
			}
			share := float64(truth) / window * 100
			t.Logf("%s, %s: compacts at %.1f %% of real tokens", c.name, family, share)
			if share < c.atLeast || share > c.atMost {
				t.Errorf("%s, %s: compacts at %.1f %% of real tokens, want %.0f to %.0f", c.name, family, share, c.atLeast, c.atMost)
			}
		}
	}
}

// What the weight files claim must hold the goals.
func TestReportedErrorsKeepTheGoals(t *testing.T) {
	for _, family := range Families {
		if family == Default {
			continue
		}
		data, err := os.ReadFile(filepath.Join("../../assets/weights", family+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var w Weights
		if err := json.Unmarshal(data, &w); err != nil {
			t.Fatal(err)
		}
		for _, g := range []struct {
			group       string
			median, p95 float64
		}{
			{"all", 5, 14}, {"English and mixed", 3, 9}, {"Chinese, Japanese, Korean", 4.5, 12},
			{"histories of ten, under at the safety factor", 2, 6},
		} {
			e, ok := w.Report[g.group]
			if !ok || e.Messages < 50 {
				t.Errorf("%s: no report on %q", family, g.group)
			}
			if e.Median > g.median || e.P95 > g.p95 {
				t.Errorf("%s, %s: median %.1f %%, p95 %.1f %%", family, g.group, e.Median, e.P95)
			}
			if strings.HasPrefix(g.group, "histories") && e.Under > 10 {
				t.Errorf("%s: a history is %.1f %% under at the safety factor", family, e.Under)
			}
		}
	}
}

// The scales of a fit are limited and never negative.
func TestAFitStaysWithinItsLimits(t *testing.T) {
	_, texts := goldenCounts(t)
	f := NewFitter("test", func(s string) bool { return s == "的" })
	for _, s := range texts {
		for range 3 {
			var starts []int
			for i := range s { // a token a character
				starts = append(starts, i)
			}
			f.Add(s, starts)
		}
	}
	w := f.Weights()
	for c, s := range w.Scale {
		if s < minScale || s > maxScale {
			t.Errorf("scale of %s is %v", c, s)
		}
	}
	e, err := w.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range texts {
		want := len([]rune(s))
		if got := e.Text(s); math.Abs(float64(got-want)) > .05*float64(want) {
			t.Errorf("%s: %d characters, estimated %d", name, want, got)
		}
	}
}
