package kb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"perch/chat"
	"perch/kb/backend"
	"perch/kb/fuse"
	"perch/kb/phrase"
	"perch/kb/segment"
)

const (
	// maxResults bounds what one search returns.
	maxResults = 50
	// maxQueryBytes is how much of a pasted text is searched for.
	maxQueryBytes = 64 << 10
	// embedTimeout bounds the wait for the query's vector; after it the keywords
	// answer alone.
	embedTimeout = 10 * time.Second
	// pairWeight and exactWeight lift candidates in which the query's words stand
	// side by side, or which hold it literally. The first is what gained most on
	// the collections that it was tried on (0.1–0.6); the second puts whatever
	// holds the string named before what only holds its words.
	pairWeight  = 0.3
	exactWeight = 2
	// rescored is how many candidates are looked at again. Reading a passage costs
	// some ten microseconds; looking at all sixty gained nothing on questions, and
	// .996 instead of .990 on short Chinese queries.
	rescored = 24
	// readAhead is how many candidates are read for each result wanted, since
	// those that overlap become one.
	readAhead = 3
)

// KBSearch searches for a query and returns the best k hits; k ≤ 0 takes the
// setting. Nothing in a query is an operator, and no query is an error.
func (b *Base) KBSearch(ctx context.Context, query string, k int) ([]chat.SearchHit, error) {
	return b.Search(ctx, query, k)
}

// Search is KBSearch.
func (b *Base) Search(ctx context.Context, query string, k int) ([]chat.SearchHit, error) {
	c := b.o.Config()
	if k <= 0 {
		k = c.Results
	}
	if k <= 0 {
		k = 8
	}
	query = clean(query)
	read := &reading{b: b, have: map[uint32]backend.Chunk{}}
	passes, err := b.passes(ctx, read, query, c.KeywordWeight, c.VectorWeight)
	if err != nil {
		return nil, err
	}
	return b.results(ctx, read, query, fuse.Fuse(passes...), c.Threshold, min(k, maxResults))
}

func clean(q string) string {
	q = strings.ToValidUTF8(q, " ")
	if len(q) > maxQueryBytes {
		q = strings.ToValidUTF8(q[:maxQueryBytes], "")
	}
	return strings.TrimSpace(q)
}

// passes runs both passes. Keywords stand in when vectors cannot run, whatever
// the weights are: a search that finds nothing for want of a server helps nobody.
func (b *Base) passes(ctx context.Context, read *reading, query string, keywordWeight, vectorWeight float64) ([]fuse.Pass, error) {
	if query == "" {
		return nil, nil
	}
	if keywordWeight < 0 {
		keywordWeight = 0
	}
	var ps []fuse.Pass
	vectors := false
	if vectorWeight > 0 {
		ids, ran, err := b.vectorPass(ctx, query)
		if err != nil {
			return nil, err
		}
		if vectors = ran; ran {
			ps = append(ps, fuse.Pass{Name: fuse.Vector, Weight: vectorWeight, IDs: ids})
		}
	}
	if keywordWeight == 0 && !vectors {
		keywordWeight = 1
	}
	if keywordWeight > 0 {
		ids, named, err := b.keywordPass(ctx, read, query)
		if err != nil {
			return nil, err
		}
		ps = append(ps, fuse.Pass{Name: fuse.Keyword, Weight: keywordWeight, IDs: ids})
		if named && len(ps) == 2 && ps[0].Weight > ps[1].Weight {
			// An exact string finds what it names: with the usual weights sixty
			// passages that are merely similar would stand before it.
			ps[0].Weight, ps[1].Weight = ps[1].Weight, ps[0].Weight
		}
	}
	return ps, nil
}

// keywordPass ranks by BM25 and looks at the candidates again for neighbours and
// exact strings. named says that some hold literally what the query names: all
// of it, a quoted part, or a word that is written as a name.
func (b *Base) keywordPass(ctx context.Context, read *reading, query string) (ids []uint32, named bool, err error) {
	stats, err := b.be.Stats(ctx)
	if err != nil || stats.Chunks == 0 {
		return nil, false, err
	}
	groups := segment.Query(query, languages(stats))
	hits, err := b.be.Keywords(ctx, groups, fuse.Pool)
	if err != nil {
		return nil, false, err
	}
	if m := phrase.New(query); !m.Empty() {
		if named, err = b.rescore(ctx, read, m, hits); err != nil {
			return nil, false, err
		}
	}
	ids = make([]uint32, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return ids, named, nil
}

// reading keeps the passages that one search has read.
type reading struct {
	b    *Base
	have map[uint32]backend.Chunk
}

// chunks is backend.Chunks, each read once.
func (r *reading) chunks(ctx context.Context, ids []uint32) ([]backend.Chunk, error) {
	var missing []uint32
	for _, id := range ids {
		if _, ok := r.have[id]; !ok {
			missing = append(missing, id)
		}
	}
	got, err := r.b.be.Chunks(ctx, missing)
	if err != nil {
		return nil, err
	}
	for _, c := range got {
		r.have[c.ID] = c
	}
	out := make([]backend.Chunk, 0, len(ids))
	for _, id := range ids {
		if c, ok := r.have[id]; ok {
			out = append(out, c)
		}
	}
	return out, nil
}

// languages of an index, the most frequent first.
func languages(s backend.Stats) []segment.Lang {
	var ls []segment.Lang
	for l := range s.Langs {
		ls = append(ls, l)
	}
	slices.SortFunc(ls, func(a, b segment.Lang) int {
		return cmp.Or(cmp.Compare(s.Langs[b], s.Langs[a]), cmp.Compare(a, b))
	})
	return ls
}

// rescore orders the hits anew by what they hold literally.
func (b *Base) rescore(ctx context.Context, read *reading, m *phrase.Matcher, hits []backend.Hit) (named bool, err error) {
	ids := make([]uint32, min(len(hits), rescored))
	at := make(map[uint32]int, len(ids))
	for i, h := range hits[:len(ids)] {
		ids[i], at[h.ID] = h.ID, i
	}
	chunks, err := read.chunks(ctx, ids)
	if err != nil {
		return false, err
	}
	for i := range chunks {
		pairs, exact, name := m.Score(chunks[i].Text)
		named = named || exact > 0 || name
		hits[at[chunks[i].ID]].Score *= 1 + pairWeight*pairs + exactWeight*exact
	}
	slices.SortStableFunc(hits, func(a, b backend.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return named, nil
}

// vectorPass ranks by cosine. ran is false when there is nothing to rank with:
// no model, no vectors yet, or a server that does not answer.
func (b *Base) vectorPass(ctx context.Context, query string) (ids []uint32, ran bool, err error) {
	set, err := b.activeSet(ctx)
	if err != nil || set == "" {
		return nil, false, err
	}
	e := b.queryEmbedder(set)
	if e == nil {
		return nil, false, nil
	}
	ectx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	v, err := e.Embed(ectx, []string{query})
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err == nil && len(v) != 1 {
		err = fmt.Errorf("the model returned %d vectors for one text", len(v))
	}
	if err != nil {
		b.notify(fmt.Sprintf("The embedding model %s does not answer, so search uses keywords only: %v", e.Model(), err))
		return nil, false, nil
	}
	if _, dim, _ := backend.ParseSet(set); len(v[0]) != dim {
		return nil, false, nil // the model is another one now; its set is being made
	}
	b.vectorsUsed()
	hits, err := b.be.Nearest(ctx, set, v[0], fuse.Pool)
	if err != nil {
		return nil, false, err
	}
	for _, h := range hits {
		if h.Score >= fuse.CosineFloor {
			ids = append(ids, h.ID)
		}
	}
	return ids, true, nil
}

// vectorsUsed starts the clock that releases the vectors, and the file's pages.
func (b *Base) vectorsUsed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return
	}
	if b.release == nil {
		b.release = time.AfterFunc(b.o.IdleRelease, b.be.Release)
		return
	}
	b.release.Reset(b.o.IdleRelease)
}

// results reads the candidates above the threshold, joins those that overlap
// and returns the best k.
func (b *Base) results(ctx context.Context, read *reading, query string, cands []fuse.Candidate, threshold float64, k int) ([]chat.SearchHit, error) {
	var ids []uint32
	byID := map[uint32]fuse.Candidate{}
	for _, c := range cands {
		if c.Score < threshold {
			break
		}
		ids = append(ids, c.ID)
		byID[c.ID] = c
	}
	chunks, err := read.chunks(ctx, ids[:min(len(ids), max(rescored, readAhead*k))])
	if err != nil {
		return nil, err
	}
	places := make([]fuse.Place, len(chunks))
	for i, c := range chunks {
		places[i] = fuse.Place{Document: c.Path, Start: c.StartLine, End: c.EndLine}
	}
	groups := fuse.Join(places)
	words := queryWords(query)
	var out []chat.SearchHit
	for _, g := range groups[:min(k, len(groups))] {
		best := chunks[g.Best]
		hit := chat.SearchHit{
			Source:  chat.Source{Title: title(&best), Path: best.Path, StartLine: g.Start, EndLine: g.End},
			Snippet: best.Text,
			Score:   byID[best.ID].Score,
			Terms:   matchedWords(words, best.Text+" "+best.Heading+" "+best.Title),
		}
		for _, i := range g.Members {
			for _, m := range byID[chunks[i].ID].Matched {
				if !slices.Contains(hit.Matched, m) {
					hit.Matched = append(hit.Matched, m)
				}
			}
		}
		slices.Sort(hit.Matched)
		out = append(out, hit)
	}
	return out, nil
}

// title names the document, the page and the headings of a passage.
func title(c *backend.Chunk) string {
	t := c.Title
	if c.Page > 0 {
		t = fmt.Sprintf("%s, page %d", t, c.Page)
	}
	if c.Heading != "" {
		t += " › " + c.Heading
	}
	return t
}

// queryWords are the words of a query as they are compared for display.
func queryWords(query string) []segment.Group {
	gs := segment.Query(query, []segment.Lang{segment.Detect(query)})
	if len(gs) > 64 {
		gs = gs[:64]
	}
	return gs
}

// matchedWords returns the words of the query that a text holds in any form.
func matchedWords(words []segment.Group, text string) []string {
	spaced := " " + segment.FoldWords(text)
	literal := ""
	var out []string
	for _, w := range words {
		if slices.Contains(out, w.Word) {
			continue
		}
		for _, v := range append(w.Variants, segment.Fold(w.Word)) {
			needle := v
			if isSpaced(v) {
				needle = " " + v
			}
			ok := strings.Contains(spaced, needle)
			if !ok && w.Name { // a name holds signs that separate words
				if literal == "" {
					literal = segment.Fold(text)
				}
				ok = strings.Contains(literal, v)
			}
			if ok {
				out = append(out, w.Word)
				break
			}
		}
	}
	return out
}

// isSpaced reports whether a term is of a script that separates words.
func isSpaced(v string) bool {
	r, _ := utf8.DecodeRuneInString(v)
	return r < 0x0e00 || unicode.Is(unicode.Devanagari, r)
}
