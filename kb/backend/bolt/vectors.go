package bolt

import (
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"perch/kb/backend"
	"perch/kb/vector"
)

// A set of vectors is a bucket: hash → slot, and blocks of rows by slot.
var (
	bSlots = []byte("slots")
	bRows  = []byte("rows")
	kCount = []byte("count") // slots in use, the freed included
	kFree  = []byte("free")  // freed slots, four bytes each
)

// blockRows is how many rows share a block: a block of 384 dimensions is some
// 200 kB, which loads at the disk's speed and is cheap enough to write again
// when a few rows are added.
const blockRows = 256

// Sets returns the names of the sets.
func (b *Backend) Sets(context.Context) ([]string, error) {
	var out []string
	err := b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bVectors).ForEachBucket(func(k []byte) error {
			out = append(out, string(k))
			return nil
		})
	})
	return out, err
}

// Missing returns texts without a vector in the set.
func (b *Backend) Missing(ctx context.Context, set string, limit int) ([]backend.Text, int, error) {
	var out []backend.Text
	seen := map[backend.Hash]bool{}
	err := b.view(func(tx *bbolt.Tx) error {
		var slots *bbolt.Bucket
		if s := tx.Bucket(bVectors).Bucket([]byte(set)); set != "" && s != nil {
			slots = s.Bucket(bSlots)
		}
		chunks := tx.Bucket(bChunks)
		c := tx.Bucket(bHashes).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if slots != nil && slots.Get(v) != nil {
				continue
			}
			h := backend.Hash(v)
			if seen[h] {
				continue
			}
			seen[h] = true
			if len(out) >= limit {
				continue
			}
			_, ch, err := decodeChunk(chunks.Get(k))
			if err != nil {
				return err
			}
			p := backend.Part{Text: ch.Text, Heading: ch.Heading}
			out = append(out, backend.Text{Hash: h, Text: p.EmbedText()})
		}
		return ctx.Err()
	})
	return out, len(seen), err
}

// Counted counts chunks with a vector.
func (b *Backend) Counted(_ context.Context, set string) (int, error) {
	n := 0
	err := b.view(func(tx *bbolt.Tx) error {
		s := tx.Bucket(bVectors).Bucket([]byte(set))
		if set == "" || s == nil {
			return nil
		}
		slots := s.Bucket(bSlots)
		c := tx.Bucket(bHashes).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if slots.Get(v) != nil {
				n++
			}
		}
		return nil
	})
	return n, err
}

// DropSet removes a set.
func (b *Backend) DropSet(ctx context.Context, set string) error {
	err := b.update(ctx, func(tx *bbolt.Tx) error {
		v := tx.Bucket(bVectors)
		if v.Bucket([]byte(set)) == nil {
			return nil
		}
		return v.DeleteBucket([]byte(set))
	})
	if err == nil {
		b.vec.forget(set)
	}
	return err
}

// PutVectors stores vectors.
func (b *Backend) PutVectors(ctx context.Context, set string, vs []backend.Vector) error {
	_, dim, ok := backend.ParseSet(set)
	if !ok {
		return fmt.Errorf("%q names no set of vectors", set)
	}
	rows, err := backend.QuantizeAll(dim, vs)
	if err != nil {
		return err
	}
	placed := make([]placedRow, len(vs))
	err = b.update(ctx, func(tx *bbolt.Tx) error {
		s, err := tx.Bucket(bVectors).CreateBucketIfNotExists([]byte(set))
		if err != nil {
			return err
		}
		slots, err := s.CreateBucketIfNotExists(bSlots)
		if err != nil {
			return err
		}
		blocks, err := s.CreateBucketIfNotExists(bRows)
		if err != nil {
			return err
		}
		a := allocator{count: slotCount(s), free: clone(s.Get(kFree))}
		w := blockRewriter{blocks: blocks, size: vector.RowBytes(dim), open: map[uint32][]byte{}}
		for i, v := range vs {
			slot, ok := slotOf(slots, v.Hash)
			if !ok {
				slot = a.take()
				if err := slots.Put(v.Hash[:], be4(slot)); err != nil {
					return err
				}
			}
			w.set(slot, rows[i])
			placed[i] = placedRow{hash: v.Hash, slot: slot, row: rows[i]}
		}
		if err := w.flush(); err != nil {
			return err
		}
		if err := s.Put(kCount, be4(a.count)); err != nil {
			return err
		}
		return s.Put(kFree, a.free)
	})
	if err != nil {
		return err
	}
	b.vec.placed(set, placed)
	return nil
}

type placedRow struct {
	hash backend.Hash
	slot uint32
	row  vector.Row
}

func slotCount(s *bbolt.Bucket) uint32 {
	if v := s.Get(kCount); len(v) == 4 {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func slotOf(slots *bbolt.Bucket, h backend.Hash) (uint32, bool) {
	v := slots.Get(h[:])
	if len(v) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(v), true
}

// allocator hands out slots, freed ones first.
type allocator struct {
	count uint32
	free  []byte
}

func (a *allocator) take() uint32 {
	if n := len(a.free); n >= 4 {
		slot := binary.BigEndian.Uint32(a.free[n-4:])
		a.free = a.free[:n-4]
		return slot
	}
	a.count++
	return a.count - 1
}

// blockRewriter changes rows in blocks and writes each block once.
type blockRewriter struct {
	blocks *bbolt.Bucket
	size   int
	open   map[uint32][]byte
}

func (w *blockRewriter) set(slot uint32, r vector.Row) {
	n := slot / blockRows
	b, ok := w.open[n]
	if !ok {
		b = make([]byte, blockRows*w.size)
		copy(b, w.blocks.Get(be4(n)))
		w.open[n] = b
	}
	at := int(slot%blockRows) * w.size
	r.Append(b[at : at : at+w.size])
}

func (w *blockRewriter) flush() error {
	for n, b := range w.open {
		if err := w.blocks.Put(be4(n), b); err != nil {
			return err
		}
	}
	return nil
}

// sweepShare of the vectors without a text makes a sweep worth its while.
const sweepShare = 0.1

// sweep frees the vectors of texts that are in no document any more. They are
// kept for a while, since a file that is moved or changed back needs them again.
func (b *Backend) sweep(ctx context.Context) (bool, error) {
	due := false
	live := map[backend.Hash]bool{}
	err := b.view(func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil || float64(st.Orphans) <= sweepShare*float64(st.Chunks+1) || st.Orphans < blockRows {
			return err
		}
		due = true
		return tx.Bucket(bHashes).ForEach(func(_, v []byte) error {
			live[backend.Hash(v)] = true
			return nil
		})
	})
	if err != nil || !due {
		return false, err
	}
	err = b.update(ctx, func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		// What was added since is alive as well.
		err = tx.Bucket(bHashes).ForEach(func(_, v []byte) error {
			live[backend.Hash(v)] = true
			return nil
		})
		if err != nil {
			return err
		}
		vs := tx.Bucket(bVectors)
		err = vs.ForEachBucket(func(name []byte) error { return sweepSet(vs.Bucket(name), live) })
		if err != nil {
			return err
		}
		st.Orphans = 0
		return writeState(tx, st)
	})
	if err == nil {
		b.vec.drop()
	}
	return false, err
}

func sweepSet(s *bbolt.Bucket, live map[backend.Hash]bool) error {
	slots := s.Bucket(bSlots)
	free := clone(s.Get(kFree))
	var dead [][]byte
	err := slots.ForEach(func(k, v []byte) error {
		if !live[backend.Hash(k)] {
			dead = append(dead, clone(k))
			free = append(free, v...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range dead {
		if err := slots.Delete(k); err != nil {
			return err
		}
	}
	return s.Put(kFree, free)
}
