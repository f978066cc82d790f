package bm25

import "sort"

// Mem is a segment in memory.
type Mem struct {
	Data
	DeadBits []byte
}

// IDs returns the ids.
func (m *Mem) IDs() []byte { return m.Data.IDs }

// Lens returns the lengths.
func (m *Mem) Lens() []byte { return m.Data.Lens }

// Dead returns the bitmap of the deleted.
func (m *Mem) Dead() []byte { return m.DeadBits }

// Block finds the block that may hold term.
func (m *Mem) Block(term string) []byte {
	i := sort.Search(len(m.Blocks), func(i int) bool { return m.Blocks[i].First > term })
	if i == 0 {
		return nil
	}
	return m.Blocks[i-1].Data
}

// Each calls f for each block in order.
func (m *Mem) Each(f func(b Block) bool) {
	for _, b := range m.Blocks {
		if !f(b) {
			return
		}
	}
}
