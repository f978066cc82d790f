package bm25

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Scanner is a segment whose blocks can be read one after another.
type Scanner interface {
	Segment
	// Each calls f for each block in order until f returns false.
	Each(f func(Block) bool)
}

// mergeFactor is how many segments of one size class make one of the next:
// fewer and documents are rewritten more often, more and a query has to visit
// more segments.
const mergeFactor = 8

// smallestClass is the number of documents up to which all segments are of the
// lowest size class.
const smallestClass = 64

// deadShare of deleted documents makes a segment worth rewriting by itself.
const deadShare = 0.3

// Size is what [Plan] looks at of a segment.
type Size struct {
	Docs int // the deleted included
	Dead int
}

// Plan says which neighbouring segments to merge next, as a range of their
// indices in order of age, or false when nothing is worth it. Only neighbours
// are merged, so that ids stay ascending.
func Plan(sizes []Size) (from, to int, ok bool) {
	class := func(s Size) int {
		c := 0
		for n := s.Docs - s.Dead; n > smallestClass; n /= mergeFactor {
			c++
		}
		return c
	}
	// The youngest run of at least mergeFactor segments of at most one class.
	for c := 0; c < 32; c++ {
		run := 0
		for i := len(sizes) - 1; i >= 0 && class(sizes[i]) <= c; i-- {
			run++
		}
		if run >= mergeFactor {
			return len(sizes) - run, len(sizes), true
		}
	}
	for i, s := range sizes {
		if s.Dead > 0 && float64(s.Dead) > deadShare*float64(s.Docs) {
			return i, i + 1, true
		}
	}
	return 0, 0, false
}

// Merge makes one segment of several, whose ids must ascend from each to the
// next. Deleted documents are left out. emit receives the blocks in order; it
// may write them away at once, so that a large merge needs little memory.
func Merge(segs []Scanner, emit func(Block) error) (ids, lens []byte, err error) {
	remap := make([][]int32, len(segs))
	total := int32(0)
	for i, s := range segs {
		sids, slens, dead := s.IDs(), s.Lens(), s.Dead()
		remap[i] = make([]int32, Docs(s))
		for ord := range remap[i] {
			if IsDead(dead, ord) {
				remap[i][ord] = -1
				continue
			}
			remap[i][ord] = total
			total++
			ids = append(ids, sids[ord*4:ord*4+4]...)
			lens = append(lens, slens[ord*2:ord*2+2]...)
		}
	}
	w := blockWriter{}
	err = mergeTerms(segs, remap, func(term string, df int, data []byte) error {
		w.add(term, df, data)
		for _, b := range w.blocks {
			if err := emit(b); err != nil {
				return err
			}
		}
		w.blocks = w.blocks[:0]
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	w.flush()
	for _, b := range w.blocks {
		if err := emit(b); err != nil {
			return nil, nil, err
		}
	}
	return ids, lens, nil
}

// cursor walks the entries of one segment.
type cursor struct {
	seg   int
	next  func() (Block, bool)
	block []byte
	term  string
	p     postings
}

func (c *cursor) advance() bool {
	for len(c.block) == 0 {
		b, ok := c.next()
		if !ok {
			return false
		}
		c.block = b.Data
	}
	name, p, rest, ok := entry(c.block)
	if !ok {
		c.block = nil
		return c.advance()
	}
	c.term, c.p, c.block = string(name), p, rest
	return true
}

func mergeTerms(segs []Scanner, remap [][]int32, emit func(string, int, []byte) error) error {
	var cs []*cursor
	for i, s := range segs {
		next, stop := pullBlocks(s)
		defer stop()
		c := &cursor{seg: i, next: next}
		if c.advance() {
			cs = append(cs, c)
		}
	}
	var buf []byte
	for len(cs) > 0 {
		slices.SortFunc(cs, func(a, b *cursor) int {
			if n := cmp.Compare(a.term, b.term); n != 0 {
				return n
			}
			return a.seg - b.seg
		})
		term := cs[0].term
		buf = buf[:0]
		df, last := 0, int32(-1)
		live := cs[:0]
		for i, c := range cs {
			if c.term != term {
				live = append(live, cs[i:]...)
				break
			}
			ord := -1
			for data := c.p.data; len(data) > 0; {
				var delta, tf int
				delta, tf, data = next(data)
				ord += delta
				if delta <= 0 || ord >= len(remap[c.seg]) {
					break
				}
				if to := remap[c.seg][ord]; to >= 0 {
					buf = appendPosting(buf, int(to-last), tf)
					last = to
					df++
				}
			}
			if c.advance() {
				live = append(live, c)
			}
		}
		cs = live
		if df > 0 {
			if err := emit(term, df, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// LastID is the highest id of a segment; 0 for an empty one.
func LastID(s Segment) uint32 {
	ids := s.IDs()
	if len(ids) == 0 {
		return 0
	}
	return binary.LittleEndian.Uint32(ids[len(ids)-4:])
}
