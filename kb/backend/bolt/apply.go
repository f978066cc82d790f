package bolt

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"

	"perch/kb/backend"
	"perch/kb/bm25"
)

// Apply changes the index in one transaction.
func (b *Backend) Apply(ctx context.Context, batch backend.Batch) error {
	if batch.Empty() {
		return ctx.Err()
	}
	var fresh []freshChunk
	err := b.update(ctx, func(tx *bbolt.Tx) error {
		fresh = fresh[:0]
		st, err := readState(tx)
		if err != nil {
			return err
		}
		w := writer{tx: tx, st: st, build: bm25.NewBuilder(), dead: map[uint64]map[int]bool{}}
		for _, p := range batch.Delete {
			if err := w.remove(p); err != nil {
				return err
			}
		}
		for i := range batch.Put {
			if err := w.put(&batch.Put[i], &fresh); err != nil {
				return err
			}
		}
		for _, t := range batch.Touch {
			if err := w.touch(t); err != nil {
				return err
			}
		}
		if err := w.problems(batch.Problems); err != nil {
			return err
		}
		if err := w.finish(); err != nil {
			return err
		}
		return writeState(tx, st)
	})
	if err != nil {
		return err
	}
	b.vec.added(b, fresh)
	return nil
}

// freshChunk is a chunk that the vectors in memory do not know yet.
type freshChunk struct {
	id   uint32
	hash backend.Hash
}

// writer is one transaction of Apply.
type writer struct {
	tx    *bbolt.Tx
	st    *state
	build *bm25.Builder
	dead  map[uint64]map[int]bool // segment → ordinals to mark
	segs  []*reader               // opened once
}

func (w *writer) remove(path string) error {
	docs := w.tx.Bucket(bDocs)
	key := pathKey(path)
	v := docs.Get(key)
	if v == nil {
		return nil
	}
	var d docRecord
	if err := json.Unmarshal(v, &d); err != nil {
		return fmt.Errorf("%w: the record of %s: %w", ErrDamaged, path, err)
	}
	if err := docs.Delete(key); err != nil {
		return err
	}
	if err := w.tx.Bucket(bPaths).Delete(be8(d.Number)); err != nil {
		return err
	}
	if w.segs == nil {
		w.segs = openSegments(w.tx, w.st)
	}
	chunks, hashes := w.tx.Bucket(bChunks), w.tx.Bucket(bHashes)
	for id := d.First; id < d.First+uint32(d.Chunks); id++ {
		if err := chunks.Delete(be4(id)); err != nil {
			return err
		}
		if err := hashes.Delete(be4(id)); err != nil {
			return err
		}
		for _, s := range w.segs {
			ord := bm25.Ordinal(s, id)
			if ord < 0 {
				continue
			}
			m := w.dead[s.number]
			if m == nil {
				m = map[int]bool{}
				w.dead[s.number] = m
			}
			if !m[ord] && !bm25.IsDead(s.Dead(), ord) {
				m[ord] = true
				w.st.Terms -= int(binary.LittleEndian.Uint16(s.Lens()[ord*2:]))
			}
			break
		}
	}
	w.st.Documents--
	w.st.Chunks -= d.Chunks
	w.st.Orphans += d.Chunks
	if w.st.Langs[d.Lang] -= d.Chunks; w.st.Langs[d.Lang] <= 0 {
		delete(w.st.Langs, d.Lang)
	}
	return nil
}

func (w *writer) put(e *backend.Entry, fresh *[]freshChunk) error {
	if err := w.remove(e.Path); err != nil {
		return err
	}
	d := docRecord{Document: e.Document, Number: w.st.NextDoc, First: w.st.NextChunk}
	d.Chunks = len(e.Parts)
	w.st.NextDoc++
	v, err := json.Marshal(&d)
	if err != nil {
		return err
	}
	if err := w.tx.Bucket(bDocs).Put(pathKey(e.Path), v); err != nil {
		return err
	}
	paths := w.tx.Bucket(bPaths)
	paths.FillPercent = appendFill
	if err := paths.Put(be8(d.Number), []byte(e.Path+"\x00"+e.Title)); err != nil {
		return err
	}
	chunks, hashes := w.tx.Bucket(bChunks), w.tx.Bucket(bHashes)
	chunks.FillPercent, hashes.FillPercent = appendFill, appendFill
	for i := range e.Parts {
		p := &e.Parts[i]
		id := w.st.NextChunk
		w.st.NextChunk++
		w.build.Add(id, p.Terms)
		w.st.Terms += min(len(p.Terms), 1<<16-1)
		if err := chunks.Put(be4(id), encodeChunk(d.Number, p)); err != nil {
			return err
		}
		h := backend.HashText(p.EmbedText())
		if err := hashes.Put(be4(id), h[:]); err != nil {
			return err
		}
		*fresh = append(*fresh, freshChunk{id, h})
	}
	w.st.Documents++
	w.st.Chunks += d.Chunks
	w.st.Langs[d.Lang] += d.Chunks
	return nil
}

// appendFill packs the pages of buckets whose keys only grow.
const appendFill = 0.95

func (w *writer) touch(t backend.Document) error {
	docs := w.tx.Bucket(bDocs)
	v := docs.Get(pathKey(t.Path))
	if v == nil {
		return nil
	}
	var d docRecord
	if err := json.Unmarshal(v, &d); err != nil {
		return fmt.Errorf("%w: the record of %s: %w", ErrDamaged, t.Path, err)
	}
	t.Chunks, t.Lang = d.Chunks, d.Lang
	d.Document = t
	v, err := json.Marshal(&d)
	if err != nil {
		return err
	}
	return docs.Put(pathKey(t.Path), v)
}

func (w *writer) problems(m map[string]string) error {
	b := w.tx.Bucket(bProblems)
	for p, why := range m {
		var err error
		if why == "" {
			err = b.Delete(pathKey(p))
		} else {
			err = b.Put(pathKey(p), []byte(why))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish writes the new segment and the bitmaps of the deleted.
func (w *writer) finish() error {
	segs := w.tx.Bucket(bSegs)
	for number, ords := range w.dead {
		s := segs.Bucket(be8(number))
		r := openSegment(s, number)
		dead := r.Dead()
		for ord := range ords {
			dead, _ = bm25.MarkDead(dead, bm25.Docs(r), ord)
		}
		if err := s.Put(kDead, dead); err != nil {
			return err
		}
	}
	if w.build.Docs() == 0 {
		return nil
	}
	number := w.st.NextSeg
	w.st.NextSeg++
	s, err := segs.CreateBucket(be8(number))
	if err != nil {
		return err
	}
	data := w.build.Finish()
	if err := putBlocks(s, data.Blocks); err != nil {
		return err
	}
	if err := s.Put(kIDs, data.IDs); err != nil {
		return err
	}
	if err := s.Put(kLens, data.Lens); err != nil {
		return err
	}
	w.st.Segs = append(w.st.Segs, number)
	return nil
}

// pathKey is the key of a path. Bolt's keys end at 32 kB; no file system's
// paths come near.
func pathKey(p string) []byte { return []byte(p) }

// encodeChunk writes the numbers, the heading and the compressed text.
func encodeChunk(doc uint64, p *backend.Part) []byte {
	b := binary.AppendUvarint(nil, doc)
	b = binary.AppendUvarint(b, uint64(p.StartLine))
	b = binary.AppendUvarint(b, uint64(p.EndLine-p.StartLine))
	b = binary.AppendUvarint(b, uint64(p.Page))
	b = binary.AppendUvarint(b, uint64(len(p.Heading)))
	b = append(b, p.Heading...)
	return packer().EncodeAll([]byte(p.Text), b)
}

// decodeChunk reads what encodeChunk wrote.
func decodeChunk(v []byte) (doc uint64, c backend.Chunk, err error) {
	var n [5]uint64
	for i := range n {
		x, k := binary.Uvarint(v)
		if k <= 0 {
			return 0, c, fmt.Errorf("%w: a chunk is cut short", ErrDamaged)
		}
		n[i], v = x, v[k:]
	}
	if n[4] > uint64(len(v)) {
		return 0, c, fmt.Errorf("%w: a chunk is cut short", ErrDamaged)
	}
	c.StartLine, c.EndLine, c.Page = int(n[1]), int(n[1]+n[2]), int(n[3])
	c.Heading = string(v[:n[4]])
	text, err := unpacker().DecodeAll(v[n[4]:], make([]byte, 0, 2048))
	if err != nil {
		return 0, c, fmt.Errorf("%w: the text of a chunk: %w", ErrDamaged, err)
	}
	c.Text = string(text)
	return n[0], c, nil
}

// Texts are compressed one by one, so that a search reads those it shows only.
// With entropy coding a passage of a kilobyte shrinks to 0.6 of itself and is
// read in some ten microseconds; faster codes without it left 0.8.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)
