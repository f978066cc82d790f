package main

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/philippgille/chromem-go"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

const peerBatch = 1000

// bleveIndex opens a new index with an analyzer for all text.
func bleveIndex(path, analyzer string) (bleve.Index, error) {
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = analyzer
	if path == "" {
		return bleve.NewMemOnly(m)
	}
	return bleve.New(path, m)
}

func bleveFill(ix bleve.Index, ids, texts []string) error {
	for i := 0; i < len(texts); i += peerBatch {
		b := ix.NewBatch()
		for k := i; k < min(i+peerBatch, len(texts)); k++ {
			if err := b.Index(ids[k], map[string]string{"text": texts[k]}); err != nil {
				return err
			}
		}
		if err := ix.Batch(b); err != nil {
			return err
		}
	}
	return nil
}

func bleveSearch(ix bleve.Index, q string, k int) ([]string, error) {
	mq := bleve.NewMatchQuery(q)
	mq.SetField("text")
	res, err := ix.Search(bleve.NewSearchRequestOptions(mq, k, 0, false))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	return ids, nil
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

func speedBleve(dir string, c *corpus, texts, queries []string, bytes int) error {
	path := filepath.Join(dir, "bleve")
	ix, err := bleveIndex(path, en.AnalyzerName)
	if err != nil {
		return err
	}
	start, cpu := time.Now(), cpuTime()
	if err := bleveFill(ix, numbered(len(texts)), texts); err != nil {
		return err
	}
	rate, rateCPU := float64(len(texts))/time.Since(start).Seconds(), float64(len(texts))/(cpuTime()-cpu).Seconds()
	search := func(q string) error { _, err := bleveSearch(ix, q, 8); return err }
	if _, _, err := measure(queries[:50], search); err != nil {
		return err
	}
	kw, kwCPU, err := measure(queries, search)
	if err != nil {
		return err
	}
	var rs times
	for i := range 40 {
		start := time.Now()
		b := ix.NewBatch()
		for k := range passagesInFile {
			if err := b.Index(fmt.Sprint(i*passagesInFile+k), map[string]string{"text": c.passage()}); err != nil {
				return err
			}
		}
		if err := ix.Batch(b); err != nil {
			return err
		}
		rs = append(rs, time.Since(start))
	}
	if err := ix.Close(); err != nil {
		return err
	}
	opening := time.Now()
	if ix, err = bleve.Open(path); err != nil {
		return err
	}
	open := time.Since(opening)
	defer ix.Close()
	fmt.Printf("| bleve | %.0f (%.0f) | %.2f / %.2f / %.2f | | %.1f | %.0f | %.2f (text only) | |\n", rate, rateCPU, kw.at(.5), kw.at(.95), kwCPU, rs.at(.5), float64(open.Microseconds())/1000, float64(folderSize(path))/float64(bytes))
	return nil
}

func folderSize(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}

// ftsQuery quotes each word, since FTS5 has operators.
func ftsQuery(q string) string {
	var out []string
	for w := range strings.FieldsSeq(q) {
		if w = strings.Trim(w, ".,?!()\"'`。、？！"); w != "" {
			out = append(out, `"`+strings.ReplaceAll(w, `"`, `""`)+`"`)
		}
	}
	return strings.Join(out, " OR ")
}

func openSQLite(path, tokenize string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"); err != nil {
		return nil, err
	}
	_, err = db.Exec(`CREATE VIRTUAL TABLE IF NOT EXISTS t USING fts5(text, tokenize='` + tokenize + `')`)
	return db, err
}

func sqliteFill(db *sql.DB, first int, texts []string) error {
	for i := 0; i < len(texts); i += peerBatch {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		for k := i; k < min(i+peerBatch, len(texts)); k++ {
			if _, err := tx.Exec("INSERT INTO t(rowid, text) VALUES(?, ?)", first+k+1, texts[k]); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func sqliteSearch(db *sql.DB, q string, k int) ([]int, error) {
	m := ftsQuery(q)
	if m == "" {
		return nil, nil
	}
	rows, err := db.Query("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", m, k)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id-1)
	}
	return ids, rows.Err()
}

func speedSQLite(dir string, c *corpus, texts, queries []string, bytes int) error {
	path := filepath.Join(dir, "fts.db")
	db, err := openSQLite(path, "porter unicode61")
	if err != nil {
		return err
	}
	start, cpu := time.Now(), cpuTime()
	if err := sqliteFill(db, 0, texts); err != nil {
		return err
	}
	rate, rateCPU := float64(len(texts))/time.Since(start).Seconds(), float64(len(texts))/(cpuTime()-cpu).Seconds()
	search := func(q string) error { _, err := sqliteSearch(db, q, 8); return err }
	kw, kwCPU, err := measure(queries, search)
	if err != nil {
		return err
	}
	var rs times
	for i := range 40 {
		start := time.Now()
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		for k := range passagesInFile {
			if _, err := tx.Exec("UPDATE t SET text=? WHERE rowid=?", c.passage(), i*passagesInFile+k+1); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		rs = append(rs, time.Since(start))
	}
	if err := db.Close(); err != nil {
		return err
	}
	opening := time.Now()
	if db, err = openSQLite(path, "porter unicode61"); err != nil {
		return err
	}
	defer db.Close()
	open := time.Since(opening)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Printf("| SQLite FTS5 | %.0f (%.0f) | %.2f / %.2f / %.2f | | %.1f | %.0f | %.2f (text only) | |\n", rate, rateCPU, kw.at(.5), kw.at(.95), kwCPU, rs.at(.5), float64(open.Microseconds())/1000, float64(info.Size())/float64(bytes))
	return nil
}

func speedChromem(_ string, _ *corpus, texts, queries []string, _ int) error {
	ctx := context.Background()
	e := fake{maphash.MakeSeed()}
	db := chromem.NewDB()
	col, err := db.CreateCollection("c", nil, func(ctx context.Context, t string) ([]float32, error) { return e.vector(t), nil })
	if err != nil {
		return err
	}
	before := rss()
	var docs []chromem.Document
	for i, t := range texts {
		docs = append(docs, chromem.Document{ID: fmt.Sprint(i), Embedding: e.vector(t), Content: t})
	}
	if err := col.AddDocuments(ctx, docs, 2); err != nil {
		return err
	}
	docs = nil
	ts, cpu, err := measure(queries[:min(100, len(queries))], func(q string) error {
		_, err := col.QueryEmbedding(ctx, e.vector(q), 8, nil, nil)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("| chromem-go | | | %.2f / %.2f / %.2f (vectors only) | | | | +%.0f |\n", ts.at(.5), ts.at(.95), cpu, rss()-before)
	return nil
}

// cjkAnalyzer is Bleve's for Chinese, Japanese and Korean.
const cjkAnalyzer = cjk.AnalyzerName
