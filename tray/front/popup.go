package front

import (
	"context"
	"errors"
	"fmt"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/child"
)

// popup is one display's popup. The supervisor's mutex guards all but turn.
type popup struct {
	key  string
	turn chan struct{} // held by the order at work
	env  control.DesktopEnv

	proc    *child.Process // nil for one that somebody else started
	fresh   bool           // has not answered yet
	stopped bool
	send    func(control.FrontCommand) error // nil while not connected
	pid     int                              // of the one that is connected
	gone    chan struct{}                    // closed to end that connection
	changed chan struct{}                    // closed when it connects or ends

	order  int64 // at work
	answer chan<- control.FrontAck
	last   control.FrontAck // as far as the popup has told

	suspend, rest *time.Timer
}

// Why an order was not answered.
var (
	errNotFound  = errors.New("the popup's program is missing")
	errNoAnswer  = errors.New("no answer in time")
	errEnded     = errors.New("the popup ended")
	errNoConnect = errors.New("the popup did not connect in time")
)

// signal wakes those who wait for the popup to connect or end.
func (p *popup) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *popup) stopTimers() {
	for _, t := range []*time.Timer{p.suspend, p.rest} {
		if t != nil {
			t.Stop()
		}
	}
}

// state takes what a popup tells about itself, and sets the clock of its rest.
// mu is held.
func (s *Supervisor) state(p *popup, a control.FrontAck) {
	p.last = a
	p.stopTimers()
	if a.Visible || s.closed {
		return
	}
	p.suspend = time.AfterFunc(s.o.Limits.Suspend, func() { s.suspendIfIdle(p) })
	p.rest = time.AfterFunc(s.o.Limits.Rest, func() { s.endIfIdle(p) })
}

// maySuspend decides about a popup that told its state last: a visible one works,
// and one that owns a selection is asked for it by other programs.
func maySuspend(last control.FrontAck, atWork bool) bool {
	return !last.Visible && !last.OwnsSelection && !atWork
}

// suspendIfIdle suspends a hidden popup.
func (s *Supervisor) suspendIfIdle(p *popup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || p.proc == nil || p.stopped || p.send == nil || !maySuspend(p.last, p.answer != nil) {
		return
	}
	if s.holds > 0 {
		p.suspend = time.AfterFunc(s.o.Limits.Suspend, func() { s.suspendIfIdle(p) })
		return
	}
	if suspend(p.proc) {
		p.stopped = true
		s.o.Log.Debug("popup suspended", "display", p.key)
		go s.o.OnRest()
	}
}

// endIfIdle ends a popup that has been hidden for long.
func (s *Supervisor) endIfIdle(p *popup) {
	select {
	case p.turn <- struct{}{}:
	default:
		return // an order is at work, and its answer sets the clock anew
	}
	defer func() { <-p.turn }()
	s.mu.Lock()
	proc := p.proc
	if proc == nil || !maySuspend(p.last, p.answer != nil) {
		s.mu.Unlock()
		return
	}
	if p.stopped {
		wake(proc)
		p.stopped = false
	}
	send := p.send
	s.mu.Unlock()
	s.o.Log.Info("popup ended after its rest", "display", p.key)
	if send != nil {
		_ = send(control.FrontCommand{What: "quit"})
	}
	proc.Stop(s.o.Limits.Grace)
}

// try gives an order to a running popup, or to one that is started for it.
func (s *Supervisor) try(ctx context.Context, p *popup, c control.FrontCommand) (control.FrontAck, error) {
	if err := s.ensure(ctx, p); err != nil {
		return control.FrontAck{}, err
	}
	s.mu.Lock()
	p.stopTimers()
	woken, fresh := p.stopped, p.fresh
	if woken {
		wake(p.proc)
		p.stopped = false
	}
	s.mu.Unlock()
	if woken {
		if _, err := s.ask(ctx, p, control.FrontCommand{What: Ping}, s.o.Limits.Wake); err != nil {
			return control.FrontAck{}, fmt.Errorf("after its suspension: %w", err)
		}
	}
	limit := s.o.Limits.Answer
	if fresh {
		limit = s.o.Limits.First
	}
	return s.ask(ctx, p, c, limit)
}

// ask sends an order and waits for its answer.
func (s *Supervisor) ask(ctx context.Context, p *popup, c control.FrontCommand, limit time.Duration) (control.FrontAck, error) {
	answer := make(chan control.FrontAck, 1)
	s.mu.Lock()
	s.next++
	c.ID = s.next
	p.order, p.answer = c.ID, answer
	send, changed := p.send, p.changed
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		p.answer = nil
		s.mu.Unlock()
	}()
	if send == nil {
		return control.FrontAck{}, errEnded
	}
	// Sending may hang on a connection whose other end is stuck.
	sent := make(chan error, 1)
	go func() { sent <- send(c) }()
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		select {
		case a := <-answer:
			s.mu.Lock()
			p.fresh = false
			s.mu.Unlock()
			return a, nil
		case err := <-sent:
			if err != nil {
				return control.FrontAck{}, err
			}
			sent = nil
		case <-changed:
			s.mu.Lock()
			lost := p.send == nil
			changed = p.changed
			s.mu.Unlock()
			if lost {
				return control.FrontAck{}, errEnded
			}
		case <-t.C:
			return control.FrontAck{}, errNoAnswer
		case <-ctx.Done():
			return control.FrontAck{}, ctx.Err()
		case <-s.ctx.Done():
			return control.FrontAck{}, errEnding()
		}
	}
}

// ensure starts the popup unless it runs, and waits until it has connected.
func (s *Supervisor) ensure(ctx context.Context, p *popup) error {
	s.mu.Lock()
	if p.send == nil && p.proc == nil {
		if err := s.start(p); err != nil {
			s.mu.Unlock()
			return err
		}
	}
	proc := p.proc
	s.mu.Unlock()
	t := time.NewTimer(s.o.Limits.Attach)
	defer t.Stop()
	for {
		s.mu.Lock()
		connected, changed, replaced := p.send != nil, p.changed, p.proc != proc
		s.mu.Unlock()
		switch {
		case connected:
			return nil
		case replaced:
			return errEnded
		}
		select {
		case <-changed:
		case <-t.C:
			return errNoConnect
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return errEnding()
		}
	}
}

// start starts the popup's process. mu is held.
func (s *Supervisor) start(p *popup) error {
	if s.closed {
		return errEnding()
	}
	command := s.o.Command
	if command == nil {
		path, err := child.Find(Program)
		if err != nil {
			return chat.NewError(chat.ClassMisuse, "err.popup_missing",
				"The program %s was not found beside perch. Install it, or use perch chat in a terminal.", Program).
				Wrap(errors.Join(errNotFound, err))
		}
		command = []string{path}
	}
	env := p.env
	if env.Display != "" {
		// On Wayland the popup runs under XWayland: only there it can place itself
		// and take the focus.
		env.WaylandDisplay = ""
	}
	proc, err := child.Start(child.Spec{Path: command[0], Args: command[1:], Env: child.Environ(env), Stderr: logLines{s, p.key}})
	if err != nil {
		return chat.NewError(chat.ClassMisuse, "err.popup_start", "The popup cannot be started: %v. Install Perch again.", err).
			Wrap(errors.Join(errNotFound, err))
	}
	p.proc, p.fresh, p.stopped, p.last = proc, true, false, control.FrontAck{}
	s.wg.Go(func() {
		<-proc.Done()
		s.mu.Lock()
		if p.proc == proc {
			s.o.Log.Info("popup ended", "display", p.key, "error", proc.Err())
			s.forget(p)
		}
		s.mu.Unlock()
		s.o.OnChange()
	})
	return nil
}

// forget notes that a popup's process has ended. mu is held.
func (s *Supervisor) forget(p *popup) {
	p.stopTimers()
	p.proc, p.send, p.stopped, p.last = nil, nil, false, control.FrontAck{}
	if p.gone != nil {
		close(p.gone)
		p.gone = nil
	}
	p.signal()
}

// kill ends a popup that does not answer.
func (s *Supervisor) kill(p *popup) {
	s.mu.Lock()
	proc := p.proc
	s.forget(p)
	s.mu.Unlock()
	if proc != nil {
		proc.Kill()
	}
}

// logLines writes what a popup says on its standard error to the log.
type logLines struct {
	s       *Supervisor
	display string
}

// Write logs a piece of output.
func (l logLines) Write(b []byte) (int, error) {
	l.s.o.Log.Info("popup", "display", l.display, "stderr", string(b))
	return len(b), nil
}
