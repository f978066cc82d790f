package fuse

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func ids(from, n int) []uint32 {
	var out []uint32
	for i := range n {
		out = append(out, uint32(from+i))
	}
	return out
}

func TestScoresAreSharesOfTheHighestPossible(t *testing.T) {
	got := Fuse(Pass{Vector, 0.7, []uint32{1, 2}}, Pass{Keyword, 0.3, []uint32{2, 3}})
	want := []struct {
		id    uint32
		score float64
	}{
		{2, (0.7/62 + 0.3/61) / (1.0 / 61)}, {1, 0.7}, {3, 0.3 * 61 / 62},
	}
	for i, w := range want {
		if got[i].ID != w.id || math.Abs(got[i].Score-w.score) > 1e-12 {
			t.Errorf("place %d: %+v, want %v", i, got[i], w)
		}
	}
	if fmt.Sprint(got[0].Matched) != "[vector keyword]" {
		t.Errorf("matched %v", got[0].Matched)
	}
	if one := Fuse(Pass{Keyword, 0.3, []uint32{9}}); one[0].Score != 1 {
		t.Errorf("alone the first has %v", one[0].Score)
	}
}

func TestAPassWithoutWeightChangesNothing(t *testing.T) {
	a, b := ids(1, 30), ids(20, 30)
	slices.Reverse(a)
	for _, p := range [][]Pass{{{Vector, 0, b}, {Keyword, 1, a}}, {{Keyword, 1, a}, {Vector, 0, b}}, {{Keyword, 0.3, a}}} {
		var got []uint32
		for _, c := range Fuse(p...) {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, a) {
			t.Errorf("%v", got)
		}
	}
}

func TestThePoolIsSixtyWhateverIsGiven(t *testing.T) {
	if n := len(Fuse(Pass{Keyword, 1, ids(1, 500)})); n != Pool {
		t.Errorf("%d candidates", n)
	}
	last := Fuse(Pass{Vector, 0.7, ids(1000, 60)}, Pass{Keyword, 0.3, ids(1, 60)})
	if s := last[len(last)-1].Score; s < 0.15 {
		t.Errorf("the last keyword hit has %v, below the default threshold", s)
	}
}

func TestOverlappingPassagesAreOneResult(t *testing.T) {
	gs := Join([]Place{{"a", 10, 20}, {"b", 1, 5}, {"a", 18, 30}, {"a", 40, 50}, {"a", 29, 35}, {"b", 1, 5}, {"a", 36, 39}})
	want := []Group{{0, 10, 35, []int{0, 2, 4}}, {1, 1, 5, []int{1, 5}}, {3, 40, 50, []int{3}}, {6, 36, 39, []int{6}}}
	if fmt.Sprint(gs) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", gs, want)
	}
}
