// Package memory keeps the index in memory, for tests and temporary use.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync"

	"perch/kb/backend"
	"perch/kb/bm25"
	"perch/kb/segment"
	"perch/kb/vector"
)

// Backend is an index in memory. The zero value is not usable; see [New].
type Backend struct {
	mu       sync.RWMutex
	docs     map[string]*document
	chunks   map[uint32]*chunk
	next     uint32
	segs     []*bm25.Mem
	docTerms bm25.Stats
	langs    map[segment.Lang]int
	problems map[string]string
	roots    map[string]backend.Root
	meta     map[string]string
	sets     map[string]*set
}

type document struct {
	backend.Document
	ids []uint32
}

type chunk struct {
	backend.Part
	path string
	hash backend.Hash
}

type set struct {
	dim  int
	slot map[backend.Hash]int
	rows []vector.Row
	mat  *vector.Matrix
}

// New returns an empty index.
func New() *Backend {
	return &Backend{
		docs: map[string]*document{}, chunks: map[uint32]*chunk{}, next: 1,
		langs: map[segment.Lang]int{}, problems: map[string]string{}, roots: map[string]backend.Root{},
		meta: map[string]string{}, sets: map[string]*set{},
	}
}

var _ backend.Backend = (*Backend)(nil)

// Apply changes the index.
func (m *Backend) Apply(ctx context.Context, b backend.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range b.Delete {
		m.remove(p)
	}
	build := bm25.NewBuilder()
	for i := range b.Put {
		e := &b.Put[i]
		m.remove(e.Path)
		d := &document{Document: e.Document}
		d.Chunks = len(e.Parts)
		for _, p := range e.Parts {
			id := m.next
			m.next++
			build.Add(id, p.Terms)
			h := backend.HashText(p.EmbedText())
			p.Terms = nil
			m.chunks[id] = &chunk{p, e.Path, h}
			d.ids = append(d.ids, id)
		}
		m.langs[d.Lang] += len(d.ids)
		m.docs[e.Path] = d
	}
	if build.Docs() > 0 {
		m.segs = append(m.segs, &bm25.Mem{Data: *build.Finish()})
	}
	for _, t := range b.Touch {
		if d, ok := m.docs[t.Path]; ok {
			t.Chunks, t.Lang = d.Chunks, d.Lang
			d.Document = t
		}
	}
	for p, why := range b.Problems {
		if why == "" {
			delete(m.problems, p)
		} else {
			m.problems[p] = why
		}
	}
	m.docTerms = bm25.Stat(m.readers())
	return nil
}

func (m *Backend) remove(path string) {
	d, ok := m.docs[path]
	if !ok {
		return
	}
	delete(m.docs, path)
	m.langs[d.Lang] -= len(d.ids)
	for _, id := range d.ids {
		delete(m.chunks, id)
		for _, s := range m.segs {
			if ord := bm25.Ordinal(s, id); ord >= 0 {
				s.DeadBits, _ = bm25.MarkDead(s.DeadBits, bm25.Docs(s), ord)
			}
		}
	}
}

func (m *Backend) readers() []bm25.Segment {
	out := make([]bm25.Segment, len(m.segs))
	for i, s := range m.segs {
		out[i] = s
	}
	return out
}

// Document returns the document of a path.
func (m *Backend) Document(_ context.Context, path string) (backend.Document, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	d, ok := m.docs[path]
	if !ok {
		return backend.Document{}, false, nil
	}
	return d.Document, true, nil
}

// Documents walks the documents in order of path.
func (m *Backend) Documents(_ context.Context, f func(backend.Document) bool) error {
	m.mu.RLock()
	var list []backend.Document
	for _, p := range slices.Sorted(maps.Keys(m.docs)) {
		list = append(list, m.docs[p].Document)
	}
	m.mu.RUnlock()
	for _, d := range list {
		if !f(d) {
			break
		}
	}
	return nil
}

// Chunks returns chunks by id.
func (m *Backend) Chunks(_ context.Context, ids []uint32) ([]backend.Chunk, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []backend.Chunk
	for _, id := range ids {
		c, ok := m.chunks[id]
		if !ok {
			continue
		}
		out = append(out, backend.Chunk{
			ID: id, Path: c.path, Title: m.docs[c.path].Title, Text: c.Text, Heading: c.Heading,
			StartLine: c.StartLine, EndLine: c.EndLine, Page: c.Page,
		})
	}
	return out, nil
}

// Stats counts documents and chunks.
func (m *Backend) Stats(context.Context) (backend.Stats, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := backend.Stats{Documents: len(m.docs), Chunks: len(m.chunks), Langs: map[segment.Lang]int{}}
	for l, n := range m.langs {
		if n > 0 {
			s.Langs[l] = n
		}
	}
	return s, nil
}

// Problems returns the reasons why paths are not in the index.
func (m *Backend) Problems(context.Context) (map[string]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.problems), nil
}

// Roots returns what was added, by path.
func (m *Backend) Roots(context.Context) ([]backend.Root, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []backend.Root
	for _, p := range slices.Sorted(maps.Keys(m.roots)) {
		out = append(out, m.roots[p])
	}
	return out, nil
}

// PutRoot adds or updates a root.
func (m *Backend) PutRoot(_ context.Context, r backend.Root) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roots[r.Path] = r
	return nil
}

// DeleteRoot forgets a root.
func (m *Backend) DeleteRoot(_ context.Context, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.roots, path)
	return nil
}

// Keywords ranks by BM25.
func (m *Backend) Keywords(_ context.Context, groups []segment.Group, k int) ([]backend.Hit, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return backend.RankKeywords(m.readers(), m.docTerms, groups, k), nil
}

// Meta reads a fact.
func (m *Backend) Meta(_ context.Context, key string) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.meta[key], nil
}

// SetMeta writes a fact.
func (m *Backend) SetMeta(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meta[key] = value
	return nil
}

// Maintain merges segments.
func (m *Backend) Maintain(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sizes := make([]bm25.Size, len(m.segs))
	for i, s := range m.segs {
		live, _ := bm25.Totals(s)
		sizes[i] = bm25.Size{Docs: bm25.Docs(s), Dead: bm25.Docs(s) - live}
	}
	from, to, ok := bm25.Plan(sizes)
	if !ok {
		return false, nil
	}
	merged := &bm25.Mem{}
	var parts []bm25.Scanner
	for _, s := range m.segs[from:to] {
		parts = append(parts, s)
	}
	var err error
	merged.Data.IDs, merged.Data.Lens, err = bm25.Merge(parts, func(b bm25.Block) error {
		merged.Blocks = append(merged.Blocks, b)
		return nil
	})
	if err != nil {
		return false, err
	}
	segs := slices.Clone(m.segs[:from])
	if bm25.Docs(merged) > 0 {
		segs = append(segs, merged)
	}
	m.segs = append(segs, m.segs[to:]...)
	return true, nil
}

// Release does nothing: there is nowhere else to keep what is in memory.
func (m *Backend) Release() {}

// Close does nothing.
func (m *Backend) Close() error { return nil }
