package popup

import (
	"context"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/popup/transcript"
)

// framePause is the least time between two drawings of streamed text: 30 a
// second are as smooth as reading needs and leave the window's thread free.
const framePause = time.Second / 30

// coalescer gathers frames and hands them over at most once a framePause.
type coalescer struct {
	mu      sync.Mutex // guards what follows
	frames  []control.Frame
	pending bool
	last    time.Time
	closed  bool
	deliver func([]control.Frame)
	post    func(func())
}

func (c *coalescer) add(f control.Frame) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.frames = append(c.frames, f)
	first := !c.pending
	c.pending = true
	wait := framePause - time.Since(c.last)
	c.mu.Unlock()
	switch {
	case !first:
	case wait <= 0:
		c.post(c.flush)
	default:
		time.AfterFunc(wait, func() { c.post(c.flush) })
	}
}

func (c *coalescer) flush() {
	c.mu.Lock()
	frames := c.frames
	c.frames, c.pending, c.last = nil, false, time.Now()
	closed := c.closed
	c.mu.Unlock()
	if !closed && len(frames) > 0 {
		c.deliver(frames)
	}
}

func (c *coalescer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// rewatchPause is the wait before a watch that broke is begun again.
const rewatchPause = 300 * time.Millisecond

// watch follows a session until another one is opened.
func (p *Popup) watch(id string) {
	if p.unwatch != nil {
		p.unwatch()
	}
	ctx, cancel := context.WithCancel(p.ctx)
	c := &coalescer{post: p.post, deliver: func(f []control.Frame) {
		if p.session == id {
			p.take(f)
		}
	}}
	p.unwatch = func() { cancel(); c.close() }
	p.goes(func(context.Context) {
		for ctx.Err() == nil {
			err := p.svc.Runs.Watch(ctx, id, func(f control.Frame) error { c.add(f); return ctx.Err() })
			if ctx.Err() != nil {
				return
			}
			if err != nil && chat.ClassOf(err) == chat.ClassMisuse {
				p.post(func() { p.fail(err) })
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(rewatchPause):
			}
		}
	})
}

// take folds frames into the transcript and draws once.
func (p *Popup) take(frames []control.Frame) {
	hadQuestion := p.tr.Question() != nil
	change := transcript.Change{From: len(p.tr.Rows())}
	for _, e := range merge(frames) {
		c := change
		switch {
		case e.snapshot != nil:
			c = p.tr.Reset(*e.snapshot)
			p.info = e.snapshot.View.SessionInfo
			p.model = p.info.Model
		case e.session != nil:
			p.info = *e.session
			p.model = p.info.Model
		case e.message != nil:
			c = p.tr.Entered(*e.message)
		case e.event != nil:
			c = p.tr.Apply(e.event)
		}
		change.From = min(change.From, c.From)
	}
	p.draw(change)
	if q := p.tr.Question(); q != nil != hadQuestion || q != nil && q.ID != p.ui.approval.call() {
		p.ui.ask(q)
	}
	if _, running := p.tr.Running(); !running && p.ui.status.text == p.t("popup.stopping") {
		p.ui.status.text = ""
	}
	p.ui.refreshStatus()
	if p.tr.Drained() {
		p.reload()
	}
}

// step is a decoded frame.
type step struct {
	snapshot *control.Snapshot
	session  *control.SessionInfo
	message  *chat.Message
	event    chat.Event
}

// merge decodes frames and joins text that follows upon text, so that a burst
// costs one drawing.
func merge(frames []control.Frame) []step {
	out := make([]step, 0, len(frames))
	for _, f := range frames {
		switch {
		case f.Message != nil:
			out = append(out, step{message: f.Message})
		case f.Snapshot != nil:
			out = append(out, step{snapshot: f.Snapshot})
		case f.Session != nil:
			out = append(out, step{session: f.Session})
		case len(f.Event) > 0:
			e, err := chat.UnmarshalEvent(f.Event)
			if err != nil {
				continue // of a newer owner: the handshake has offered a restart
			}
			if n := len(out); n > 0 && join(out[n-1].event, e) {
				continue
			}
			out = append(out, step{event: e})
		}
	}
	return out
}

// join adds the text of b to a where both are text of one run.
func join(a, b chat.Event) bool {
	switch b := b.(type) {
	case *chat.TextDelta:
		if a, ok := a.(*chat.TextDelta); ok && a.Run == b.Run {
			a.Text += b.Text
			a.Seq = b.Seq
			return true
		}
	case *chat.ThinkingDelta:
		if a, ok := a.(*chat.ThinkingDelta); ok && a.Run == b.Run {
			a.Text += b.Text
			a.Seq = b.Seq
			return true
		}
	}
	return false
}

// draw shows a change of the transcript. A hidden window is left alone: drawing
// one grows memory and is seen by nobody.
func (p *Popup) draw(c transcript.Change) {
	if !p.shown {
		p.dirty = true
		return
	}
	p.view.Update(p.tr.Rows(), c)
	p.ui.grow()
	p.ui.refreshEnd()
	p.countdown()
}

// countdown keeps a retry's seconds running.
func (p *Popup) countdown() {
	rows := p.tr.Rows()
	if len(rows) == 0 || rows[len(rows)-1].Kind != transcript.Line || rows[len(rows)-1].Line.Kind != transcript.RetryLine {
		return
	}
	if p.tick != nil {
		p.tick.Stop()
	}
	p.tick = time.AfterFunc(time.Second, func() {
		p.post(func() {
			if p.shown {
				p.view.Tick()
				p.countdown()
			}
		})
	})
}

// reload asks for the session as it is stored, once a run has ended: its
// messages have ids by then, which fork, edit and pin need.
func (p *Popup) reload() {
	id := p.session
	do(p, func(ctx context.Context) (control.SessionView, error) {
		return p.svc.Sessions.ViewSession(ctx, id)
	}, func(v control.SessionView, err error) {
		if err != nil || p.session != id || !p.tr.Drained() {
			return
		}
		p.info = v.SessionInfo
		p.draw(p.tr.Reset(control.Snapshot{View: v}))
		p.ui.refreshStatus()
	})
}
