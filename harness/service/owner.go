// Package service fulfils the control socket's services that are neither
// sessions nor runs: the owner itself, models, settings, sign-in and rules. Each
// is a thin adapter, so that the packages below need not know the protocol.
package service

import (
	"context"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness/hub"
)

// idleAfter is how long a detached owner lives without work.
const idleAfter = 30 * time.Second

// upkeepEvery is the pace of what the store and the like need now and then.
const upkeepEvery = time.Hour

// idleEvery is how often a detached owner looks whether it is still needed.
const idleEvery = 5 * time.Second

// OwnerOptions are what an owner works with.
type OwnerOptions struct {
	Hub *hub.Hub
	// StartTray gives the owner a tray icon on that desktop; nil where this
	// build has none.
	StartTray func(ctx context.Context, env control.DesktopEnv) error
	// Hotkey is the state of the global hotkey.
	Hotkey func() control.HotkeyState
	// Problems are lines for the user about the desktop.
	Problems func() []string
	// Busy are further reasons to stay alive: indexing, sign-in, background
	// children, an owned selection.
	Busy []func() bool
	// Mistake is what is wrong with the settings, nil when all is well.
	Mistake func() error
	// Checks are the owner's own findings for the doctor.
	Checks []func(ctx context.Context) control.Check
	// FirstStart reports whether no model is connected yet.
	FirstStart func() bool
	// Trim lets go of memory that only serves speed; called after a while without
	// work.
	Trim func()
	// Upkeep is called about once an hour, when idle.
	Upkeep func()
}

// Owner is the process that owns the store and serves the socket.
type Owner struct {
	o    OwnerOptions
	quit chan struct{}
	once sync.Once

	mu   sync.Mutex // protects the rest
	tray bool
	last time.Time
}

// NewOwner returns an owner.
func NewOwner(o OwnerOptions) *Owner {
	return &Owner{o: o, quit: make(chan struct{}), last: time.Now()}
}

// Done is closed when the owner is asked to end.
func (w *Owner) Done() <-chan struct{} { return w.quit }

// Quit ends the owner. It returns at once; saving happens on the way out.
func (w *Owner) Quit(context.Context) error {
	w.once.Do(func() { close(w.quit) })
	return nil
}

// SetTray says that the owner has a tray icon and so does not end by itself.
func (w *Owner) SetTray(on bool) {
	w.mu.Lock()
	w.tray = on
	w.mu.Unlock()
	w.o.Hub.StateChanged()
}

// Tray reports whether the owner has a tray icon.
func (w *Owner) Tray() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tray
}

// BecomeTray gives a detached owner a tray icon.
func (w *Owner) BecomeTray(ctx context.Context, env control.DesktopEnv) error {
	if w.o.StartTray == nil {
		return chat.NewError(chat.ClassMisuse, "err.no_tray", "This Perch was built without a tray. Use `perch chat`.")
	}
	if err := w.o.StartTray(ctx, env); err != nil {
		return err
	}
	w.SetTray(true)
	return nil
}

// Touch notes a request, so that a detached owner that is being used stays.
func (w *Owner) Touch() {
	w.mu.Lock()
	w.last = time.Now()
	w.mu.Unlock()
}

// Linger ends a detached owner after 30 s without work. It returns when the
// owner is to end or ctx does.
func (w *Owner) Linger(ctx context.Context) {
	t := time.NewTicker(idleEvery)
	defer t.Stop()
	upkeep := time.Now()
	trimmed := false // since there was work last
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.quit:
			return
		case <-t.C:
		}
		if w.busy() {
			trimmed = false
			w.Touch()
			continue
		}
		w.mu.Lock()
		idle := time.Since(w.last)
		w.mu.Unlock()
		if idle < idleAfter {
			continue
		}
		if !w.Tray() {
			w.Quit(ctx)
			return
		}
		if w.o.Upkeep != nil && time.Since(upkeep) >= upkeepEvery {
			upkeep, trimmed = time.Now(), false
			w.o.Upkeep()
		}
		if !trimmed && w.o.Trim != nil {
			trimmed = true
			w.o.Trim()
		}
	}
}

func (w *Owner) busy() bool {
	if w.o.Hub.Busy() {
		return true
	}
	for _, b := range w.o.Busy {
		if b() {
			return true
		}
	}
	return false
}

// State is the state of the whole program.
func (w *Owner) State(ctx context.Context) (control.State, error) {
	s, err := w.o.Hub.State(ctx)
	if err != nil {
		return s, err
	}
	s.Tray = w.Tray()
	if w.o.Hotkey != nil {
		s.Hotkey = w.o.Hotkey()
	}
	if w.o.Problems != nil {
		s.Problems = append(s.Problems, w.o.Problems()...)
	}
	if w.o.Mistake != nil {
		if err := w.o.Mistake(); err != nil {
			s.Problems = append(s.Problems, err.Error())
		}
	}
	if w.o.FirstStart != nil {
		s.FirstStart = w.o.FirstStart()
	}
	return s, nil
}

// WatchState sends the state now and after every change, until ctx ends.
func (w *Owner) WatchState(ctx context.Context, send func(control.State) error) error {
	return w.o.Hub.WatchState(ctx, func() error {
		s, err := w.State(ctx)
		if err != nil {
			return err
		}
		return send(s)
	})
}

// Doctor runs the checks that only the owner can run.
func (w *Owner) Doctor(ctx context.Context) ([]control.Check, error) {
	var out []control.Check
	for _, c := range w.o.Checks {
		out = append(out, c(ctx))
	}
	return out, nil
}

// Stats are the sums over all runs.
func (w *Owner) Stats(ctx context.Context) (control.Stats, error) { return w.o.Hub.Stats(ctx) }
