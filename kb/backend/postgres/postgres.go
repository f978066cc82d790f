// Package postgres keeps the index in a PostgreSQL database, for collections
// that outgrow one machine or are shared by a team.
//
// Keywords go through full-text search: the terms that package segment makes are
// stored as a tsvector with a GIN index, which finds the candidates, and BM25
// ranks them with document frequencies kept beside. Vectors need the extension
// pgvector; a server without it works on keywords, and [Backend.Vectors] says so.
package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"perch/chat"
	"perch/kb/backend"
	"perch/kb/segment"
)

// connectTimeout bounds the first connection.
const connectTimeout = 10 * time.Second

// applyLock is the advisory lock that one writing transaction holds; others
// wait, so that counts stay right. The number is only a name.
const applyLock = 0x7065726368

const tables = `
CREATE TABLE IF NOT EXISTS perch_meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS perch_docs (path text PRIMARY KEY, number bigserial UNIQUE, record jsonb NOT NULL);
CREATE TABLE IF NOT EXISTS perch_chunks (id bigserial PRIMARY KEY, doc bigint NOT NULL, heading text NOT NULL, body text NOT NULL,
	first_line int NOT NULL, last_line int NOT NULL, page int NOT NULL, hash bytea NOT NULL, length int NOT NULL, lang text NOT NULL, terms tsvector NOT NULL);
CREATE INDEX IF NOT EXISTS perch_chunks_doc ON perch_chunks (doc);
CREATE INDEX IF NOT EXISTS perch_chunks_hash ON perch_chunks (hash);
CREATE INDEX IF NOT EXISTS perch_chunks_terms ON perch_chunks USING gin (terms);
CREATE TABLE IF NOT EXISTS perch_terms (term text PRIMARY KEY, df bigint NOT NULL);
CREATE TABLE IF NOT EXISTS perch_problems (path text PRIMARY KEY, reason text NOT NULL);
CREATE TABLE IF NOT EXISTS perch_roots (path text PRIMARY KEY, record jsonb NOT NULL);
CREATE TABLE IF NOT EXISTS perch_sets (name text PRIMARY KEY, relation text NOT NULL);
`

// Backend is an index in PostgreSQL.
type Backend struct {
	pool    *pgxpool.Pool
	vectors bool

	mu  sync.Mutex
	rel map[string]string // set → table
}

var _ backend.Backend = (*Backend)(nil)

// Open connects and makes the tables. notice is told when the server has no
// pgvector.
func Open(ctx context.Context, url string, notice func(string)) (*Backend, error) {
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, chat.NewError(chat.ClassMisuse, "err.kb_pg_url", "The setting kb.postgres_url is no valid address: %v. It looks like postgres://user:password@host/database.", withoutURL(err, url)).Wrap(err)
	}
	conf.MaxConns = 4
	// Simple servers and poolers know no prepared statements.
	conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, err
	}
	b := &Backend{pool: pool, rel: map[string]string{}}
	cctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, err := pool.Exec(cctx, tables, pgx.QueryExecModeSimpleProtocol); err != nil {
		pool.Close()
		return nil, chat.NewError(chat.ClassStore, "err.kb_pg_connect", "The knowledge base's PostgreSQL at %s cannot be used: %v. Check that it runs, the name and the password (setting kb.postgres_url).", conf.ConnConfig.Host, withoutURL(err, url)).Wrap(err)
	}
	if _, err := pool.Exec(cctx, "CREATE EXTENSION IF NOT EXISTS vector", pgx.QueryExecModeSimpleProtocol); err != nil {
		var has bool
		_ = pool.QueryRow(cctx, "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')").Scan(&has)
		b.vectors = has
	} else {
		b.vectors = true
	}
	if !b.vectors && notice != nil {
		notice("The PostgreSQL server has no pgvector extension, so the knowledge base works on keywords only. Install pgvector on the server and run CREATE EXTENSION vector to use an embedding model.")
	}
	return b, nil
}

// withoutURL keeps a password that stands in an address out of a message.
func withoutURL(err error, url string) string {
	return strings.ReplaceAll(err.Error(), url, "the address")
}

// Vectors reports whether the server can hold vectors.
func (b *Backend) Vectors() bool { return b.vectors }

// Close ends the connections.
func (b *Backend) Close() error {
	b.pool.Close()
	return nil
}

// Release does nothing: the memory is the server's.
func (b *Backend) Release() {}

// Maintain does nothing: the server tidies up by itself.
func (b *Backend) Maintain(context.Context) (bool, error) { return false, nil }

// classed puts a failure of the server into words.
func classed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var e *chat.Error
	if errors.As(err, &e) {
		return err
	}
	return chat.NewError(chat.ClassStore, "err.kb_pg", "The knowledge base's PostgreSQL failed: %v. Check the server, then try again.", err).Wrap(err)
}

// Apply changes the index in one transaction.
func (b *Backend) Apply(ctx context.Context, batch backend.Batch) error {
	return classed(pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(applyLock)); err != nil {
			return err
		}
		df := map[string]int{}
		gone := append([]string(nil), batch.Delete...)
		for _, e := range batch.Put {
			gone = append(gone, e.Path)
		}
		if err := remove(ctx, tx, gone, df); err != nil {
			return err
		}
		for i := range batch.Put {
			if err := put(ctx, tx, &batch.Put[i], df); err != nil {
				return err
			}
		}
		if err := count(ctx, tx, df); err != nil {
			return err
		}
		for _, t := range batch.Touch {
			if err := touch(ctx, tx, t); err != nil {
				return err
			}
		}
		for p, why := range batch.Problems {
			var err error
			if why == "" {
				_, err = tx.Exec(ctx, "DELETE FROM perch_problems WHERE path = $1", p)
			} else {
				_, err = tx.Exec(ctx, "INSERT INTO perch_problems VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET reason = excluded.reason", p, why)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// remove deletes documents and counts what their terms lose.
func remove(ctx context.Context, tx pgx.Tx, paths []string, df map[string]int) error {
	if len(paths) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT u.lexeme, count(*) FROM perch_chunks c JOIN perch_docs d ON d.number = c.doc, unnest(c.terms) u WHERE d.path = ANY($1) GROUP BY 1`, paths)
	if err != nil {
		return err
	}
	var term string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&term, &n}, func() error { df[term] -= n; return nil }); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM perch_chunks c USING perch_docs d WHERE d.number = c.doc AND d.path = ANY($1)", paths); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM perch_docs WHERE path = ANY($1)", paths)
	return err
}

func put(ctx context.Context, tx pgx.Tx, e *backend.Entry, df map[string]int) error {
	d := e.Document
	d.Chunks = len(e.Parts)
	record, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var number int64
	if err := tx.QueryRow(ctx, "INSERT INTO perch_docs (path, record) VALUES ($1, $2) RETURNING number", e.Path, string(record)).Scan(&number); err != nil {
		return err
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		counts := map[string]int{}
		for _, t := range p.Terms {
			counts[clean(t)]++
		}
		for t := range counts {
			df[t]++
		}
		h := backend.HashText(p.EmbedText())
		_, err := tx.Exec(ctx, "INSERT INTO perch_chunks (doc, heading, body, first_line, last_line, page, hash, length, lang, terms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::tsvector)",
			number, clean(p.Heading), clean(p.Text), p.StartLine, p.EndLine, p.Page, h[:], len(p.Terms), string(e.Lang), vectorLiteral(counts))
		if err != nil {
			return err
		}
	}
	return nil
}

// clean removes what PostgreSQL's text cannot hold.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// maxPositions is how many positions a tsvector keeps of one term.
const maxPositions = 255

// vectorLiteral writes terms as a tsvector. The positions carry nothing but
// their number, which is how often the term occurs.
func vectorLiteral(counts map[string]int) string {
	var b strings.Builder
	for t, n := range counts {
		if t == "" {
			continue
		}
		b.WriteString(quoteLexeme(t))
		for i := range min(n, maxPositions) {
			if i == 0 {
				b.WriteByte(':')
			} else {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, i+1)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func quoteLexeme(t string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(t) + "'"
}

// count writes the changed document frequencies.
func count(ctx context.Context, tx pgx.Tx, df map[string]int) error {
	var terms []string
	var ns []int64
	for t, n := range df {
		if n != 0 && t != "" {
			terms, ns = append(terms, t), append(ns, int64(n))
		}
	}
	if len(terms) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, "INSERT INTO perch_terms SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT (term) DO UPDATE SET df = perch_terms.df + excluded.df", terms, ns); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "DELETE FROM perch_terms WHERE df <= 0 AND term = ANY($1)", terms)
	return err
}

func touch(ctx context.Context, tx pgx.Tx, t backend.Document) error {
	var old backend.Document
	var record string
	err := tx.QueryRow(ctx, "SELECT record::text FROM perch_docs WHERE path = $1", t.Path).Scan(&record)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(record), &old); err != nil {
		return err
	}
	t.Chunks, t.Lang = old.Chunks, old.Lang
	v, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE perch_docs SET record = $2 WHERE path = $1", t.Path, string(v))
	return err
}

// Document returns the document of a path.
func (b *Backend) Document(ctx context.Context, path string) (d backend.Document, ok bool, err error) {
	var record string
	err = b.pool.QueryRow(ctx, "SELECT record::text FROM perch_docs WHERE path = $1", path).Scan(&record)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, false, nil
	}
	if err != nil {
		return d, false, classed(err)
	}
	return d, true, json.Unmarshal([]byte(record), &d)
}

// Documents walks the documents in order of path.
func (b *Backend) Documents(ctx context.Context, f func(backend.Document) bool) error {
	list, err := records[backend.Document](ctx, b, `SELECT record::text FROM perch_docs ORDER BY path COLLATE "C"`)
	for _, d := range list {
		if !f(d) {
			break
		}
	}
	return err
}

func records[T any](ctx context.Context, b *Backend, sql string) ([]T, error) {
	rows, err := b.pool.Query(ctx, sql)
	if err != nil {
		return nil, classed(err)
	}
	var out []T
	var record string
	_, err = pgx.ForEachRow(rows, []any{&record}, func() error {
		var v T
		if err := json.Unmarshal([]byte(record), &v); err != nil {
			return err
		}
		out = append(out, v)
		return nil
	})
	return out, classed(err)
}

// Chunks returns chunks by id.
func (b *Backend) Chunks(ctx context.Context, ids []uint32) ([]backend.Chunk, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := b.pool.Query(ctx, `SELECT c.id, d.path, d.record->>'title', c.body, c.heading, c.first_line, c.last_line, c.page
		FROM perch_chunks c JOIN perch_docs d ON d.number = c.doc WHERE c.id = ANY($1::bigint[])`, bigs(ids))
	if err != nil {
		return nil, classed(err)
	}
	have := map[uint32]backend.Chunk{}
	var c backend.Chunk
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&id, &c.Path, &c.Title, &c.Text, &c.Heading, &c.StartLine, &c.EndLine, &c.Page}, func() error {
		c.ID = uint32(id)
		have[c.ID] = c
		return nil
	})
	var out []backend.Chunk
	for _, id := range ids {
		if c, ok := have[id]; ok {
			out = append(out, c)
		}
	}
	return out, classed(err)
}

func bigs(ids []uint32) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// Stats counts documents and chunks.
func (b *Backend) Stats(ctx context.Context) (backend.Stats, error) {
	s := backend.Stats{Langs: map[segment.Lang]int{}}
	if err := b.pool.QueryRow(ctx, "SELECT count(*) FROM perch_docs").Scan(&s.Documents); err != nil {
		return s, classed(err)
	}
	rows, err := b.pool.Query(ctx, "SELECT lang, count(*) FROM perch_chunks GROUP BY 1")
	if err != nil {
		return s, classed(err)
	}
	var lang string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&lang, &n}, func() error {
		s.Langs[segment.Lang(lang)] = n
		s.Chunks += n
		return nil
	})
	return s, classed(err)
}

// Problems returns the reasons why paths are not in the index.
func (b *Backend) Problems(ctx context.Context) (map[string]string, error) {
	rows, err := b.pool.Query(ctx, "SELECT path, reason FROM perch_problems")
	if err != nil {
		return nil, classed(err)
	}
	out := map[string]string{}
	var p, why string
	_, err = pgx.ForEachRow(rows, []any{&p, &why}, func() error { out[p] = why; return nil })
	return out, classed(err)
}

// Roots returns what was added, by path.
func (b *Backend) Roots(ctx context.Context) ([]backend.Root, error) {
	return records[backend.Root](ctx, b, `SELECT record::text FROM perch_roots ORDER BY path COLLATE "C"`)
}

// PutRoot adds or updates a root.
func (b *Backend) PutRoot(ctx context.Context, r backend.Root) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = b.pool.Exec(ctx, "INSERT INTO perch_roots VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET record = excluded.record", r.Path, string(v))
	return classed(err)
}

// DeleteRoot forgets a root.
func (b *Backend) DeleteRoot(ctx context.Context, path string) error {
	_, err := b.pool.Exec(ctx, "DELETE FROM perch_roots WHERE path = $1", path)
	return classed(err)
}

// Meta reads a fact.
func (b *Backend) Meta(ctx context.Context, key string) (string, error) {
	var v string
	err := b.pool.QueryRow(ctx, "SELECT value FROM perch_meta WHERE key = $1", key).Scan(&v)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return v, classed(err)
}

// SetMeta writes a fact.
func (b *Backend) SetMeta(ctx context.Context, key, value string) error {
	_, err := b.pool.Exec(ctx, "INSERT INTO perch_meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
	return classed(err)
}
