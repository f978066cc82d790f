package reference

import (
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/sugarme/tokenizer"
)

// bpe is a byte-pair model. Its symbols are kept as they are in the text: the
// printable stand-ins for bytes are undone when it is loaded.
type bpe struct {
	vocab  map[string]int32
	tokens map[int32]string
	merges map[[2]int32]merged
	bytes  [256]int32 // id of a byte alone, or of its fallback; -1 for none
	// fallback says that a character without a token becomes bytes; without it
	// every symbol is a byte from the start.
	byBytes      bool
	ignoreMerges bool
	space        string // what stands for a space
	unk          int32
	lengths      map[int32]int
	// joins holds every two neighbours of a token around the space symbol: a
	// long text may be cut where no token can reach across.
	joins map[[2]rune]bool
	cache map[string][]int32
}

type merged struct {
	rank int
	id   int32
}

// maxCache bounds the pieces remembered, so that long runs stay in memory.
const maxCache = 1 << 18

func newBPE(f *file, byBytes bool, space string) (*bpe, error) {
	m := &bpe{
		vocab: make(map[string]int32, len(f.Model.Vocab)), tokens: make(map[int32]string, len(f.Model.Vocab)),
		merges: make(map[[2]int32]merged, len(f.Model.Merges)), byBytes: byBytes, ignoreMerges: f.Model.IgnoreMerges,
		space: space, unk: -1, lengths: make(map[int32]int, len(f.Model.Vocab)), joins: make(map[[2]rune]bool), cache: make(map[string][]int32),
	}
	if f.Model.UnkToken != nil {
		if id, ok := f.Model.Vocab[*f.Model.UnkToken]; ok {
			m.unk = id
		}
	}
	unmap := byteRunes()
	for tok, id := range f.Model.Vocab {
		raw := tok
		if byBytes {
			var ok bool
			if raw, ok = undo(tok, unmap); !ok {
				continue // a special token
			}
		}
		m.vocab[raw], m.tokens[id] = id, raw
		m.lengths[id] = len(strings.ReplaceAll(raw, space, " "))
		if space != " " {
			m.noteJoins(raw)
		}
	}
	for b := range 256 {
		m.bytes[b] = -1
		key := fmt.Sprintf("<0x%02X>", b)
		if byBytes {
			key = string([]byte{byte(b)})
		}
		if id, ok := m.vocab[key]; ok {
			m.bytes[b] = id
			m.lengths[id] = 1
		}
	}
	for rank, pair := range f.Model.Merges {
		a, b := pair[0], pair[1]
		if byBytes {
			var okA, okB bool
			a, okA = undo(a, unmap)
			b, okB = undo(b, unmap)
			if !okA || !okB {
				return nil, fmt.Errorf("merge %q %q is not of the byte alphabet", pair[0], pair[1])
			}
		}
		ia, okA := m.vocab[a]
		ib, okB := m.vocab[b]
		id, ok := m.vocab[a+b]
		if !okA || !okB || !ok {
			continue // a merge that can never apply
		}
		if _, taken := m.merges[[2]int32{ia, ib}]; !taken {
			m.merges[[2]int32{ia, ib}] = merged{rank, id}
		}
	}
	return m, nil
}

func (m *bpe) noteJoins(tok string) {
	sp, _ := utf8.DecodeRuneInString(m.space)
	prev := rune(-1)
	for _, r := range tok {
		if prev >= 0 && r == sp {
			m.joins[[2]rune{prev, r}] = true
		}
		prev = r
	}
}

// byteRunes are the printable characters that GPT-2 wrote for bytes.
func byteRunes() map[rune]byte {
	out := make(map[rune]byte, 256)
	next := rune(256)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			out[rune(b)] = byte(b)
		} else {
			out[next] = byte(b)
			next++
		}
	}
	return out
}

func undo(tok string, unmap map[rune]byte) (string, bool) {
	out := make([]byte, 0, len(tok))
	for _, r := range tok {
		b, ok := unmap[r]
		if !ok {
			return "", false
		}
		out = append(out, b)
	}
	return string(out), true
}

// length is how many bytes of the text a token stands for.
func (m *bpe) length(id int) int { return m.lengths[int32(id)] }

// encode returns the ids of one piece.
func (m *bpe) encode(piece string) ([]int32, error) {
	if m.space == " " {
		return m.word(piece)
	}
	// Without a real split a piece is a whole text: cut it where no token reaches
	// across, so that parts can be remembered.
	s := strings.ReplaceAll(piece, " ", m.space)
	sp, _ := utf8.DecodeRuneInString(m.space)
	var ids []int32
	from, prev := 0, rune(-1)
	for i, r := range s {
		if r == sp && prev >= 0 && !m.joins[[2]rune{prev, r}] {
			part, err := m.word(s[from:i])
			if err != nil {
				return nil, err
			}
			ids, from = append(ids, part...), i
		}
		prev = r
	}
	part, err := m.word(s[from:])
	return append(ids, part...), err
}

func (m *bpe) word(s string) ([]int32, error) {
	if ids, ok := m.cache[s]; ok {
		return ids, nil
	}
	ids, err := m.merge(s)
	if err != nil {
		return nil, err
	}
	if len(m.cache) >= maxCache {
		clear(m.cache)
	}
	m.cache[strings.Clone(s)] = ids
	return ids, nil
}

// symbol is a node of the list of symbols of a piece.
type symbol struct {
	id         int32
	prev, next int
	dead       bool
}

// candidate is a merge that could be made at a place.
type candidate struct {
	rank, at int
	id       int32
}

type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].rank < q[j].rank || q[i].rank == q[j].rank && q[i].at < q[j].at
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// merge makes the merges of a piece by rank, the leftmost first among equals.
func (m *bpe) merge(s string) ([]int32, error) {
	if m.ignoreMerges {
		if id, ok := m.vocab[s]; ok {
			return []int32{id}, nil
		}
	}
	syms, err := m.symbols(s)
	if err != nil {
		return nil, err
	}
	var q queue
	push := func(at int) {
		if at < 0 || syms[at].next < 0 {
			return
		}
		if x, ok := m.merges[[2]int32{syms[at].id, syms[syms[at].next].id}]; ok {
			heap.Push(&q, candidate{x.rank, at, x.id})
		}
	}
	for i := range syms {
		push(i)
	}
	for len(q) > 0 {
		c := heap.Pop(&q).(candidate)
		a := &syms[c.at]
		if a.dead || a.next < 0 {
			continue
		}
		b := &syms[a.next]
		if x, ok := m.merges[[2]int32{a.id, b.id}]; !ok || x.id != c.id {
			continue // stale
		}
		a.id, b.dead = c.id, true
		a.next = b.next
		if b.next >= 0 {
			syms[b.next].prev = c.at
		}
		push(a.prev)
		push(c.at)
	}
	var ids []int32
	for i := 0; i >= 0 && i < len(syms); i = syms[i].next {
		ids = append(ids, syms[i].id)
	}
	return ids, nil
}

func (m *bpe) symbols(s string) ([]symbol, error) {
	var ids []int32
	add := func(b byte) error {
		if m.bytes[b] < 0 {
			return fmt.Errorf("the vocabulary has no token for the byte %#x", b)
		}
		ids = append(ids, m.bytes[b])
		return nil
	}
	for i, r := range s {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		if id, ok := m.vocab[s[i:i+n]]; ok && !m.byBytes {
			ids = append(ids, id)
			continue
		}
		for k := range n {
			if err := add(s[i+k]); err != nil {
				return nil, err
			}
		}
	}
	syms := make([]symbol, len(ids))
	for i, id := range ids {
		syms[i] = symbol{id: id, prev: i - 1, next: i + 1}
	}
	if len(syms) > 0 {
		syms[len(syms)-1].next = -1
	}
	return syms, nil
}

// Tokenize is the library's interface over encode.
func (m *bpe) Tokenize(piece string) ([]tokenizer.Token, error) {
	ids, err := m.encode(piece)
	if err != nil {
		return nil, err
	}
	out := make([]tokenizer.Token, len(ids))
	at := 0
	for i, id := range ids {
		n := m.lengths[id]
		out[i] = tokenizer.NewToken(int(id), m.tokens[id], []int{at, at + n})
		at += n
	}
	return out, nil
}

// TokenToId finds the id of a token.
func (m *bpe) TokenToId(token string) (int, bool) {
	id, ok := m.vocab[token]
	return int(id), ok
}

// IdToToken finds the token of an id.
func (m *bpe) IdToToken(id int) (string, bool) {
	t, ok := m.tokens[int32(id)]
	return t, ok
}

// GetVocab returns the vocabulary.
func (m *bpe) GetVocab() map[string]int {
	out := make(map[string]int, len(m.vocab))
	for t, id := range maps.All(m.vocab) {
		out[t] = int(id)
	}
	return out
}

// GetVocabSize is the number of tokens.
func (m *bpe) GetVocabSize() int { return len(m.vocab) }

// Save is not supported: calibration reads tokenizers only.
func (m *bpe) Save(string, ...string) error {
	return errors.New("a reference tokenizer cannot be saved")
}
