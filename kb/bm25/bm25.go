// Package bm25 is a keyword index of immutable segments, ranked by Okapi BM25
// (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).
//
// A [Builder] makes a segment of one batch of documents; [Merge] makes one of
// several and leaves out what was deleted. A segment is a list of blocks, each
// with some terms and their postings, beside two arrays: the ids of its
// documents and their lengths. Where the blocks live is the caller's business:
// [Search] reads them through [Segment], from memory or from a mapped file.
//
// Deleting sets a bit; document frequencies count the deleted until the next
// merge, as in every index of this kind.
package bm25

import (
	"encoding/binary"
)

// K1 and B are the parameters of the formula; the usual ones, which were also
// the best on the English and Chinese collections that they were tried on.
const (
	K1 = 1.2
	B  = 0.75
)

// blockBytes is where a block of terms is closed. Small enough to be read in
// passing, large enough that a store with 4 kB pages wastes little.
const blockBytes = 8 << 10

// maxLen is the largest document length that is told apart, in terms.
const maxLen = 1<<16 - 1

// A Segment is one immutable part of the index. Byte slices are read only, and
// valid as long as the store says.
type Segment interface {
	// IDs holds the ids of the documents, ascending, four bytes each (little
	// endian); a document's place in it is its ordinal in the postings.
	IDs() []byte
	// Lens holds their lengths in terms, two bytes each.
	Lens() []byte
	// Dead is a bitmap of deleted ordinals; it may be short or nil.
	Dead() []byte
	// Block returns the block with the greatest first term that is not after
	// term, or nil.
	Block(term string) []byte
}

// A Block is some terms with their postings. First is its first term.
type Block struct {
	First string
	Data  []byte
}

// Data is a segment as it is built.
type Data struct {
	Blocks []Block
	IDs    []byte
	Lens   []byte
}

// Docs is the number of documents of a segment.
func Docs(s Segment) int { return len(s.IDs()) / 4 }

// id returns the id at an ordinal.
func id(ids []byte, ord int) uint32 { return binary.LittleEndian.Uint32(ids[ord*4:]) }

func length(lens []byte, ord int) int { return int(binary.LittleEndian.Uint16(lens[ord*2:])) }

// IsDead reports whether the bitmap marks an ordinal.
func IsDead(dead []byte, ord int) bool {
	return ord>>3 < len(dead) && dead[ord>>3]&(1<<(ord&7)) != 0
}

// Ordinal returns the place of an id in a segment, or -1.
func Ordinal(s Segment, want uint32) int {
	ids := s.IDs()
	lo, hi := 0, len(ids)/4
	for lo < hi {
		mid := (lo + hi) / 2
		switch got := id(ids, mid); {
		case got == want:
			return mid
		case got < want:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return -1
}

// MarkDead returns the bitmap with one more bit set, growing it as needed. The
// input is not changed. fresh reports whether the bit was clear before.
func MarkDead(dead []byte, docs, ord int) (out []byte, fresh bool) {
	out = make([]byte, (docs+7)/8)
	copy(out, dead)
	bit := byte(1) << (ord & 7)
	fresh = out[ord>>3]&bit == 0
	out[ord>>3] |= bit
	return out, fresh
}

// Totals counts the living documents of a segment and their length in terms.
func Totals(s Segment) (docs, terms int) {
	lens, dead := s.Lens(), s.Dead()
	for ord := range Docs(s) {
		if !IsDead(dead, ord) {
			docs++
			terms += length(lens, ord)
		}
	}
	return docs, terms
}

// postings is the list of one term, or of none.
type postings struct {
	df   int
	data []byte
}

// find looks a term up in a segment.
func find(s Segment, term string) postings {
	b := s.Block(term)
	for len(b) > 0 {
		name, p, rest, ok := entry(b)
		if !ok || string(name) > term {
			return postings{}
		}
		if string(name) == term {
			return p
		}
		b = rest
	}
	return postings{}
}

// entry reads the first entry of a block: term length, term, document
// frequency, byte count, postings.
func entry(b []byte) (term []byte, p postings, rest []byte, ok bool) {
	n, k := binary.Uvarint(b)
	if k <= 0 || uint64(len(b)-k) < n {
		return nil, p, nil, false
	}
	term, b = b[k:k+int(n)], b[k+int(n):]
	df, k := binary.Uvarint(b)
	if k <= 0 {
		return nil, p, nil, false
	}
	b = b[k:]
	size, k := binary.Uvarint(b)
	if k <= 0 || uint64(len(b)-k) < size {
		return nil, p, nil, false
	}
	b = b[k:]
	return term, postings{int(df), b[:size]}, b[size:], true
}

// next reads one posting: the distance to the ordinal before, shifted by one,
// with the low bit set when the term occurs once; else the count follows.
func next(b []byte) (delta, tf int, rest []byte) {
	v := uint64(b[0])
	n := 1
	if v >= 0x80 {
		v, n = binary.Uvarint(b)
		if n <= 0 {
			return 0, 0, nil
		}
	}
	b = b[n:]
	if v&1 != 0 {
		return int(v >> 1), 1, b
	}
	t, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0, nil
	}
	return int(v >> 1), int(t), b[n:]
}

func appendPosting(b []byte, delta, tf int) []byte {
	if tf == 1 {
		return binary.AppendUvarint(b, uint64(delta)<<1|1)
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(delta)<<1), uint64(tf))
}

// blockWriter gathers entries in ascending order of their terms into blocks.
type blockWriter struct {
	blocks []Block
	first  string
	buf    []byte
}

func (w *blockWriter) add(term string, df int, data []byte) {
	if len(w.buf) > 0 && len(w.buf)+len(data) > blockBytes {
		w.flush()
	}
	if len(w.buf) == 0 {
		w.first = term
	}
	w.buf = binary.AppendUvarint(w.buf, uint64(len(term)))
	w.buf = append(w.buf, term...)
	w.buf = binary.AppendUvarint(w.buf, uint64(df))
	w.buf = binary.AppendUvarint(w.buf, uint64(len(data)))
	w.buf = append(w.buf, data...)
}

func (w *blockWriter) flush() {
	if len(w.buf) > 0 {
		w.blocks = append(w.blocks, Block{w.first, append([]byte(nil), w.buf...)})
		w.buf = w.buf[:0]
	}
}

// IDAt is the id at an ordinal.
func IDAt(s Segment, ord int) uint32 { return id(s.IDs(), ord) }
