package kb

import (
	"context"
	"sync"
)

// A job is work for the indexing thread.
type job struct {
	ctx  context.Context
	root string // of the pass
	// paths limits the pass to those files and folders; nil is all of root.
	paths []string
	done  chan error // buffered; receives the outcome
}

// jobs is the queue of the indexing thread. Passes over the same root that wait
// are one.
type jobs struct {
	mu     sync.Mutex
	wake   chan struct{}
	queue  []*job
	closed bool
}

func (q *jobs) init() { q.wake = make(chan struct{}, 1) }

// add queues a job. A job for paths joins one that waits for the same root.
func (q *jobs) add(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		j.finish(context.Canceled)
		return
	}
	if j.done == nil {
		for _, w := range q.queue {
			if w.root != j.root || w.done != nil {
				continue
			}
			if j.paths == nil {
				w.paths = nil
			} else if w.paths != nil {
				w.paths = append(w.paths, j.paths...)
			}
			return
		}
	}
	q.queue = append(q.queue, j)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take returns the next job, or nil when there is none. What somebody waits for
// comes first.
func (q *jobs) take() *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, j := range q.queue {
		if j.done != nil {
			q.queue = append(q.queue[:i], q.queue[i+1:]...)
			return j
		}
	}
	if len(q.queue) == 0 {
		return nil
	}
	j := q.queue[0]
	q.queue = q.queue[1:]
	return j
}

func (q *jobs) pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

func (q *jobs) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, j := range q.queue {
		j.finish(context.Canceled)
	}
	q.queue = nil
}

func (j *job) finish(err error) {
	if j.done != nil {
		j.done <- err
	}
}
