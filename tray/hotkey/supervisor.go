package hotkey

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/child"
)

const (
	// Program is the name of the process that holds the grab.
	Program = "perch-hotkey"
	// answerTimeout is how long a change of the hotkey waits for its outcome:
	// a start of perch-hotkey takes some 20 ms, a busy machine makes it a second.
	answerTimeout = 3 * time.Second
	// stopGrace is what perch-hotkey gets to end; it has nothing to save.
	stopGrace = time.Second
)

// Portal binds hotkeys where X11 grabs do not reach.
type Portal interface {
	// BindShortcuts binds all at once; none unbinds. Presses come by another way.
	BindShortcuts(ctx context.Context, bs []Binding) error
}

// Options are what a [Supervisor] works with.
type Options struct {
	// Path of perch-hotkey; "" finds it beside the running program or in PATH.
	Path string
	// Pressed is told of each press.
	Pressed func(id string, at time.Time)
	// Changed is called when the state is new. It must return at once and not
	// call the supervisor.
	Changed func()
	// Portal is used on Wayland; nil is none.
	Portal Portal
	// Say turns a classed error into a sentence of the interface's language; nil
	// keeps it English.
	Say func(*chat.Error) string
	Log *slog.Logger
}

// Supervisor keeps the hotkeys held: it starts perch-hotkey, starts it again
// when it dies, and registers anew when the settings change.
type Supervisor struct {
	o Options

	mu       sync.Mutex // guards what follows
	env      control.DesktopEnv
	bindings []Binding
	paused   bool
	gen      int                    // counts changes of what should be held
	cancel   context.CancelFunc     // ends the keeping of this generation
	kept     chan struct{}          // closed when it has ended
	state    map[string]*chat.Error // outcome by binding: nil is held
	changed  chan struct{}          // closed at each new state
	closed   bool
}

// New returns a supervisor that holds nothing yet.
func New(o Options) *Supervisor {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Say == nil {
		o.Say = func(e *chat.Error) string { return e.Message }
	}
	return &Supervisor{o: o, changed: make(chan struct{}), state: map[string]*chat.Error{}}
}

// Set says on which desktop which combinations are to be held. It returns at
// once; the outcome is told by Changed.
func (s *Supervisor) Set(env control.DesktopEnv, bs []Binding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sameDesktop(s.env, env) && slices.Equal(s.bindings, bs) && s.gen > 0 {
		return
	}
	s.env, s.bindings = env, slices.Clone(bs)
	s.restart()
}

// sameDesktop reports whether a hotkey held on one desktop is held on the other.
func sameDesktop(a, b control.DesktopEnv) bool {
	return a.Display == b.Display && a.WaylandDisplay == b.WaylandDisplay && a.XAuthority == b.XAuthority &&
		a.SessionType == b.SessionType && a.Bus == b.Bus
}

// Pause lets the hotkeys go, or takes them again, and waits for the outcome.
func (s *Supervisor) Pause(ctx context.Context, on bool) control.HotkeyState {
	s.mu.Lock()
	if s.paused != on {
		s.paused = on
		s.restart()
	}
	s.mu.Unlock()
	return s.Settled(ctx)
}

// Settled waits until it is known what became of every combination.
func (s *Supervisor) Settled(ctx context.Context) control.HotkeyState {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		s.mu.Lock()
		wanted := s.wanted()
		known := true
		for _, b := range wanted {
			if _, ok := s.state[b.ID]; !ok {
				known = false
			}
		}
		changed := s.changed
		state := s.hotkeyState()
		s.mu.Unlock()
		if known {
			return state
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return state
		}
	}
}

// State is the state of the main hotkey, with the problems of all.
func (s *Supervisor) State() control.HotkeyState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hotkeyState()
}

// Close lets everything go.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	kept := s.kept
	s.restart()
	s.mu.Unlock()
	if kept != nil {
		<-kept
	}
}

// wanted are the combinations that should be held now. mu is held.
func (s *Supervisor) wanted() []Binding {
	if s.paused || s.closed {
		return nil
	}
	var out []Binding
	for _, b := range s.bindings {
		if b.Combo != "" {
			out = append(out, b)
		}
	}
	return out
}

// hotkeyState sums up the outcomes. mu is held.
func (s *Supervisor) hotkeyState() control.HotkeyState {
	st := control.HotkeyState{Paused: s.paused}
	for _, b := range s.bindings {
		if b.ID == Toggle {
			st.Combo = b.Combo
		}
	}
	for _, b := range s.wanted() {
		err, known := s.state[b.ID]
		switch {
		case known && err == nil:
			st.Active = st.Active || b.ID == Toggle
		case known && st.Problem == "":
			st.Problem = s.o.Say(err)
		}
	}
	return st
}

// restart ends what holds the hotkeys and starts it anew for what is wanted
// now. mu is held.
func (s *Supervisor) restart() {
	s.gen++
	s.state = map[string]*chat.Error{}
	previous := s.kept
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
	wanted, env := s.wanted(), s.env
	s.tell()
	ctx, cancel := context.WithCancel(context.Background())
	kept := make(chan struct{})
	s.cancel, s.kept = cancel, kept
	gen := s.gen
	go func() {
		defer close(kept)
		// Two processes cannot hold the same combination: the old one must be
		// gone first.
		if previous != nil {
			<-previous
		}
		s.hold(ctx, gen, env, wanted)
	}()
}

// hold holds combinations until ctx ends.
func (s *Supervisor) hold(ctx context.Context, gen int, env control.DesktopEnv, bs []Binding) {
	wayland := Wayland(env)
	if wayland && s.o.Portal != nil {
		s.bindPortal(ctx, gen, bs)
		return
	}
	if len(bs) == 0 {
		return
	}
	if wayland {
		s.outcome(gen, bs, noPortal())
		return
	}
	if env.Display == "" {
		s.outcome(gen, bs, chat.NewError(chat.ClassMisuse, "err.hotkey_no_display",
			"There is no display for the hotkey. Start perch in a desktop session."))
		return
	}
	path := s.o.Path
	if path == "" {
		var err error
		if path, err = child.Find(Program); err != nil {
			s.outcome(gen, bs, chat.NewError(chat.ClassMisuse, "err.hotkey_no_program",
				"The program %s was not found beside perch. Install it, or bind a key to perch toggle in your desktop's settings.", Program).Wrap(err))
			return
		}
	}
	child.Keep(ctx, child.Plan{
		Start: func() (*child.Process, error) {
			return child.Start(child.Spec{Path: path, Args: Args(bs), Env: child.Environ(env),
				Line: func(line []byte) { s.line(gen, line) }})
		},
		Down: func(err error, attempt int, wait time.Duration) {
			s.o.Log.Warn("the hotkey's process ended", "error", err, "attempt", attempt, "wait", wait)
			s.outcome(gen, bs, chat.NewError(chat.ClassTransient, "err.hotkey_lost",
				"The hotkey's process ended, the display may be gone. It is tried again by itself."))
		},
		Grace: stopGrace,
	})
}

// Wayland reports whether a desktop is one where X11 grabs are silent.
func Wayland(env control.DesktopEnv) bool {
	return env.WaylandDisplay != "" && env.SessionType != "x11"
}

// bindPortal binds by the desktop's portal until ctx ends.
func (s *Supervisor) bindPortal(ctx context.Context, gen int, bs []Binding) {
	for attempt := 1; ; attempt++ {
		err := s.o.Portal.BindShortcuts(ctx, bs)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.outcome(gen, bs, nil)
			return
		}
		e := chat.AsError(err)
		if e.Class == chat.ClassInternal {
			e = noPortal().Wrap(err)
		}
		s.outcome(gen, bs, e)
		if e.Class != chat.ClassTransient {
			return
		}
		t := time.NewTimer(child.Backoff(attempt))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// Rebind binds again by the portal, whose session ended with the process that
// held it.
func (s *Supervisor) Rebind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if Wayland(s.env) && s.gen > 0 && !s.closed {
		s.restart()
	}
}

func noPortal() *chat.Error {
	return chat.NewError(chat.ClassMisuse, "err.hotkey_wayland",
		"This Wayland desktop lets no program bind a hotkey. Bind a key to the command perch toggle in the desktop's keyboard settings.")
}

// line takes what perch-hotkey wrote.
func (s *Supervisor) line(gen int, line []byte) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		s.o.Log.Warn("the hotkey's process wrote what is no event", "error", err)
		return
	}
	bs := []Binding{{ID: e.ID}}
	switch e.Event {
	case Pressed:
		s.mu.Lock()
		current := gen == s.gen
		s.mu.Unlock()
		if current && s.o.Pressed != nil {
			s.o.Pressed(e.ID, e.Time)
		}
	case Ready:
		s.outcome(gen, bs, nil)
	case Taken:
		combo := ""
		s.mu.Lock()
		for _, b := range s.bindings {
			if b.ID == e.ID {
				combo = b.Combo
			}
		}
		s.mu.Unlock()
		if c, err := Parse(combo); err == nil {
			combo = c.Label()
		}
		s.outcome(gen, bs, chat.NewError(chat.ClassMisuse, "err.hotkey_taken",
			"Another program holds %s. Choose another hotkey in the settings, or end that program.", combo))
	case Problem:
		if e.Err == nil {
			e.Err = chat.NewError(chat.ClassInternal, "err.internal", "%s", "the hotkey's process gave no reason")
		}
		s.outcome(gen, bs, e.Err)
	}
}

// outcome records what became of combinations.
func (s *Supervisor) outcome(gen int, bs []Binding, err *chat.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gen != s.gen {
		return
	}
	for _, b := range bs {
		s.state[b.ID] = err
	}
	s.tell()
}

// tell wakes those who wait for a new state. mu is held.
func (s *Supervisor) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
	if s.o.Changed != nil {
		s.o.Changed()
	}
}
