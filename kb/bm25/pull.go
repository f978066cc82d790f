package bm25

import "iter"

// pullBlocks turns a segment's walk into a cursor.
func pullBlocks(s Scanner) (func() (Block, bool), func()) {
	return iter.Pull(iter.Seq[Block](func(yield func(Block) bool) { s.Each(yield) }))
}
