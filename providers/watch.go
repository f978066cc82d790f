package providers

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"perch/chat"
)

// The silence limits. First tokens come within seconds from hosted models;
// local servers read the whole prompt first, and thinking models may think
// without showing it.
const (
	firstEvent     = 120 * time.Second
	firstEventSlow = 600 * time.Second
	idleLimit      = 90 * time.Second
	idleLimitSlow  = 300 * time.Second
	// lookEvery is how often silence and the clocks are looked at.
	lookEvery = time.Second
	// jumpAt is the difference between wall clock and monotonic clock in one
	// look that means the machine slept: no correction of the clock is as large
	// as this in ordinary use.
	jumpAt = 5 * time.Second
	// jumpGrace is what a connection gets after a sleep to show that it lives.
	jumpGrace = 8 * time.Second
)

type limits struct{ first, idle time.Duration }

// limitsFor decides how long a server may be silent.
func limitsFor(ep *Endpoint, req *Request) limits {
	effort := ep.effort(req)
	thinks := req.Model.Reasoning && effort != "none"
	l := limits{firstEvent, idleLimit}
	if ep.Local || thinks {
		l.first = firstEventSlow
	}
	if thinks {
		l.idle = idleLimitSlow
	}
	if ep.FirstEvent > 0 {
		l.first = ep.FirstEvent
	}
	if ep.Idle > 0 {
		l.idle = ep.Idle
	}
	return l
}

var (
	errSilentFirst = errors.New("no first event in time")
	errSilentIdle  = errors.New("no further event in time")
	errSlept       = errors.New("the connection did not survive the machine's sleep")
)

// watch ends a request whose server has gone silent. Only content counts, not
// keep-alive comments; while the consumer works, the clock stands still.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limits limits
	start  time.Time
	done   chan struct{}

	lastContent atomic.Int64 // since start, in ns
	lastByte    atomic.Int64
	heard       atomic.Bool // content has come
	paused      atomic.Bool
}

func newWatch(ctx context.Context, l limits) *watch {
	w := &watch{limits: l, start: time.Now(), done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	go w.run()
	return w
}

func (w *watch) stop() {
	w.cancel(context.Canceled)
	<-w.done
}

func (w *watch) since() int64 { return int64(time.Since(w.start)) }

func (w *watch) content() {
	w.heard.Store(true)
	w.lastContent.Store(w.since())
}

func (w *watch) pause()  { w.paused.Store(true) }
func (w *watch) resume() { w.lastContent.Store(w.since()); w.paused.Store(false) }

// reader notes when bytes come.
func (w *watch) reader(r io.Reader) io.Reader { return &watchedReader{w, r} }

type watchedReader struct {
	w *watch
	r io.Reader
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if n > 0 {
		r.w.lastByte.Store(r.w.since())
	}
	return n, err
}

func (w *watch) run() {
	defer close(w.done)
	tick := time.NewTicker(min(lookEvery, max(w.limits.first/4, time.Millisecond), max(w.limits.idle/4, time.Millisecond)))
	defer tick.Stop()
	before := time.Now()
	var graceFrom int64 = -1
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if slept(now.Round(0).Sub(before.Round(0)), now.Sub(before)) {
			graceFrom = w.since()
		}
		before = now
		if err := w.verdict(w.since(), &graceFrom); err != nil {
			w.cancel(err)
			return
		}
	}
}

// slept reports whether the wall clock went further than the monotonic one,
// which stands still while the machine sleeps.
func slept(wall, monotonic time.Duration) bool { return wall-monotonic > jumpAt }

// verdict says why the connection must end now, nil where it need not.
func (w *watch) verdict(now int64, graceFrom *int64) error {
	if w.paused.Load() {
		return nil
	}
	if *graceFrom >= 0 {
		switch {
		case w.lastByte.Load() > *graceFrom:
			*graceFrom = -1
		case now-*graceFrom > int64(jumpGrace):
			return errSlept
		}
	}
	silent := time.Duration(now - w.lastContent.Load())
	switch {
	case !w.heard.Load() && silent > w.limits.first:
		return errSilentFirst
	case w.heard.Load() && silent > w.limits.idle:
		return errSilentIdle
	}
	return nil
}

// classed turns an error of the transport into a classed one, with the watch's
// own reason where it ended the request.
func (w *watch) classed(provider string, err error) *chat.Error {
	var e *chat.Error
	switch cause := context.Cause(w.ctx); {
	case cause == errSilentFirst:
		e = chat.NewError(chat.ClassTransient, "err.provider.silent_first", "%s sent nothing for %s. Try again; a slow local server can be given more time with first_event_seconds in the settings.", provider, w.limits.first)
	case cause == errSilentIdle:
		e = chat.NewError(chat.ClassTransient, "err.provider.silent", "%s fell silent for %s in the middle of the answer. Try again; a slow server can be given more time with idle_seconds in the settings.", provider, w.limits.idle)
	case cause == errSlept:
		e = chat.NewError(chat.ClassTransient, "err.provider.slept", "The connection to %s was lost while the machine slept. Try again.", provider)
	case errors.Is(cause, context.DeadlineExceeded):
		e = chat.NewError(chat.ClassTransient, "err.provider.timeout", "%s did not answer in time (%s). Check the network connection and try again.", provider, "deadline exceeded").Wrap(cause)
	case cause != nil:
		return chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.").Wrap(cause)
	default:
		return transportError(provider, err)
	}
	e.Provider = provider
	return e.Wrap(err)
}
