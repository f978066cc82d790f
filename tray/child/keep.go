package child

import (
	"context"
	"time"
)

const (
	// firstWait is the pause before the first restart: a helper that died once
	// is back before anybody misses it.
	firstWait = 200 * time.Millisecond
	// maxWait is the longest pause between restarts. A display that is gone
	// for hours costs one start a minute at most.
	maxWait = 30 * time.Second
	// steady is how long a helper must have lived for its end to count as the
	// first.
	steady = time.Minute
)

// Backoff is the pause before restart number n, from 1.
func Backoff(n int) time.Duration {
	d := firstWait
	for i := 1; i < n && d < maxWait; i++ {
		d *= 2
	}
	return min(d, maxWait)
}

// Plan says how to keep a helper running.
type Plan struct {
	// Start starts the helper.
	Start func() (*Process, error)
	// Up is told of each start; nil is nothing to tell.
	Up func(p *Process)
	// Down is told of each end and each failed start, with the pause before the
	// next one; attempt counts ends in a row, from 1.
	Down func(err error, attempt int, wait time.Duration)
	// Wake, when it delivers, cuts a pause short: what was missing has come.
	Wake <-chan struct{}
	// Grace is what a helper gets to end when the keeping ends.
	Grace time.Duration
}

// Keep starts a helper again whenever it ends, until ctx ends; then it stops
// the helper and returns.
func Keep(ctx context.Context, plan Plan) {
	for attempt := 1; ctx.Err() == nil; attempt++ {
		began := time.Now()
		p, err := plan.Start()
		if err == nil {
			if plan.Up != nil {
				plan.Up(p)
			}
			select {
			case <-p.Done():
				err = p.Err()
			case <-ctx.Done():
				p.Stop(plan.Grace)
				return
			}
			if time.Since(began) > steady {
				attempt = 1
			}
		}
		wait := Backoff(attempt)
		if plan.Down != nil {
			plan.Down(err, attempt, wait)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-plan.Wake:
			attempt = 0
		case <-ctx.Done():
		}
		t.Stop()
	}
}
