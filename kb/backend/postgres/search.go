package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"perch/kb/backend"
	"perch/kb/bm25"
	"perch/kb/segment"
)

// maxCandidates is about how many chunks are ranked for one query: those of its
// rarest terms, until the next would pass the bound.
const maxCandidates = 20_000

// Keywords ranks by BM25: the GIN index finds the chunks of the rarest terms,
// and the counts in their tsvectors give the scores.
func (b *Backend) Keywords(ctx context.Context, groups []segment.Group, k int) ([]backend.Hit, error) {
	var docs, length float64
	if err := b.pool.QueryRow(ctx, "SELECT count(*), coalesce(sum(length), 0)::float8 FROM perch_chunks").Scan(&docs, &length); err != nil {
		return nil, classed(err)
	}
	if docs == 0 || len(groups) == 0 {
		return nil, nil
	}
	df, err := b.frequencies(ctx, groups)
	if err != nil {
		return nil, err
	}
	type ranked struct {
		idf float64
		df  int
		vs  []string
	}
	var rs []ranked
	sum := 0.0
	for _, g := range groups {
		r := ranked{}
		for _, v := range g.Variants {
			if n := df[v]; n > 0 {
				r.df += n
				r.vs = append(r.vs, v)
			}
		}
		n := math.Min(float64(r.df), docs)
		r.idf = g.Weight * math.Log(1+(docs-n+0.5)/(n+0.5))
		sum += r.idf
		if r.df > 0 {
			rs = append(rs, r)
		}
	}
	if len(rs) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(rs, func(a, b ranked) int { return cmp.Compare(a.df, b.df) })
	weight := map[string]float64{}
	var terms, find []string
	seen := 0
	for i, r := range rs {
		if i == 0 || seen+r.df <= maxCandidates {
			seen += r.df
			for _, v := range r.vs {
				find = append(find, quoteLexeme(v))
			}
		}
		for _, v := range r.vs {
			weight[v] = r.idf / sum
			terms = append(terms, v)
		}
	}
	rows, err := b.pool.Query(ctx, `SELECT c.id, c.length, u.lexeme, cardinality(u.positions)
		FROM perch_chunks c, unnest(c.terms) u WHERE c.terms @@ $1::text::tsquery AND u.lexeme = ANY($2)`, strings.Join(find, " | "), terms)
	if err != nil {
		return nil, classed(err)
	}
	scores := map[uint32]float64{}
	var id int64
	var n, tf int
	var term string
	avg := math.Max(length/docs, 1)
	_, err = pgx.ForEachRow(rows, []any{&id, &n, &term, &tf}, func() error {
		f := float64(tf)
		scores[uint32(id)] += weight[term] * (bm25.K1 + 1) * f / (f + bm25.K1*(1-bm25.B+bm25.B*float64(n)/avg))
		return nil
	})
	if err != nil {
		return nil, classed(err)
	}
	hits := make([]backend.Hit, 0, len(scores))
	for id, s := range scores {
		hits = append(hits, backend.Hit{ID: id, Score: s})
	}
	return backend.BestHits(hits, k), nil
}

func (b *Backend) frequencies(ctx context.Context, groups []segment.Group) (map[string]int, error) {
	var all []string
	for _, g := range groups {
		for _, v := range g.Variants {
			all = append(all, clean(v))
		}
	}
	rows, err := b.pool.Query(ctx, "SELECT term, df FROM perch_terms WHERE term = ANY($1)", all)
	if err != nil {
		return nil, classed(err)
	}
	df := map[string]int{}
	var term string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&term, &n}, func() error { df[term] = n; return nil })
	return df, classed(err)
}

// Sets returns the names of the sets.
func (b *Backend) Sets(ctx context.Context) ([]string, error) {
	rows, err := b.pool.Query(ctx, "SELECT name FROM perch_sets ORDER BY 1")
	if err != nil {
		return nil, classed(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return out, classed(err)
}

// table returns the table of a set, "" when there is none.
func (b *Backend) table(ctx context.Context, set string) (string, error) {
	b.mu.Lock()
	t := b.rel[set]
	b.mu.Unlock()
	if t != "" {
		return t, nil
	}
	rows, err := b.pool.Query(ctx, "SELECT relation FROM perch_sets WHERE name = $1", set)
	if err != nil {
		return "", classed(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		return "", classed(err)
	}
	b.mu.Lock()
	b.rel[set] = names[0]
	b.mu.Unlock()
	return names[0], nil
}

// makeTable makes the table of a set, named by a hash of the set's name.
func (b *Backend) makeTable(ctx context.Context, set string, dim int) (string, error) {
	t, err := b.table(ctx, set)
	if t != "" || err != nil {
		return t, err
	}
	h := backend.HashText(set)
	t = fmt.Sprintf("perch_vectors_%x", h[:8])
	err = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (hash bytea PRIMARY KEY, v vector(%d) NOT NULL)", t, dim)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO perch_sets VALUES ($1, $2) ON CONFLICT DO NOTHING", set, t)
		return err
	})
	return t, classed(err)
}

// Missing returns texts without a vector in the set. A server without vectors
// wants none.
func (b *Backend) Missing(ctx context.Context, set string, limit int) ([]backend.Text, int, error) {
	if !b.vectors {
		return nil, 0, nil
	}
	without := ""
	if set != "" {
		t, err := b.table(ctx, set)
		if err != nil {
			return nil, 0, err
		}
		if t != "" {
			without = "WHERE NOT EXISTS (SELECT 1 FROM " + t + " v WHERE v.hash = c.hash)"
		}
	}
	var total int
	if err := b.pool.QueryRow(ctx, "SELECT count(DISTINCT hash) FROM perch_chunks c "+without).Scan(&total); err != nil {
		return nil, 0, classed(err)
	}
	rows, err := b.pool.Query(ctx, "SELECT hash, heading, body FROM (SELECT DISTINCT ON (hash) id, hash, heading, body FROM perch_chunks c "+without+" ORDER BY hash, id) x ORDER BY id LIMIT "+strconv.Itoa(limit))
	if err != nil {
		return nil, 0, classed(err)
	}
	var out []backend.Text
	var hash []byte
	var p backend.Part
	_, err = pgx.ForEachRow(rows, []any{&hash, &p.Heading, &p.Text}, func() error {
		out = append(out, backend.Text{Hash: backend.Hash(hash), Text: p.EmbedText()})
		return nil
	})
	return out, total, classed(err)
}

// PutVectors stores vectors.
func (b *Backend) PutVectors(ctx context.Context, set string, vs []backend.Vector) error {
	_, dim, ok := backend.ParseSet(set)
	if !ok {
		return fmt.Errorf("%q names no set of vectors", set)
	}
	if _, err := backend.QuantizeAll(dim, vs); err != nil { // the dimensions
		return err
	}
	t, err := b.makeTable(ctx, set, dim)
	if err != nil {
		return err
	}
	return classed(pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		for _, v := range vs {
			if _, err := tx.Exec(ctx, "INSERT INTO "+t+" VALUES ($1, $2::text::vector) ON CONFLICT (hash) DO UPDATE SET v = excluded.v", v.Hash[:], literal(v.Values)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// literal writes a vector as pgvector reads it.
func literal(v []float32) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			x = 0
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// Nearest ranks by cosine, exactly: pgvector scans where there is no index.
func (b *Backend) Nearest(ctx context.Context, set string, query []float32, k int) ([]backend.Hit, error) {
	_, dim, ok := backend.ParseSet(set)
	if !ok || len(query) != dim || k <= 0 {
		return nil, nil
	}
	t, err := b.table(ctx, set)
	if err != nil || t == "" {
		return nil, err
	}
	rows, err := b.pool.Query(ctx, "SELECT c.id, 1 - (v.v <=> $1::text::vector) AS cos FROM "+t+" v JOIN perch_chunks c ON c.hash = v.hash WHERE vector_norm(v.v) > 0 ORDER BY v.v <=> $1::text::vector, c.id LIMIT $2", literal(query), k)
	if err != nil {
		return nil, classed(err)
	}
	var hits []backend.Hit
	var id int64
	var cos float64
	_, err = pgx.ForEachRow(rows, []any{&id, &cos}, func() error {
		hits = append(hits, backend.Hit{ID: uint32(id), Score: cos})
		return nil
	})
	return hits, classed(err)
}

// Counted counts chunks with a vector.
func (b *Backend) Counted(ctx context.Context, set string) (int, error) {
	t, err := b.table(ctx, set)
	if err != nil || t == "" {
		return 0, err
	}
	n := 0
	err = b.pool.QueryRow(ctx, "SELECT count(*) FROM perch_chunks c JOIN "+t+" v ON v.hash = c.hash").Scan(&n)
	return n, classed(err)
}

// DropSet removes a set.
func (b *Backend) DropSet(ctx context.Context, set string) error {
	t, err := b.table(ctx, set)
	if err != nil || t == "" {
		return err
	}
	b.mu.Lock()
	delete(b.rel, set)
	b.mu.Unlock()
	return classed(pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+t); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM perch_sets WHERE name = $1", set)
		return err
	}))
}
