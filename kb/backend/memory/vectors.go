package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"perch/kb/backend"
	"perch/kb/vector"
)

// Sets returns the names of the sets.
func (m *Backend) Sets(context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.sets)), nil
}

// Missing returns texts without a vector in the set.
func (m *Backend) Missing(_ context.Context, name string, limit int) ([]backend.Text, int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sets[name]
	var out []backend.Text
	seen := map[backend.Hash]bool{}
	for _, id := range slices.Sorted(maps.Keys(m.chunks)) {
		c := m.chunks[id]
		if seen[c.hash] {
			continue
		}
		if s != nil {
			if _, ok := s.slot[c.hash]; ok {
				continue
			}
		}
		seen[c.hash] = true
		if len(out) < limit {
			out = append(out, backend.Text{Hash: c.hash, Text: c.EmbedText()})
		}
	}
	return out, len(seen), nil
}

// PutVectors stores vectors.
func (m *Backend) PutVectors(_ context.Context, name string, vs []backend.Vector) error {
	_, dim, ok := backend.ParseSet(name)
	if !ok {
		return fmt.Errorf("%q names no set of vectors", name)
	}
	rows, err := backend.QuantizeAll(dim, vs)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sets[name]
	if s == nil {
		s = &set{dim: dim, slot: map[backend.Hash]int{}, mat: vector.NewMatrix(dim)}
		m.sets[name] = s
	}
	for i, v := range vs {
		n, ok := s.slot[v.Hash]
		if !ok {
			n = len(s.rows)
			s.slot[v.Hash] = n
			s.rows = append(s.rows, vector.Row{})
		}
		s.rows[n] = rows[i]
		s.mat.Set(n, rows[i])
	}
	return nil
}

// Nearest ranks by cosine.
func (m *Backend) Nearest(_ context.Context, name string, query []float32, k int) ([]backend.Hit, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sets[name]
	if s == nil || len(query) != s.dim {
		return nil, nil
	}
	q, err := vector.Unit(query)
	if err != nil {
		return nil, nil
	}
	chunks := map[int][]uint32{}
	for id, c := range m.chunks {
		if n, ok := s.slot[c.hash]; ok {
			chunks[n] = append(chunks[n], id)
		}
	}
	var hits []backend.Hit
	for _, c := range s.mat.Top(q, len(s.rows), 0) {
		cos := s.rows[c.Slot].Dot(q)
		for _, id := range chunks[c.Slot] {
			hits = append(hits, backend.Hit{ID: id, Score: cos})
		}
	}
	return backend.BestHits(hits, k), nil
}

// Counted counts chunks with a vector.
func (m *Backend) Counted(_ context.Context, name string) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sets[name]
	n := 0
	if s != nil {
		for _, c := range m.chunks {
			if _, ok := s.slot[c.hash]; ok {
				n++
			}
		}
	}
	return n, nil
}

// DropSet removes a set.
func (m *Backend) DropSet(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, name)
	return nil
}
