package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"perch/kb/bm25"
)

var (
	kIDs    = []byte("ids")
	kLens   = []byte("lens")
	kDead   = []byte("dead")
	bBlocks = []byte("blocks")
)

// reader is a segment inside a transaction.
type reader struct {
	number uint64
	bucket *bbolt.Bucket
	blocks *bbolt.Bucket
	ids    []byte
	lens   []byte
	dead   []byte
}

func openSegment(s *bbolt.Bucket, number uint64) *reader {
	return &reader{number: number, bucket: s, blocks: s.Bucket(bBlocks), ids: s.Get(kIDs), lens: s.Get(kLens), dead: s.Get(kDead)}
}

func openSegments(tx *bbolt.Tx, st *state) []*reader {
	segs := tx.Bucket(bSegs)
	out := make([]*reader, 0, len(st.Segs))
	for _, n := range st.Segs {
		if s := segs.Bucket(be8(n)); s != nil {
			out = append(out, openSegment(s, n))
		}
	}
	return out
}

func (r *reader) IDs() []byte  { return r.ids }
func (r *reader) Lens() []byte { return r.lens }
func (r *reader) Dead() []byte { return r.dead }

// Block finds the block that may hold term.
func (r *reader) Block(term string) []byte {
	c := r.blocks.Cursor()
	k, v := c.Seek([]byte(term))
	switch {
	case k == nil:
		_, v = c.Last()
	case string(k) > term:
		_, v = c.Prev()
	}
	return v
}

func putBlocks(s *bbolt.Bucket, blocks []bm25.Block) error {
	b, err := s.CreateBucketIfNotExists(bBlocks)
	if err != nil {
		return err
	}
	b.FillPercent = appendFill
	for _, bl := range blocks {
		if err := b.Put([]byte(bl.First), bl.Data); err != nil {
			return err
		}
	}
	return nil
}

// stable is a segment that can be read over many transactions: what it holds
// never changes, and only a merge, of which there is one at a time, removes it.
type stable struct {
	b      *Backend
	number uint64
	ids    []byte
	lens   []byte
	dead   []byte
}

func (s *stable) IDs() []byte         { return s.ids }
func (s *stable) Lens() []byte        { return s.lens }
func (s *stable) Dead() []byte        { return s.dead }
func (s *stable) Block(string) []byte { return nil } // merging walks, it never looks up

// readBytes is how much one read transaction of a merge copies.
const readBytes = 1 << 20

// Each walks the blocks, some at a time.
func (s *stable) Each(f func(bm25.Block) bool) {
	var after []byte
	for {
		var page []bm25.Block
		size := 0
		err := s.b.view(func(tx *bbolt.Tx) error {
			b := tx.Bucket(bSegs).Bucket(be8(s.number)).Bucket(bBlocks)
			c := b.Cursor()
			var k, v []byte
			if after == nil {
				k, v = c.First()
			} else if k, v = c.Seek(after); k != nil && string(k) == string(after) {
				k, v = c.Next()
			}
			for ; k != nil && size < readBytes; k, v = c.Next() {
				page = append(page, bm25.Block{First: string(k), Data: append([]byte(nil), v...)})
				size += len(v)
				after = append(after[:0], k...)
			}
			return nil
		})
		if err != nil || len(page) == 0 {
			return
		}
		for _, bl := range page {
			if !f(bl) {
				return
			}
		}
	}
}

// writeBytes is how much of a merge one transaction writes. At some 100 MB a
// second it keeps other writers waiting for a few hundredths of a second.
const writeBytes = 2 << 20

// Maintain does one merge, or one sweep of the vectors.
func (b *Backend) Maintain(ctx context.Context) (bool, error) {
	b.maintain.Lock()
	defer b.maintain.Unlock()
	old, number, err := b.planMerge(ctx)
	if err != nil {
		return false, err
	}
	if len(old) == 0 {
		if more, err := b.sweep(ctx); more || err != nil {
			return more, err
		}
		return false, b.compactWhenQuiet(ctx)
	}
	return true, b.merge(ctx, old, number)
}

// planMerge chooses segments and gives the merged one its number.
func (b *Backend) planMerge(ctx context.Context) (old []*stable, number uint64, err error) {
	var from, to int
	var ok bool
	err = b.view(func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		segs := openSegments(tx, st)
		sizes := make([]bm25.Size, len(segs))
		for i, s := range segs {
			live, _ := bm25.Totals(s)
			sizes[i] = bm25.Size{Docs: bm25.Docs(s), Dead: bm25.Docs(s) - live}
		}
		if from, to, ok = bm25.Plan(sizes); !ok {
			return nil
		}
		for _, s := range segs[from:to] {
			old = append(old, &stable{
				b: b, number: s.number,
				ids: clone(s.ids), lens: clone(s.lens), dead: clone(s.dead),
			})
		}
		return nil
	})
	if err != nil || !ok {
		return nil, 0, err
	}
	err = b.update(ctx, func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		number = st.NextSeg
		st.NextSeg++
		return writeState(tx, st)
	})
	return old, number, err
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

func (b *Backend) merge(ctx context.Context, old []*stable, number uint64) error {
	var parts []bm25.Scanner
	for _, s := range old {
		parts = append(parts, s)
	}
	var pending []bm25.Block
	size := 0
	flush := func() error {
		err := b.update(ctx, func(tx *bbolt.Tx) error {
			s, err := tx.Bucket(bSegs).CreateBucketIfNotExists(be8(number))
			if err != nil {
				return err
			}
			return putBlocks(s, pending)
		})
		pending, size = pending[:0], 0
		return err
	}
	ids, lens, err := bm25.Merge(parts, func(bl bm25.Block) error {
		pending = append(pending, bl)
		if size += len(bl.Data); size >= writeBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		b.abandon(number)
		return err
	}
	return b.swap(ctx, old, number, &bm25.Mem{Data: bm25.Data{IDs: ids, Lens: lens}})
}

// abandon removes what an unfinished merge has written. If even that fails, the
// next start does it.
func (b *Backend) abandon(number uint64) {
	_ = b.write(func(tx *bbolt.Tx) error {
		if tx.Bucket(bSegs).Bucket(be8(number)) == nil {
			return nil
		}
		return tx.Bucket(bSegs).DeleteBucket(be8(number))
	})
}

// swap puts the merged segment into the place of the old ones. What was deleted
// while the merge ran is marked in the new one.
func (b *Backend) swap(ctx context.Context, old []*stable, number uint64, merged *bm25.Mem) error {
	return b.update(ctx, func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		segs := tx.Bucket(bSegs)
		var dead []byte
		for _, s := range old {
			now := segs.Bucket(be8(s.number)).Get(kDead)
			for ord := range bm25.Docs(s) {
				if !bm25.IsDead(now, ord) || bm25.IsDead(s.dead, ord) {
					continue
				}
				if at := bm25.Ordinal(merged, bm25.IDAt(s, ord)); at >= 0 {
					dead, _ = bm25.MarkDead(dead, bm25.Docs(merged), at)
				}
			}
		}
		gone := map[uint64]bool{}
		for _, s := range old {
			gone[s.number] = true
		}
		var list []uint64
		for _, n := range st.Segs {
			if !gone[n] {
				list = append(list, n)
				continue
			}
			if n == old[0].number && bm25.Docs(merged) > 0 {
				list = append(list, number)
			}
			if err := segs.DeleteBucket(be8(n)); err != nil {
				return err
			}
		}
		st.Segs = list
		s := segs.Bucket(be8(number))
		if bm25.Docs(merged) == 0 {
			if s != nil {
				if err := segs.DeleteBucket(be8(number)); err != nil {
					return err
				}
			}
			return writeState(tx, st)
		}
		if s.Bucket(bBlocks) == nil {
			if _, err := s.CreateBucket(bBlocks); err != nil {
				return err
			}
		}
		for k, v := range map[string][]byte{string(kIDs): merged.Data.IDs, string(kLens): merged.Data.Lens, string(kDead): dead} {
			if err := s.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return writeState(tx, st)
	})
}
