package bm25

import (
	"encoding/binary"
	"slices"
)

// A Builder gathers documents into one segment.
type Builder struct {
	terms   map[string]int32
	lists   []list
	touched []int32
	ids     []byte
	lens    []byte
	docs    int
	bytes   int
}

type list struct {
	term string
	df   int
	last int // ordinal of the last document written, -1 before the first
	doc  int // ordinal of the document being counted
	tf   int
	data []byte
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder { return &Builder{terms: map[string]int32{}} }

// Docs is the number of documents so far, Bytes about what their postings need.
func (b *Builder) Docs() int { return b.docs }

// Bytes is about the size of the postings so far.
func (b *Builder) Bytes() int { return b.bytes }

// Add appends a document. Ids must ascend. Terms may repeat; their number is
// the document's length.
func (b *Builder) Add(id uint32, terms []string) {
	ord := b.docs
	b.docs++
	b.touched = b.touched[:0]
	for _, t := range terms {
		n, ok := b.terms[t]
		if !ok {
			n = int32(len(b.lists))
			t = string([]byte(t)) // the document's text must not be kept alive
			b.terms[t] = n
			b.lists = append(b.lists, list{term: t, last: -1, doc: -1})
			b.bytes += len(t) + 4
		}
		l := &b.lists[n]
		if l.doc == ord {
			l.tf++
			continue
		}
		l.doc, l.tf = ord, 1
		b.touched = append(b.touched, n)
	}
	for _, n := range b.touched {
		l := &b.lists[n]
		before := len(l.data)
		l.data = appendPosting(l.data, ord-l.last, l.tf)
		l.last = ord
		l.df++
		b.bytes += len(l.data) - before
	}
	b.ids = binary.LittleEndian.AppendUint32(b.ids, id)
	b.lens = binary.LittleEndian.AppendUint16(b.lens, uint16(min(len(terms), maxLen)))
}

// Finish returns the segment. The builder must not be used again.
func (b *Builder) Finish() *Data {
	slices.SortFunc(b.lists, func(x, y list) int {
		if x.term < y.term {
			return -1
		}
		if x.term > y.term {
			return 1
		}
		return 0
	})
	var w blockWriter
	for i := range b.lists {
		l := &b.lists[i]
		w.add(l.term, l.df, l.data)
	}
	w.flush()
	return &Data{Blocks: w.blocks, IDs: b.ids, Lens: b.lens}
}
