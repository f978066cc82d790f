package hub

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
)

const (
	// aliveEvery is how often a quiet watch sends a sign of life.
	aliveEvery = 15 * time.Second
	// queueLimit is how many events may wait for a slow watcher after merging;
	// beyond it the watcher gets a fresh snapshot instead.
	queueLimit = 4096
)

// watcher is the queue of one watcher. Its own mutex protects it.
type watcher struct {
	mu       sync.Mutex
	queue    []chat.Event
	snapshot bool // a fresh snapshot is due before the queue
	info     bool // the session's info changed
	wake     chan struct{}
}

func newWatcher() *watcher { return &watcher{wake: make(chan struct{}, 1), snapshot: true} }

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// push queues an event, merging deltas and replacing progress that nobody read.
func (w *watcher) push(e chat.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.signal()
	if n := len(w.queue); n > 0 {
		switch e := e.(type) {
		case *chat.TextDelta:
			if last, ok := w.queue[n-1].(*chat.TextDelta); ok && last.Run == e.Run {
				w.queue[n-1] = &chat.TextDelta{Head: e.Head, Text: last.Text + e.Text}
				return
			}
		case *chat.ThinkingDelta:
			if last, ok := w.queue[n-1].(*chat.ThinkingDelta); ok && last.Run == e.Run {
				w.queue[n-1] = &chat.ThinkingDelta{Head: e.Head, Text: last.Text + e.Text}
				return
			}
		case *chat.ToolProgress:
			if last, ok := w.queue[n-1].(*chat.ToolProgress); ok && last.ID == e.ID {
				w.queue[n-1] = e
				return
			}
		}
	}
	w.queue = append(w.queue, e)
	if len(w.queue) > queueLimit {
		w.keepDone()
		w.snapshot = true
	}
}

// keepDone drops all events but Done, which is in no history. mu is held.
func (w *watcher) keepDone() {
	var keep []chat.Event
	for _, e := range w.queue {
		if _, ok := e.(*chat.Done); ok {
			keep = append(keep, e)
		}
	}
	w.queue = keep
}

func (w *watcher) discard() {
	w.mu.Lock()
	w.keepDone()
	w.mu.Unlock()
}

func (w *watcher) refresh() {
	w.mu.Lock()
	w.snapshot = true
	w.mu.Unlock()
	w.signal()
}

func (w *watcher) infoChanged() {
	w.mu.Lock()
	w.info = true
	w.mu.Unlock()
	w.signal()
}

// take empties the queue, unless a snapshot is due first.
func (w *watcher) take() (events []chat.Event, snapshot, info bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot {
		w.snapshot = false
		return nil, true, false
	}
	events, info = w.queue, w.info
	w.queue, w.info = nil, false
	return events, false, info
}

// Watch sends a snapshot of a session and then everything that happens to it,
// over all its runs, until ctx ends or send fails.
func (h *Hub) Watch(ctx context.Context, session string, send func(control.Frame) error) error {
	if session == "last" {
		id, err := h.lastSession()
		if err != nil {
			return err
		}
		session = id
	}
	if _, err := h.store.Meta(session); err != nil {
		return sessionError(session, err)
	}
	w := newWatcher()
	h.mu.Lock()
	l := h.session(session)
	l.watchers[w] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(l.watchers, w)
		h.forget(l)
		h.mu.Unlock()
	}()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		if err := h.serve(ctx, l, w, send); err != nil {
			return err
		}
		select {
		case <-w.wake:
		case <-alive.C:
			if err := send(control.Frame{Alive: true}); err != nil {
				return err
			}
		case <-h.ctx.Done():
			// Runs end first, so that their Done is sent.
			h.waitIdle(ctx, l)
			return h.serve(ctx, l, w, send)
		case <-ctx.Done():
			return nil
		}
	}
}

// waitIdle waits until the run of a session has ended, at the end of the hub.
func (h *Hub) waitIdle(ctx context.Context, l *live) {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		h.mu.Lock()
		idle := l.run == ""
		h.mu.Unlock()
		if idle {
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// serve sends what has gathered.
func (h *Hub) serve(ctx context.Context, l *live, w *watcher, send func(control.Frame) error) error {
	for {
		events, snapshot, info := w.take()
		if len(events) == 0 && !snapshot && !info {
			return nil
		}
		if snapshot {
			s, err := h.snapshot(ctx, l, w)
			if err != nil {
				return err
			}
			if err := send(control.Frame{Snapshot: s}); err != nil {
				return err
			}
			continue
		}
		for _, e := range events {
			b, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if err := send(control.Frame{Event: b}); err != nil {
				return err
			}
		}
		if !info {
			continue
		}
		meta, err := h.store.Meta(l.id)
		if err != nil {
			return sessionError(l.id, err)
		}
		s := h.info(meta)
		if err := send(control.Frame{Session: &s}); err != nil {
			return err
		}
	}
}

// snapshot is the state of a session with its run at work. History, live state
// and queue belong together: they are read under the hub's mutex, under which
// every message enters the kept history and every event the queue. What waits
// in the queue is part of the snapshot and leaves it, except Done.
func (h *Hub) snapshot(ctx context.Context, l *live, w *watcher) (*control.Snapshot, error) {
	if _, err := h.store.Load(l.id); err != nil { // outside the mutex: may read the disk
		return nil, sessionError(l.id, err)
	}
	h.mu.Lock()
	loaded, err := h.store.Load(l.id)
	liveState := l.snapshot()
	w.discard()
	h.mu.Unlock()
	if err != nil {
		return nil, sessionError(l.id, err)
	}
	v := h.view(ctx, loaded)
	return &control.Snapshot{View: v, Live: liveState}, nil
}

// apply folds an event into the live state and hands it to the watchers.
func (h *Hub) apply(l *live, e chat.Event) {
	h.mu.Lock()
	l.take(e)
	l.push(e)
	h.mu.Unlock()
	switch e.(type) {
	case *chat.Permission, *chat.Compaction:
		h.changed(l.id)
		h.stateChanged()
	}
}

// appended is called by the runner after each stored message.
func (h *Hub) appended(session, _ string, m chat.Message) {
	h.mu.Lock()
	h.store.add(session, m)
	l := h.live[session]
	if l != nil {
		l.stored(&m)
		if m.Role == chat.RoleUser && m.Kind == chat.KindOrdinary {
			for w := range l.watchers {
				w.refresh()
			}
		}
	}
	h.mu.Unlock()
}

// changed tells the watchers of a session that its info is another one.
func (h *Hub) changed(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.live[session]; l != nil {
		for w := range l.watchers {
			w.infoChanged()
		}
	}
}
