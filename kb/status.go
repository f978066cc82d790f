package kb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"perch/control"
	"perch/kb/backend"
)

// Status is the state of the knowledge base.
type Status = control.KBStatus

// progress is what the worker is doing.
type progress struct {
	what        string
	done, total int
}

func (b *Base) setWork(p progress) {
	b.mu.Lock()
	b.work = p
	b.mu.Unlock()
}

// Busy reports whether there is indexing or embedding to do now.
func (b *Base) Busy() bool {
	b.mu.Lock()
	work := b.work.what != ""
	b.mu.Unlock()
	return work || b.jobs.pending() > 0 || b.embed.busy()
}

// cachedStatus holds what is costly to count, for one generation.
type cachedStatus struct {
	generation int64
	made       time.Time
	status     Status
}

const (
	// statusAge is how old counts may be while the index changes under them.
	statusAge = time.Second
	// maxProblems is how many are listed; the number of all is always told.
	maxProblems = 500
	// reportEvery is the pace of progress reports: what an eye can follow.
	reportEvery = 200 * time.Millisecond
)

// KBStatus reports folders, counts, progress and problems.
func (b *Base) KBStatus(ctx context.Context) (Status, error) {
	b.mu.Lock()
	c, gen := b.status, b.generation
	b.mu.Unlock()
	if c.made.IsZero() || c.generation != gen && time.Since(c.made) > statusAge {
		s, err := b.count(ctx)
		if err != nil {
			return Status{}, err
		}
		c = cachedStatus{gen, time.Now(), s}
		b.mu.Lock()
		b.status = c
		b.mu.Unlock()
	}
	s := c.status
	s.Folders, s.Problems = slices.Clone(s.Folders), slices.Clone(s.Problems)
	b.mu.Lock()
	w := b.work
	b.mu.Unlock()
	s.Working, s.Done, s.Total = w.what, w.done, w.total
	b.embed.describe(&s)
	return s, nil
}

// fresh drops the cached counts.
func (b *Base) fresh() {
	b.mu.Lock()
	b.status.made = time.Time{}
	b.mu.Unlock()
}

func (b *Base) count(ctx context.Context) (Status, error) {
	var s Status
	stats, err := b.be.Stats(ctx)
	if err != nil {
		return s, err
	}
	s.Documents, s.Chunks = stats.Documents, stats.Chunks
	roots, err := b.be.Roots(ctx)
	if err != nil {
		return s, err
	}
	at := map[string]int{}
	for i, r := range roots {
		at[r.Path] = i
		s.Folders = append(s.Folders, control.KBFolder{Path: r.Path, Indexed: r.Indexed})
	}
	err = b.be.Documents(ctx, func(d backend.Document) bool {
		if i, ok := at[d.Root]; ok {
			s.Folders[i].Documents++
			s.Folders[i].Chunks += d.Chunks
		}
		return true
	})
	if err != nil {
		return s, err
	}
	problems, err := b.be.Problems(ctx)
	if err != nil {
		return s, err
	}
	for _, p := range slices.Sorted(maps.Keys(problems)) {
		for i := range s.Folders {
			if within(s.Folders[i].Path, p) {
				s.Folders[i].Skipped++
			}
		}
		if len(s.Problems) < maxProblems {
			s.Problems = append(s.Problems, control.KBProblem{Path: p, Reason: problems[p]})
		}
	}
	if n := len(problems) - len(s.Problems); n > 0 {
		s.Problems = append(s.Problems, control.KBProblem{Path: "…", Reason: fmt.Sprintf("and %d more", n)})
	}
	set, err := b.activeSet(ctx)
	if err != nil {
		return s, err
	}
	if set != "" {
		s.Model, _, _ = backend.ParseSet(set)
		if s.Vectors, err = b.be.Counted(ctx, set); err != nil {
			return s, err
		}
	}
	return s, nil
}

// reporter calls report with the status at a steady pace until it is stopped.
func (b *Base) reporter(ctx context.Context, report func(Status)) (stop func()) {
	if report == nil {
		return func() { b.fresh() }
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(reportEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if s, err := b.KBStatus(ctx); err == nil {
					report(s)
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		b.fresh()
	}
}
