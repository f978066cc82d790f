// Package hub holds the runs at work and everybody who watches them. It fulfils
// the session and run services of the control socket.
//
// One goroutine per run ranges over the runner's stream; each watcher gets a
// snapshot and then the events after it, at its own pace. A watcher that closes
// its connection never ends a run, and a slow one never holds it up: it gets
// deltas merged. Permission, ToolEnd and Done are never dropped.
package hub

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/harness"
	"perch/store"
)

// Reverter puts back the files that a run changed.
type Reverter interface {
	Revert(run string) ([]string, error)
}

// Options are what a hub works with. Store and Runner options are required.
type Options struct {
	Store  store.Store
	Runner harness.Options // Store, Approver, Appended and Ended are set by the hub
	Config func() config.Config
	Revert Reverter
	Log    *slog.Logger
	// CanAsk reports whether a popup can put a question to the user.
	CanAsk func() bool
	// NeedKey names the variable whose value the owner lacks for a model and the
	// client holds; "" for none. WithKeys puts keys of a client into a context.
	NeedKey  func(model string, holds []string) string
	WithKeys func(ctx context.Context, keys map[string]string) context.Context
	// Asked returns the desktop things that the user asks for with a message
	// itself, as by a slash command; nil is none.
	Asked func(text string) []string
	// Outcome is told of every run that ended and of every question, for
	// notifications.
	Outcome func(o Outcome)
	// SessionEnded is told when a session is deleted or the hub closes, so that
	// its background processes end.
	SessionEnded func(session string)
	// Model is the default model, resolved, for the state.
	Model func() string
	// Environ is the environment of tools where a client sends none.
	Environ func() []string
}

// Outcome is what a notification may tell.
type Outcome struct {
	Session  chat.SessionMeta
	Run      string
	Result   *chat.Result     // nil while the run goes on
	Question *chat.Permission // set when the run waits for an answer
	Took     time.Duration
}

// Hub holds the runs at work.
type Hub struct {
	o      Options
	store  *cachedStore
	runner *harness.Runner
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // protects everything below
	live     map[string]*live
	states   map[chan struct{}]struct{}
	problems []string
	closed   bool
}

// New returns a hub. Close ends its runs.
func New(o Options) *Hub {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Config == nil {
		o.Config = config.Default
	}
	h := &Hub{o: o, store: newCachedStore(o.Store), live: map[string]*live{}, states: map[chan struct{}]struct{}{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	ro := o.Runner
	ro.Store, ro.Approver, ro.Appended, ro.Ended = h.store, h, h.appended, h.ended
	if ro.Config == nil {
		ro.Config = o.Config
	}
	if ro.SpentToday == nil {
		ro.SpentToday = h.spentToday
	}
	ro.Panicked = func(v any, stack []byte) {
		o.Log.Error("a tool panicked", "value", fmt.Sprint(v), "stack", string(stack))
	}
	h.runner = harness.New(ro)
	return h
}

// Close stops every run, waits for them and leaves all sessions ready to go on.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.wg.Wait()
}

// Busy reports whether anything is at work: runs, questions, watchers.
func (h *Hub) Busy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.live {
		if l.run != "" || len(l.watchers) > 0 {
			return true
		}
	}
	return false
}

// Trim lets go of what is only kept for speed. Call it when nothing happens.
func (h *Hub) Trim() { h.store.trim() }

// session returns the live part of a session, made on demand. mu is held.
func (h *Hub) session(id string) *live {
	l := h.live[id]
	if l == nil {
		l = &live{id: id, watchers: map[*watcher]struct{}{}}
		h.live[id] = l
	}
	return l
}

// forget drops the live part of a session that nobody needs. mu is held.
func (h *Hub) forget(l *live) {
	if l.run == "" && len(l.watchers) == 0 {
		delete(h.live, l.id)
	}
}
