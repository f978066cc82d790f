package hub

import (
	"context"
	"encoding/json"
	"strings"
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

// item is one thing for a watcher: an event, a message that entered the history,
// or (with neither) a fresh snapshot.
type item struct {
	event   chat.Event
	message *chat.Message
	// text gathers deltas that were merged into this one, at constant cost each.
	text *strings.Builder
}

// watcher is the queue of one watcher. Its own mutex protects it.
type watcher struct {
	mu    sync.Mutex
	queue []item
	info  bool // the session's info changed
	wake  chan struct{}
}

// newWatcher returns a watcher whose first item is a snapshot.
func newWatcher() *watcher { return &watcher{wake: make(chan struct{}, 1), queue: []item{{}}} }

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
	if n := len(w.queue); n > 0 && w.queue[n-1].merge(e) {
		return
	}
	w.queue = append(w.queue, item{event: e})
	if len(w.queue) > queueLimit {
		// A snapshot holds all of it but Done, which is in no history.
		w.keepDone()
		w.queue = append([]item{{}}, w.queue...)
	}
}

// merge takes a following event into the item, false where both count. Events
// are shared between watchers, so none is changed.
func (it *item) merge(e chat.Event) bool {
	switch e := e.(type) {
	case *chat.TextDelta:
		if l, ok := it.event.(*chat.TextDelta); ok && l.Run == e.Run {
			it.gather(l.Text, e.Text)
			it.event = &chat.TextDelta{Head: e.Head}
			return true
		}
	case *chat.ThinkingDelta:
		if l, ok := it.event.(*chat.ThinkingDelta); ok && l.Run == e.Run {
			it.gather(l.Text, e.Text)
			it.event = &chat.ThinkingDelta{Head: e.Head}
			return true
		}
	case *chat.ToolProgress:
		if l, ok := it.event.(*chat.ToolProgress); ok && l.ID == e.ID {
			it.event = e
			return true
		}
	}
	return false
}

func (it *item) gather(first, next string) {
	if it.text == nil {
		it.text = new(strings.Builder)
		it.text.WriteString(first)
	}
	it.text.WriteString(next)
}

// whole is the item's event with all its text.
func (it *item) whole() chat.Event {
	if it.text == nil {
		return it.event
	}
	switch e := it.event.(type) {
	case *chat.TextDelta:
		return &chat.TextDelta{Head: e.Head, Text: it.text.String()}
	case *chat.ThinkingDelta:
		return &chat.ThinkingDelta{Head: e.Head, Text: it.text.String()}
	}
	return it.event
}

// keepDone drops everything but Done. mu is held.
func (w *watcher) keepDone() {
	var keep []item
	for _, it := range w.queue {
		if _, ok := it.event.(*chat.Done); ok {
			keep = append(keep, it)
		}
	}
	w.queue = keep
}

func (w *watcher) discard() {
	w.mu.Lock()
	w.keepDone()
	w.mu.Unlock()
}

func (w *watcher) add(it item) {
	w.mu.Lock()
	w.queue = append(w.queue, it)
	w.mu.Unlock()
	w.signal()
}

// refresh queues a snapshot behind what waits already.
func (w *watcher) refresh() { w.add(item{}) }

func (w *watcher) infoChanged() {
	w.mu.Lock()
	w.info = true
	w.mu.Unlock()
	w.signal()
}

// take returns what waits, up to the first snapshot, and whether that is due
// next.
func (w *watcher) take() (items []item, snapshot, info bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, w.info = w.info, false
	for i, it := range w.queue {
		if it.event == nil && it.message == nil {
			items, w.queue = w.queue[:i:i], w.queue[i+1:]
			return items, true, info
		}
	}
	items, w.queue = w.queue, nil
	return items, false, info
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
		items, snapshot, info := w.take()
		if len(items) == 0 && !snapshot && !info {
			return nil
		}
		for _, it := range items {
			f := control.Frame{Message: it.message}
			if it.event != nil {
				b, err := json.Marshal(it.whole())
				if err != nil {
					return err
				}
				f.Event = b
			}
			if err := send(f); err != nil {
				return err
			}
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
				w.add(item{message: &m})
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
