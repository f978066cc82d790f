// Package fuse joins the keyword and the vector pass into one ranking. It is
// pure: what it decides can be read in its tests.
package fuse

import (
	"cmp"
	"slices"
)

const (
	// RankConstant is the k of reciprocal rank fusion (Cormack, Clarke and
	// Büttcher, 2009): large enough that the first place does not decide alone.
	RankConstant = 60
	// Pool is how many results of each pass take part, however many are wanted.
	// A pool that grew with the number wanted would change the first result.
	Pool = 60
	// CosineFloor is the similarity below which a vector result is none. Without
	// it every query would find something.
	CosineFloor = 0.2
)

// Passes that can have found a candidate.
const (
	Keyword = "keyword"
	Vector  = "vector"
)

// A Pass is the ranking of one index, best first.
type Pass struct {
	Name   string
	Weight float64
	IDs    []uint32
}

// A Candidate is a chunk with its fused score.
type Candidate struct {
	ID      uint32
	Score   float64 // 0…1
	Matched []string
}

// Fuse returns the candidates of the passes that ran, best first: the sum of
// weight/(k+rank), divided by what a candidate that is first everywhere would
// have. Ties go to the better rank in the first pass, then to the lower id. A
// pass without weight is left out; with one pass left the order is its own.
func Fuse(passes ...Pass) []Candidate {
	highest := 0.0
	at := map[uint32]int{}
	var out []Candidate
	for _, p := range passes {
		if p.Weight <= 0 {
			continue
		}
		highest += p.Weight / (RankConstant + 1)
		for i, id := range p.IDs[:min(len(p.IDs), Pool)] {
			n, ok := at[id]
			if !ok {
				n = len(out)
				at[id] = n
				out = append(out, Candidate{ID: id})
			}
			out[n].Score += p.Weight / float64(RankConstant+i+1)
			out[n].Matched = append(out[n].Matched, p.Name)
		}
	}
	for i := range out {
		out[i].Score /= highest
	}
	// The slice is in order of the first pass, then of the second: a stable sort
	// keeps that among equals.
	slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// A Place is where a candidate stands in its document.
type Place struct {
	Document   string
	Start, End int // lines, both included
}

// A Group is one result: the best candidate and those of the same document
// whose lines touch it, directly or through one another.
type Group struct {
	Best       int // index of the best candidate
	Start, End int
	Members    []int // indices, best first
}

// Join makes one result of candidates that overlap, in order of their best. At
// most one result has a given document and start line.
func Join(places []Place) []Group {
	byDoc := map[string][]int{}
	for i, p := range places {
		byDoc[p.Document] = append(byDoc[p.Document], i)
	}
	var out []Group
	for _, members := range byDoc {
		slices.SortFunc(members, func(a, b int) int {
			if c := cmp.Compare(places[a].Start, places[b].Start); c != 0 {
				return c
			}
			return a - b
		})
		var g *Group
		for _, i := range members {
			p := places[i]
			if g == nil || p.Start > g.End {
				out = append(out, Group{Best: i, Start: p.Start, End: p.End, Members: []int{i}})
				g = &out[len(out)-1]
				continue
			}
			g.End = max(g.End, p.End)
			g.Best = min(g.Best, i)
			g.Members = append(g.Members, i)
		}
	}
	for i := range out {
		slices.Sort(out[i].Members)
	}
	slices.SortFunc(out, func(a, b Group) int { return a.Best - b.Best })
	return out
}
