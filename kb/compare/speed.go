package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"time"

	"perch/config"
	"perch/kb"
)

const queriesMeasured = 500

func measureSpeed(engines []string, n int) error {
	dir, err := os.MkdirTemp("", "perch-compare-")
	if err != nil {
		return err
	}
	if os.Getenv("KEEP") == "" {
		defer os.RemoveAll(dir)
	} else {
		fmt.Println(dir)
	}
	c := newCorpus(1)
	texts, err := c.write(filepath.Join(dir, "docs"), n)
	if err != nil {
		return err
	}
	bytes := 0
	for _, t := range texts {
		bytes += len(t)
	}
	var queries []string
	for range queriesMeasured {
		queries = append(queries, c.query())
	}
	fmt.Printf("\n%d passages, %.0f MB of text, %d queries\n\n", len(texts), float64(bytes)/1e6, len(queries))
	fmt.Println("| engine | index, passages/s (CPU) | keyword p50 / p95 / CPU, ms | vector or hybrid p50 / p95 / CPU, ms | replace, ms | open, ms | size/text | RSS, MB |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, e := range []struct {
		name string
		run  func(dir string, c *corpus, texts, queries []string, bytes int) error
	}{{"perch", speedPerch}, {"bleve", speedBleve}, {"sqlite", speedSQLite}, {"chromem", speedChromem}} {
		if !slices.Contains(engines, e.name) {
			continue
		}
		if err := e.run(dir, c, texts, queries, bytes); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

func speedPerch(dir string, c *corpus, texts, queries []string, bytes int) error {
	ctx := context.Background()
	path := filepath.Join(dir, "kb.db")
	keywords := func() config.KB { k := config.Default().KB; k.VectorWeight, k.KeywordWeight = 0, 1; return k }
	settings := keywords
	e := fake{maphash.MakeSeed()}
	b, err := kb.Open(kb.Options{Path: path, Config: func() config.KB { return settings() }, KeepPriority: true, IdleRelease: time.Hour, Notice: func(s string) { fmt.Fprintln(os.Stderr, s) }})
	if err != nil {
		return err
	}
	docs := filepath.Join(dir, "docs")
	start, cpu := time.Now(), cpuTime()
	s, err := b.KBAdd(ctx, []string{docs}, nil)
	if err != nil {
		return err
	}
	rate, rateCPU := float64(s.Chunks)/time.Since(start).Seconds(), float64(s.Chunks)/(cpuTime()-cpu).Seconds()
	for b.Busy() {
		time.Sleep(50 * time.Millisecond)
	}
	b.Settle(ctx)
	before := rss()
	search := func(q string) error { _, err := b.KBSearch(ctx, q, 8); return err }
	for _, q := range queries[:50] {
		if err := search(q); err != nil {
			return err
		}
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	kw, kwCPU, err := measure(queries, search)
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	// Vectors.
	settings = func() config.KB { return config.Default().KB }
	start = time.Now()
	b.SetEmbedder(e)
	for {
		if s, err = b.KBStatus(ctx); err != nil {
			return err
		}
		if s.Vectors >= s.Chunks {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	embedded := time.Since(start)
	b.Settle(ctx)
	if err := b.Close(); err != nil {
		return err
	}
	opening := time.Now()
	if b, err = kb.Open(kb.Options{Path: path, Config: func() config.KB { return settings() }, Embedder: e, KeepPriority: true, IdleRelease: 3 * time.Second}); err != nil {
		return err
	}
	defer b.Close()
	open := time.Since(opening)
	base := rss()
	first := time.Now()
	if err := search(queries[0]); err != nil {
		return err
	}
	load := time.Since(first)
	hy, hyCPU, err := measure(queries, search)
	if err != nil {
		return err
	}
	loaded := rss()
	// Replace a document of ten passages.
	var rs times
	for i := range 40 {
		p := filepath.Join(docs, "000", fmt.Sprintf("%06d.txt", i))
		var text string
		for range passagesInFile {
			text += c.passage() + "\n"
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			return err
		}
		start := time.Now()
		if err := b.Refresh(ctx, p); err != nil {
			return err
		}
		rs = append(rs, time.Since(start))
	}
	time.Sleep(4 * time.Second)
	idle := rss()
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Printf("| perch | %.0f (%.0f) | %.2f / %.2f / %.2f | %.2f / %.2f / %.2f | %.1f | %.0f | %.2f | +%.0f, idle %+.0f |\n", rate, rateCPU,
		kw.at(.5), kw.at(.95), kwCPU, hy.at(.5), hy.at(.95), hyCPU, rs.at(.5), float64(open.Microseconds())/1000, float64(info.Size())/float64(bytes), loaded-base, idle-base)
	fmt.Fprintf(os.Stderr, "perch: RSS %.0f MB after indexing; %d chunks embedded in %.1f s; first hybrid search with loading %.0f ms; replace p95 %.1f ms\n", before, s.Chunks, embedded.Seconds(), float64(load.Milliseconds()), rs.at(.95))
	return nil
}
