package bolt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"perch/kb/backend"
	"perch/kb/bm25"
	"perch/kb/segment"
)

// Document returns the document of a path.
func (b *Backend) Document(_ context.Context, path string) (backend.Document, bool, error) {
	var d docRecord
	found := false
	err := b.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bDocs).Get(pathKey(path))
		if v == nil {
			return nil
		}
		found = true
		return json.Unmarshal(v, &d)
	})
	return d.Document, found, err
}

// documentPage is how many documents one read transaction takes, since a long
// one keeps Bolt from reusing pages.
const documentPage = 1000

// Documents walks the documents in order of path.
func (b *Backend) Documents(ctx context.Context, f func(backend.Document) bool) error {
	var after []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var page []backend.Document
		err := b.view(func(tx *bbolt.Tx) error {
			c := tx.Bucket(bDocs).Cursor()
			var k, v []byte
			if after == nil {
				k, v = c.First()
			} else if k, v = c.Seek(after); bytes.Equal(k, after) {
				k, v = c.Next()
			}
			for ; k != nil && len(page) < documentPage; k, v = c.Next() {
				var d docRecord
				if err := json.Unmarshal(v, &d); err != nil {
					return fmt.Errorf("%w: the record of %s: %w", ErrDamaged, k, err)
				}
				page = append(page, d.Document)
				after = append(after[:0], k...)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, d := range page {
			if !f(d) {
				return nil
			}
		}
		if len(page) < documentPage {
			return nil
		}
	}
}

// Chunks returns chunks by id.
func (b *Backend) Chunks(_ context.Context, ids []uint32) ([]backend.Chunk, error) {
	out := make([]backend.Chunk, 0, len(ids))
	err := b.view(func(tx *bbolt.Tx) error {
		chunks, paths := tx.Bucket(bChunks), tx.Bucket(bPaths)
		titles := map[uint64][2]string{}
		for _, id := range ids {
			v := chunks.Get(be4(id))
			if v == nil {
				continue
			}
			number, c, err := decodeChunk(v)
			if err != nil {
				return err
			}
			names, ok := titles[number]
			if !ok {
				path, title, _ := strings.Cut(string(paths.Get(be8(number))), "\x00")
				names = [2]string{path, title}
				titles[number] = names
			}
			c.ID, c.Path, c.Title = id, names[0], names[1]
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// Stats counts documents and chunks.
func (b *Backend) Stats(context.Context) (backend.Stats, error) {
	var s backend.Stats
	err := b.view(func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		s = backend.Stats{Documents: st.Documents, Chunks: st.Chunks, Langs: st.Langs}
		return nil
	})
	return s, err
}

// Problems returns the reasons why paths are not in the index.
func (b *Backend) Problems(context.Context) (map[string]string, error) {
	out := map[string]string{}
	err := b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bProblems).ForEach(func(k, v []byte) error {
			out[string(k)] = string(v)
			return nil
		})
	})
	return out, err
}

// Roots returns what was added, by path.
func (b *Backend) Roots(context.Context) ([]backend.Root, error) {
	var out []backend.Root
	err := b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bRoots).ForEach(func(k, v []byte) error {
			var r backend.Root
			if err := json.Unmarshal(v, &r); err != nil {
				return fmt.Errorf("%w: the record of folder %s: %w", ErrDamaged, k, err)
			}
			out = append(out, r)
			return nil
		})
	})
	return out, err
}

// PutRoot adds or updates a root.
func (b *Backend) PutRoot(ctx context.Context, r backend.Root) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.update(ctx, func(tx *bbolt.Tx) error { return tx.Bucket(bRoots).Put(pathKey(r.Path), v) })
}

// DeleteRoot forgets a root.
func (b *Backend) DeleteRoot(ctx context.Context, path string) error {
	return b.update(ctx, func(tx *bbolt.Tx) error { return tx.Bucket(bRoots).Delete(pathKey(path)) })
}

// Keywords ranks by BM25.
func (b *Backend) Keywords(_ context.Context, groups []segment.Group, k int) ([]backend.Hit, error) {
	var hits []backend.Hit
	err := b.view(func(tx *bbolt.Tx) error {
		st, err := readState(tx)
		if err != nil {
			return err
		}
		var segs []bm25.Segment
		for _, r := range openSegments(tx, st) {
			segs = append(segs, r)
		}
		hits = backend.RankKeywords(segs, bm25.Stats{Docs: st.Chunks, Terms: st.Terms}, groups, k)
		return nil
	})
	return hits, err
}

// Meta reads a fact.
func (b *Backend) Meta(_ context.Context, key string) (string, error) {
	var s string
	err := b.view(func(tx *bbolt.Tx) error {
		s = string(tx.Bucket(bFacts).Get([]byte(key)))
		return nil
	})
	return s, err
}

// SetMeta writes a fact.
func (b *Backend) SetMeta(ctx context.Context, key, value string) error {
	return b.update(ctx, func(tx *bbolt.Tx) error { return tx.Bucket(bFacts).Put([]byte(key), []byte(value)) })
}
