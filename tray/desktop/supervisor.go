package desktop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/child"
)

const (
	// upTimeout is how long a call waits for a role that is starting. A start
	// takes some 50 ms, a busy machine makes it seconds.
	upTimeout = 5 * time.Second
	// stopGrace is what a role gets to end: a clipboard manager may be copying.
	stopGrace = 4 * time.Second
)

// Options are what a [Supervisor] works with.
type Options struct {
	// Command is the program and its first arguments; nil is this program with
	// [Argument].
	Command []string
	// OnEvent is told what happened on the desktop, in order, from one goroutine.
	OnEvent func(Event)
	// OnProblem is told a line for the user when the role had to be restarted.
	OnProblem func(*chat.Error)
	Log       *slog.Logger
}

// Supervisor is the owner's side of the desktop role. It may be used from many
// goroutines.
type Supervisor struct {
	o Options

	mu      sync.Mutex // guards what follows
	env     control.DesktopEnv
	offered *control.DesktopEnv // to start on when first needed
	started bool
	closed  bool
	cancel  context.CancelFunc
	kept    chan struct{}
	p       *child.Process        // the running role, nil between two
	up      bool                  // the role has said that it works
	changed chan struct{}         // closed when up or closed change
	next    int64                 // id of the next call
	waiting map[int64]chan<- line // calls without their reply
	menu    *Menu                 // as last set
	owned   *control.Clip         // Perch's content on the clipboard
	shown   bool                  // a tray host shows the icon
}

// New returns a supervisor without a role.
func New(o Options) *Supervisor {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	if o.OnProblem == nil {
		o.OnProblem = func(*chat.Error) {}
	}
	return &Supervisor{o: o, changed: make(chan struct{}), waiting: map[int64]chan<- line{}}
}

// Offer names a desktop on which the role is started when it is first needed. It
// changes nothing for a role that was started already.
func (s *Supervisor) Offer(env control.DesktopEnv) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.offered = &env
	}
}

// Start starts the role on a desktop, and starts it again whenever it is lost.
// On another desktop than before, the role moves there.
func (s *Supervisor) Start(env control.DesktopEnv) error {
	command := s.o.Command
	if command == nil {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the own program: %w", err)
		}
		command = []string{self, Argument}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.started && same(s.env, env) {
		return nil
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.env, s.started = env, true
	ctx, cancel := context.WithCancel(context.Background())
	previous, kept := s.kept, make(chan struct{})
	s.cancel, s.kept = cancel, kept
	go func() {
		defer close(kept)
		if previous != nil {
			<-previous
		}
		s.keep(ctx, env, command)
	}()
	return nil
}

// same reports whether two environments lead to the same desktop.
func same(a, b control.DesktopEnv) bool {
	return a.Display == b.Display && a.WaylandDisplay == b.WaylandDisplay && a.Bus == b.Bus && a.XAuthority == b.XAuthority
}

// keep keeps a role running until ctx ends.
func (s *Supervisor) keep(ctx context.Context, env control.DesktopEnv, command []string) {
	child.Keep(ctx, child.Plan{
		Start: func() (*child.Process, error) {
			// The first lines may come before the process is known to s.
			var p *child.Process
			known := make(chan struct{})
			p, err := child.Start(child.Spec{Path: command[0], Args: command[1:], Env: child.Environ(env),
				Stderr: logLines{s.o.Log}, Line: func(b []byte) { <-known; s.line(p, b) }})
			s.mu.Lock()
			if err == nil {
				s.p = p
			}
			s.mu.Unlock()
			close(known)
			return p, err
		},
		Down: func(err error, attempt int, wait time.Duration) {
			s.o.Log.Warn("the desktop role ended", "error", err, "attempt", attempt, "wait", wait)
			s.down()
			s.o.OnProblem(chat.NewError(chat.ClassTransient, "err.desktop_lost",
				"The part of Perch for tray, clipboard and notifications ended and is started again."))
		},
		Grace: stopGrace,
	})
	s.down()
}

// down forgets the role that ended; the calls it had are answered.
func (s *Supervisor) down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p, s.up, s.shown = nil, false, false
	for id, c := range s.waiting {
		c <- line{ID: id, Error: errLost()}
		delete(s.waiting, id)
	}
	s.signal()
}

// signal wakes those who wait for the role. mu is held.
func (s *Supervisor) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// line takes what a role wrote.
func (s *Supervisor) line(p *child.Process, b []byte) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		s.o.Log.Warn("the desktop role wrote what is no line of its protocol", "error", err)
		return
	}
	if l.Event == nil {
		s.mu.Lock()
		c := s.waiting[l.ID]
		delete(s.waiting, l.ID)
		s.mu.Unlock()
		if c != nil {
			c <- l
		}
		return
	}
	s.mu.Lock()
	switch l.Event.Kind {
	case Up:
		s.up = true
		s.restore(p)
		s.signal()
	case Owns:
		if !l.Event.On {
			s.owned = nil
		}
	case TrayShown:
		s.shown = l.Event.On
	}
	s.mu.Unlock()
	s.o.OnEvent(*l.Event)
}

// restore gives a new role what the lost one had. mu is held.
func (s *Supervisor) restore(p *child.Process) {
	send := func(call string, arg any) {
		b, err := json.Marshal(arg)
		if err == nil {
			err = p.Send(request{Call: call, Arg: b})
		}
		if err != nil {
			s.o.Log.Warn("the desktop role did not take over", "call", call, "error", err)
		}
	}
	if s.menu != nil {
		send(callMenu, s.menu)
	}
	if s.owned != nil {
		send(callWrite, write{Clip: *s.owned, OnlyIfFree: true})
	}
}

// call asks the role and waits for its answer.
func (s *Supervisor) call(ctx context.Context, call string, arg, result any) error {
	b, err := json.Marshal(arg)
	if err != nil {
		return fmt.Errorf("encode %s: %w", call, err)
	}
	p, err := s.running(ctx)
	if err != nil {
		return err
	}
	answer := make(chan line, 1)
	s.mu.Lock()
	s.next++
	id := s.next
	s.waiting[id] = answer
	if s.p != p {
		delete(s.waiting, id)
		s.mu.Unlock()
		return errLost()
	}
	s.mu.Unlock()
	if err := p.Send(request{ID: id, Call: call, Arg: b}); err != nil {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
		return errLost().Wrap(err)
	}
	select {
	case l := <-answer:
		if l.Error != nil {
			return l.Error
		}
		if result == nil || len(l.Result) == 0 {
			return nil
		}
		return json.Unmarshal(l.Result, result)
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
		return classed(ctx.Err())
	}
}

// running is the role, waited for while it starts.
func (s *Supervisor) running(ctx context.Context) (*child.Process, error) {
	s.mu.Lock()
	var env control.DesktopEnv
	needed := s.offered != nil && !s.started
	if needed {
		env = *s.offered
	}
	s.mu.Unlock()
	if needed {
		if err := s.Start(env); err != nil {
			return nil, err
		}
	}
	t := time.NewTimer(upTimeout)
	defer t.Stop()
	for {
		s.mu.Lock()
		p, up, changed, started := s.p, s.up, s.changed, s.started && !s.closed
		s.mu.Unlock()
		if !started {
			return nil, errNoDesktop()
		}
		if up && p != nil {
			return p, nil
		}
		select {
		case <-changed:
		case <-t.C:
			return nil, errLost()
		case <-ctx.Done():
			return nil, classed(ctx.Err())
		}
	}
}

func errNoDesktop() *chat.Error {
	return chat.NewError(chat.ClassMisuse, "err.no_desktop",
		"Perch has no desktop to work with here. Start perch in a desktop session and try again.")
}

func errLost() *chat.Error {
	return chat.NewError(chat.ClassTransient, "err.desktop_lost",
		"The part of Perch for tray, clipboard and notifications ended and is started again.")
}

// SetMenu shows a menu, now and after each restart of the role.
func (s *Supervisor) SetMenu(m Menu) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.menu = &m
	if !s.up || s.p == nil {
		return
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = s.p.Send(request{Call: callMenu, Arg: b})
	}
	if err != nil {
		s.o.Log.Warn("the tray menu was not updated", "error", err)
	}
}

// OwnsSelection reports whether content of Perch is on the clipboard: work that
// keeps a detached owner alive.
func (s *Supervisor) OwnsSelection() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owned != nil
}

// Shown reports whether a tray host shows the icon.
func (s *Supervisor) Shown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// Running reports whether the role works.
func (s *Supervisor) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

// Close ends the role, which hands the clipboard's content to the clipboard
// manager where there is one.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	cancel, kept := s.cancel, s.kept
	s.signal()
	s.mu.Unlock()
	if cancel != nil {
		cancel()
		<-kept
	}
}

// logLines writes what a role says on its standard error to the log.
type logLines struct{ log *slog.Logger }

// Write logs a piece of output.
func (l logLines) Write(b []byte) (int, error) {
	l.log.Info("desktop role", "stderr", string(b))
	return len(b), nil
}
