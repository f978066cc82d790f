// Package front keeps a popup for each display: a process of its own that is
// started when first needed, kept warm while hidden, suspended once it has
// nothing to do, and ended after a long rest.
//
// Every order is answered by the popup's window thread or counts as not
// answered: a popup that does not answer is killed and started again once, and
// after that the caller gets a sentence. A press of the hotkey therefore never
// ends in silence. No popup outlives Perch, a suspended one neither.
package front

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/child"
)

// Program is the name of the popup's program.
const Program = "perch-popup"

// Ping is an order that only wants an answer.
const Ping = "ping"

// Limits are the times of a popup's life. [DefaultLimits] says why they are what
// they are.
type Limits struct {
	Attach  time.Duration // from start to connection
	First   time.Duration // first answer of a fresh popup
	Answer  time.Duration // answer of a warm popup
	Wake    time.Duration // answer after a suspension
	Suspend time.Duration // from hidden to suspended
	Rest    time.Duration // from hidden to ended
	Grace   time.Duration // to end by itself
	Repaint time.Duration // for what was beneath a popup
}

// DefaultLimits are the times of real life.
var DefaultLimits = Limits{
	// A cold start takes 1.2 s on a quiet machine; a busy one takes ten times that.
	Attach: 20 * time.Second,
	First:  15 * time.Second,
	// A warm popup answers within 20 ms. After three seconds its window thread is
	// stuck, and the user has pressed again.
	Answer: 3 * time.Second,
	// A suspended one answers within 60 ms after hours, or something that it holds
	// went away meanwhile.
	Wake: 300 * time.Millisecond,
	// The popup stores its draft and window size when it hides; a request cut in
	// half by the suspension would be answered into the void.
	Suspend: 2 * time.Second,
	// Half an hour without a question: its 200 MB serve others better.
	Rest:  30 * time.Minute,
	Grace: 2 * time.Second,
	// Window managers repaint what was beneath a frame or two later.
	Repaint: 120 * time.Millisecond,
}

// Options are what a [Supervisor] works with.
type Options struct {
	// Command is the popup's program and arguments; nil finds [Program] beside the
	// running program or in PATH.
	Command []string
	// Limits replace [DefaultLimits] where they are not zero as a whole.
	Limits Limits
	// OnProblem is told a line for the user when a popup had to be restarted.
	OnProblem func(*chat.Error)
	// OnChange is told that a popup was shown, hidden, focused or gone.
	OnChange func()
	// OnRest is told that a popup was suspended: nobody is at work with it.
	OnRest func()
	Log    *slog.Logger
}

// Supervisor fulfils [control.Front].
type Supervisor struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards popups and everything in them
	popups map[string]*popup
	next   int64 // id of the next order
	holds  int   // reasons not to suspend any popup
	closed bool
}

var _ control.Front = (*Supervisor)(nil)

// New returns a supervisor without popups.
func New(o Options) *Supervisor {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits
	}
	if o.OnProblem == nil {
		o.OnProblem = func(*chat.Error) {}
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	if o.OnRest == nil {
		o.OnRest = func() {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &Supervisor{o: o, popups: map[string]*popup{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Key names the display of a desktop: popups of the same key are the same.
func Key(env control.DesktopEnv) string {
	if env.Display != "" {
		return env.Display
	}
	return env.WaylandDisplay
}

// Command sends an order to the popup of that display, starting it if need be,
// and waits for its answer.
func (s *Supervisor) Command(ctx context.Context, env control.DesktopEnv, c control.FrontCommand) (control.FrontAck, error) {
	p, err := s.popup(env)
	if err != nil {
		return control.FrontAck{}, err
	}
	select { // one order at a time: a toggle must see what the one before did
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return control.FrontAck{}, ctx.Err()
	case <-s.ctx.Done():
		return control.FrontAck{}, errEnding()
	}
	return s.command(ctx, p, c)
}

// popup is the popup of a desktop, made on demand.
func (s *Supervisor) popup(env control.DesktopEnv) (*popup, error) {
	p, err := s.named(Key(env))
	if err == nil {
		s.mu.Lock()
		p.env = env
		s.mu.Unlock()
	}
	return p, err
}

// named is the popup of a display, made on demand.
func (s *Supervisor) named(key string) (*popup, error) {
	if key == "" {
		return nil, chat.NewError(chat.ClassMisuse, "err.no_display",
			"There is no display to open the window on. Use perch ask or perch chat, or start perch in a desktop session.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errEnding()
	}
	p := s.popups[key]
	if p == nil {
		p = &popup{key: key, turn: make(chan struct{}, 1), changed: make(chan struct{})}
		s.popups[key] = p
	}
	return p, nil
}

// command gives an order to a popup whose turn is held. A popup that does not
// answer is replaced once.
func (s *Supervisor) command(ctx context.Context, p *popup, c control.FrontCommand) (control.FrontAck, error) {
	id := c.ID
	if c.What == "hide" || c.What == "quit" {
		s.mu.Lock()
		running := p.send != nil || p.proc != nil
		s.mu.Unlock()
		if !running {
			return control.FrontAck{ID: id}, nil
		}
	}
	var last error
	for attempt := range 2 {
		ack, err := s.try(ctx, p, c)
		if err == nil {
			ack.ID = id
			return ack, nil
		}
		if ctx.Err() != nil || s.ctx.Err() != nil {
			return control.FrontAck{}, err
		}
		last = err
		s.o.Log.Warn("the popup did not answer", "display", p.key, "order", c.What, "attempt", attempt+1, "error", err)
		s.kill(p)
		if errors.Is(err, errNotFound) {
			break
		}
		if attempt == 0 {
			s.o.OnProblem(chat.NewError(chat.ClassTransient, "err.popup_restarted",
				"The popup did not answer and was started again."))
		}
	}
	if e := chat.AsError(last); e.Class != chat.ClassInternal {
		return control.FrontAck{}, e
	}
	return control.FrontAck{}, chat.NewError(chat.ClassTransient, "err.popup_dead",
		"The popup does not answer, started again neither. Run perch doctor, or use perch chat in a terminal.").Wrap(last)
}

// Attach is a popup's connection: it receives orders until ctx ends.
func (s *Supervisor) Attach(ctx context.Context, display string, pid int, send func(control.FrontCommand) error) error {
	p, err := s.named(display)
	if err != nil {
		return err
	}
	s.mu.Lock()
	other := p.send != nil && p.pid != pid || p.proc != nil && pid != 0 && p.proc.PID() != pid
	if other {
		s.mu.Unlock()
		return chat.NewError(chat.ClassMisuse, "err.popup_twice",
			"There is a popup on display %s already. End that one first.", display)
	}
	if p.gone != nil { // the same popup connects anew
		close(p.gone)
	}
	gone := make(chan struct{})
	p.send, p.gone, p.pid = send, gone, pid
	p.signal()
	s.mu.Unlock()

	var why error
	select {
	case <-ctx.Done():
		why = ctx.Err()
	case <-s.ctx.Done():
		why = errEnding()
	case <-gone:
		why = errors.New("the popup was replaced")
	}
	s.mu.Lock()
	if p.gone == gone {
		p.send, p.gone = nil, nil
		p.signal()
	}
	s.mu.Unlock()
	return why
}

// Ack answers an order, or with ID 0 reports a change.
func (s *Supervisor) Ack(_ context.Context, display string, a control.FrontAck) error {
	s.mu.Lock()
	p := s.popups[display]
	if p == nil {
		s.mu.Unlock()
		return chat.NewError(chat.ClassMisuse, "err.popup_unknown", "There is no popup on display %s.", display)
	}
	s.state(p, a)
	if a.ID != 0 && a.ID == p.order && p.answer != nil {
		p.answer <- a
		p.answer = nil
	}
	s.mu.Unlock()
	s.o.OnChange()
	return nil
}

// Warm starts the popup of a display, so that the first press finds it.
func (s *Supervisor) Warm(env control.DesktopEnv) {
	if Key(env) == "" {
		return
	}
	s.wg.Go(func() {
		if _, err := s.Command(s.ctx, env, control.FrontCommand{What: Ping}); err != nil && s.ctx.Err() == nil {
			s.o.Log.Warn("the popup could not be started ahead", "error", err)
		}
	})
}

// Looking reports whether the user has a session in front of them.
func (s *Supervisor) Looking(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.popups {
		if p.last.Visible && p.last.Focused && p.last.Session == session {
			return true
		}
	}
	return false
}

// CanAsk reports whether a popup can put a question to the user: one is there,
// or there is a display to open one on.
func (s *Supervisor) CanAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.popups) > 0 && !s.closed
}

// WithoutPopups runs f while no popup of a display is on the screen, and shows
// those again that were. It is for screenshots.
//
// A popup that has hidden itself for this waits for the picture: no popup is
// suspended meanwhile.
func (s *Supervisor) WithoutPopups(ctx context.Context, env control.DesktopEnv, f func() error) error {
	s.mu.Lock()
	s.holds++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.holds--
		s.mu.Unlock()
	}()
	s.mu.Lock()
	p := s.popups[Key(env)]
	visible := p != nil && p.last.Visible
	var session string
	if visible {
		session = p.last.Session
	}
	s.mu.Unlock()
	if !visible {
		return f()
	}
	if _, err := s.Command(ctx, env, control.FrontCommand{What: "hide"}); err != nil {
		return err
	}
	t := time.NewTimer(s.o.Limits.Repaint)
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	t.Stop()
	err := f()
	// The window comes back even where the caller has given up.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Limits.First)
	defer cancel()
	if _, showErr := s.Command(back, env, control.FrontCommand{What: "show", Session: session}); err == nil {
		err = showErr
	}
	return err
}

// Close ends all popups.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	var procs []*child.Process
	for _, p := range s.popups {
		p.stopTimers()
		if p.proc != nil {
			if p.stopped {
				wake(p.proc)
			}
			procs = append(procs, p.proc)
		}
	}
	s.mu.Unlock()
	s.cancel()
	var wg sync.WaitGroup
	for _, p := range procs {
		wg.Go(func() { p.Stop(s.o.Limits.Grace) })
	}
	wg.Wait()
	s.wg.Wait()
}

func errEnding() *chat.Error {
	return chat.NewError(chat.ClassMisuse, "err.closing", "Perch is ending. Start it again and ask then.")
}
