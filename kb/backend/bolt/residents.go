package bolt

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"perch/kb/backend"
	"perch/kb/vector"
)

// residents are the sets of vectors held in memory for searching.
type residents struct {
	mu   sync.RWMutex
	sets map[string]*resident
}

// resident is one set in memory.
type resident struct {
	mat    *vector.Matrix
	dim    int
	slots  map[backend.Hash]uint32   // only of texts that the documents hold
	chunks map[uint32][]uint32       // slot → further chunks of the same text
	first  []uint32                  // slot → its first chunk, 0 for none
	wait   map[backend.Hash][]uint32 // chunks whose text has no vector yet
}

// rescored is how many candidates of the coarse scan are computed again, for
// each hit wanted. Half as many gave the same first ten in every measurement.
const rescored = 2

// Nearest ranks by cosine. Chunks that were deleted since the set was loaded are
// left out here, by looking whether they still exist.
func (b *Backend) Nearest(ctx context.Context, set string, query []float32, k int) ([]backend.Hit, error) {
	_, dim, ok := backend.ParseSet(set)
	if !ok || len(query) != dim || k <= 0 {
		return nil, nil
	}
	q, err := vector.Unit(query)
	if err != nil {
		return nil, nil
	}
	r, err := b.vec.get(ctx, b, set, dim)
	if err != nil || r == nil {
		return nil, err
	}
	b.vec.mu.RLock()
	cands := r.mat.Top(q, k*rescored, 0)
	ids := make([][]uint32, len(cands))
	for i, c := range cands {
		if c.Slot < len(r.first) && r.first[c.Slot] != 0 {
			ids[i] = append([]uint32{r.first[c.Slot]}, r.chunks[uint32(c.Slot)]...)
		}
	}
	b.vec.mu.RUnlock()
	var hits []backend.Hit
	err = b.view(func(tx *bbolt.Tx) error {
		s := tx.Bucket(bVectors).Bucket([]byte(set))
		if s == nil {
			return nil
		}
		rows, chunks := s.Bucket(bRows), tx.Bucket(bChunks)
		for i, c := range cands {
			block := rows.Get(be4(uint32(c.Slot) / blockRows))
			at := c.Slot % blockRows * vector.RowBytes(dim)
			if at > len(block) {
				continue
			}
			row, ok := vector.Decode(block[at:], dim)
			if !ok {
				continue
			}
			cos := row.Dot(q)
			for _, id := range ids[i] {
				if chunks.Get(be4(id)) != nil {
					hits = append(hits, backend.Hit{ID: id, Score: cos})
				}
			}
		}
		return nil
	})
	return backend.BestHits(hits, k), err
}

// get returns the set, loading it when needed; nil when there is no such set.
func (v *residents) get(ctx context.Context, b *Backend, set string, dim int) (*resident, error) {
	v.mu.RLock()
	r := v.sets[set]
	v.mu.RUnlock()
	if r != nil {
		return r, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.sets[set]; r != nil {
		return r, nil
	}
	r, err := load(ctx, b, set, dim)
	if err != nil || r == nil {
		return nil, err
	}
	if v.sets == nil {
		v.sets = map[string]*resident{}
	}
	v.sets[set] = r
	return r, nil
}

func load(ctx context.Context, b *Backend, set string, dim int) (*resident, error) {
	var r *resident
	err := b.view(func(tx *bbolt.Tx) error {
		s := tx.Bucket(bVectors).Bucket([]byte(set))
		if s == nil {
			return nil
		}
		n := int(slotCount(s))
		r = &resident{
			mat: vector.NewMatrix(dim), dim: dim, slots: make(map[backend.Hash]uint32, n),
			chunks: map[uint32][]uint32{}, wait: map[backend.Hash][]uint32{}, first: make([]uint32, n),
		}
		r.mat.Grow(n)
		used := make([]bool, n)
		err := s.Bucket(bSlots).ForEach(func(k, v []byte) error {
			slot := binary.BigEndian.Uint32(v)
			if int(slot) < n {
				r.slots[backend.Hash(k)] = slot
				used[slot] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		size := vector.RowBytes(dim)
		err = s.Bucket(bRows).ForEach(func(k, v []byte) error {
			base := int(binary.BigEndian.Uint32(k)) * blockRows
			for i := 0; i < blockRows && base+i < n; i++ {
				if used[base+i] && (i+1)*size <= len(v) {
					r.mat.SetEncoded(base+i, v[i*size:])
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		return tx.Bucket(bHashes).ForEach(func(k, v []byte) error {
			r.add(binary.BigEndian.Uint32(k), backend.Hash(v))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// add ties a chunk to the vector of its text.
func (r *resident) add(id uint32, h backend.Hash) {
	slot, ok := r.slots[h]
	if !ok {
		r.wait[h] = append(r.wait[h], id)
		return
	}
	for int(slot) >= len(r.first) {
		r.first = append(r.first, 0)
	}
	switch {
	case r.first[slot] == 0:
		r.first[slot] = id
		return
	case r.first[slot] == id, slices.Contains(r.chunks[slot], id):
		return // committed before the set was loaded, announced after
	}
	r.chunks[slot] = append(r.chunks[slot], id)
}

// added tells the loaded sets of new chunks.
func (v *residents) added(_ *Backend, fresh []freshChunk) {
	if len(fresh) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.sets {
		for _, f := range fresh {
			r.add(f.id, f.hash)
		}
	}
}

// placed tells a loaded set of new vectors.
func (v *residents) placed(set string, rows []placedRow) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.sets[set]
	if r == nil {
		return
	}
	for _, p := range rows {
		r.mat.Set(int(p.slot), p.row)
		r.slots[p.hash] = p.slot
		ids := r.wait[p.hash]
		delete(r.wait, p.hash)
		for _, id := range ids {
			r.add(id, p.hash)
		}
	}
}

func (v *residents) forget(set string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.sets, set)
}

func (v *residents) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sets = nil
}

// Release drops the vectors from memory and lets go of the mapped pages that
// loading them had touched.
func (b *Backend) Release() {
	b.vec.drop()
	b.handle.RLock()
	defer b.handle.RUnlock()
	releasePages(b.db)
}

// Resident is how many bytes of vectors are in memory.
func (b *Backend) Resident() int {
	b.vec.mu.RLock()
	defer b.vec.mu.RUnlock()
	n := 0
	for _, r := range b.vec.sets {
		n += r.mat.Bytes()
	}
	return n
}
