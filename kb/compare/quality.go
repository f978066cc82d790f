package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"perch/config"
	"perch/kb"
	"perch/kb/kbtest"

	"github.com/blevesearch/bleve/v2/analysis/lang/en"
)

// measureQuality prints nDCG@10 and the share of queries without a hit. Perch is
// measured the whole way, from files on disk to what a search returns; the
// others index each document as one.
func measureQuality(engines []string) error {
	shared := kbtest.Shared()
	if shared == "" {
		return errors.New("the retrieval collections are not here; set PERCH_SHARED")
	}
	cs, err := kbtest.Load(shared)
	if err != nil {
		return err
	}
	fmt.Println("| collection | queries | goal | Perch | Bleve | SQLite FTS5 |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for i := range cs {
		c := &cs[i]
		row := []string{c.Name, fmt.Sprint(len(c.Queries)), fmt.Sprintf("%.3f", c.Goal)}
		for _, e := range []struct {
			name string
			run  func(*kbtest.Collection) (kbtest.Score, error)
		}{{"perch", qualityPerch}, {"bleve", qualityBleve}, {"sqlite", qualitySQLite}} {
			if !slices.Contains(engines, e.name) {
				row = append(row, "")
				continue
			}
			s, err := e.run(c)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", e.name, c.Name, err)
			}
			row = append(row, fmt.Sprintf("%.3f (%.1f %% without a hit)", s.NDCG, s.Empty*100))
		}
		fmt.Println("| " + strings.Join(row, " | ") + " |")
	}
	return nil
}

func qualityPerch(c *kbtest.Collection) (kbtest.Score, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "perch-quality-")
	if err != nil {
		return kbtest.Score{}, err
	}
	defer os.RemoveAll(dir)
	for _, d := range c.Docs {
		if err := os.WriteFile(filepath.Join(dir, d.ID+".txt"), []byte(d.Text), 0o644); err != nil {
			return kbtest.Score{}, err
		}
	}
	b, err := kb.Open(kb.Options{Config: func() config.KB {
		k := config.Default().KB
		k.VectorWeight, k.KeywordWeight, k.Threshold = 0, 1, 0
		return k
	}, KeepPriority: true})
	if err != nil {
		return kbtest.Score{}, err
	}
	defer b.Close()
	if _, err := b.KBAdd(ctx, []string{dir}, nil); err != nil {
		return kbtest.Score{}, err
	}
	return kbtest.Measure(c, func(q string, k int) []string {
		hits, err := b.KBSearch(ctx, q, 2*k)
		if err != nil {
			return nil
		}
		var ids []string
		for _, h := range hits {
			if id := strings.TrimSuffix(filepath.Base(h.Path), ".txt"); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}), nil
}

func texts(c *kbtest.Collection) (ids, out []string) {
	for _, d := range c.Docs {
		ids, out = append(ids, d.ID), append(out, d.Text)
	}
	return ids, out
}

// asian reports whether a collection is in a language without spaces.
func asian(c *kbtest.Collection) bool {
	return strings.HasPrefix(c.Name, "CMRC") || strings.HasPrefix(c.Name, "JSQuAD")
}

func qualityBleve(c *kbtest.Collection) (kbtest.Score, error) {
	analyzer := en.AnalyzerName
	if asian(c) {
		analyzer = cjkAnalyzer
	}
	ix, err := bleveIndex("", analyzer)
	if err != nil {
		return kbtest.Score{}, err
	}
	defer ix.Close()
	ids, ts := texts(c)
	if err := bleveFill(ix, ids, ts); err != nil {
		return kbtest.Score{}, err
	}
	return kbtest.Measure(c, func(q string, k int) []string {
		r, err := bleveSearch(ix, q, k)
		if err != nil {
			return nil
		}
		return r
	}), nil
}

func qualitySQLite(c *kbtest.Collection) (kbtest.Score, error) {
	tokenize := "porter unicode61"
	if asian(c) {
		tokenize = "trigram"
	}
	db, err := openSQLite(":memory:", tokenize)
	if err != nil {
		return kbtest.Score{}, err
	}
	defer db.Close()
	ids, ts := texts(c)
	if err := sqliteFill(db, 0, ts); err != nil {
		return kbtest.Score{}, err
	}
	return kbtest.Measure(c, func(q string, k int) []string {
		rows, err := sqliteSearch(db, q, k)
		if err != nil {
			return nil
		}
		var out []string
		for _, r := range rows {
			out = append(out, ids[r])
		}
		return out
	}), nil
}
