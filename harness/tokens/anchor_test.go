package tokens

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func TestAnAnchorAddsOnlyWhatCameSince(t *testing.T) {
	a := Anchor{Model: "p/m", Reported: 1400, Estimated: 1000}
	for _, c := range []struct {
		name     string
		anchor   Anchor
		model    string
		estimate int
		ratio    float64
		want     int
	}{
		{"nothing new", a, "p/m", 1000, 0, 1400},
		{"what came since", a, "p/m", 1100, 0, 1500},
		{"what came since, corrected", a, "p/m", 1100, 1.4, 1540},
		{"another model", a, "p/n", 1100, 0, 1100},
		{"another model, corrected", a, "p/n", 1000, 1.2, 1200},
		{"dropped", Anchor{}, "p/m", 1000, 1.5, 1500},
		{"less than at the anchor", a, "p/m", 600, 1.4, 840},
	} {
		if got := c.anchor.Input(c.model, c.estimate, c.ratio); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestARatioReachesTheTruthAndForgetsSlowly(t *testing.T) {
	var r Ratio
	if r.Factor() != 1 {
		t.Error("something was learned from nothing")
	}
	r = r.Learn(100, 20)
	if r.Factor() != 1 {
		t.Error("a short request taught something")
	}
	for _, truth := range []float64{0.4, 0.6, 1.4, 2.5} {
		var r Ratio
		for range 3 {
			r = r.Learn(int(truth*5000), 5000)
		}
		if math.Abs(r.Factor()-truth) > .01*truth {
			t.Errorf("after three reports %.3f, want %.1f", r.Factor(), truth)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Ratio
		if err := json.Unmarshal(b, &back); err != nil || back != r {
			t.Errorf("%s does not come back", b)
		}
		if odd := r.Learn(50_000, 5000); odd.Factor() > 1.3*r.Factor() && truth > 1 {
			t.Errorf("one odd report moved %.2f to %.2f", r.Factor(), odd.Factor())
		}
	}
	for _, bad := range []Ratio{{Value: math.NaN(), Weight: 1}, {Value: -1, Weight: 3}, {Value: 99, Weight: 8}} {
		if f := bad.Factor(); math.IsNaN(f) || f < minRatio || f > maxRatio {
			t.Errorf("factor %v of %+v", f, bad)
		}
	}
}

// A vendor whose true count is 40 % off the weights, over a session of turns.
func TestAnchoringFollowsAVendorFarFromTheWeights(t *testing.T) {
	for _, off := range []float64{1.4, 0.6} {
		r := rand.New(rand.NewPCG(7, 8))
		var anchor Anchor
		var ratio Ratio
		estimate, truth := 900, 900*off
		for turn := range 30 {
			if got := float64(anchor.Input("m", estimate, ratio.Factor())); turn >= 3 {
				if d := math.Abs(got-truth) / truth * 100; d > 2 {
					t.Errorf("off by %.1f: turn %d is %.1f %% wrong", off, turn, d)
				}
			}
			anchor = Anchor{Model: "m", Reported: int(truth), Estimated: estimate}
			ratio = ratio.Learn(int(truth), estimate)
			// The next messages; their own ratio scatters by a tenth.
			n := 150 + r.IntN(400)
			estimate += n
			truth += float64(n) * off * (0.9 + 0.2*r.Float64())
		}
	}
}
