package tray

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"perch/assets"
	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/tray/child"
	"perch/tray/desktop"
	"perch/tray/footprint"
	"perch/tray/front"
	"perch/tray/hotkey"
	"perch/tray/login"
)

const (
	// hostGrace is how long a tray host may take to come at login before the user
	// is told that there is none.
	hostGrace = 15 * time.Second
	// problemStay is how long a line about something that mended itself is shown.
	problemStay = 10 * time.Minute
	// orderTimeout bounds one order to the popup: a cold start and its repetition.
	orderTimeout = time.Minute
	// watchPause is the pause before the state is watched again after a failure.
	watchPause = time.Second
	// settled is how long after its start the owner gives back what starting needed.
	settled = 5 * time.Second
	// noteTimeout bounds one notification.
	noteTimeout = 30 * time.Second
)

// Options are what a tray works with. Watch, Config and Quit are required for
// [Tray.Start], the others have defaults.
type Options struct {
	// Watch sends the state and every later one until ctx ends.
	Watch func(ctx context.Context, send func(control.State) error) error
	// Config returns the settings of now; nil are the defaults.
	Config func() config.Config
	// Texts returns the words of the interface's language; nil follows the settings
	// and the locale.
	Texts func() *assets.Texts
	// Quit ends the owner.
	Quit func()
	// Changed is called when [Tray.Status] is new. It must return at once.
	Changed func()
	// Role, Popup and Hotkey replace the programs that are started: the desktop
	// role and the popup with their arguments, and the path of perch-hotkey.
	Role   []string
	Popup  []string
	Hotkey string
	// NoWarm leaves the popup unstarted until it is first wanted.
	NoWarm bool
	// Login finds out how Perch is started at login; nil is [login.Default].
	Login func(env []string) (login.Place, error)
	Log   *slog.Logger
}

// Status is what the tray adds to the owner's state.
type Status struct {
	Hotkey   control.HotkeyState
	Problems []string
	Tray     bool // this owner is the tray
	Shown    bool // and a tray host shows its icon
}

// Tray fulfils [control.Desktop]; [Tray.Front] fulfils [control.Front].
type Tray struct {
	o     Options
	role  *desktop.Supervisor
	keys  *hotkey.Supervisor
	front *front.Supervisor
	pace  *pacer
	// hostGrace is the constant of that name; tests are less patient.
	hostGrace time.Duration

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // guards what follows
	env      control.DesktopEnv
	tray     bool
	state    control.State
	place    *login.Place
	login    loginState
	problems []problem
	ups      int // roles that came up
	hostSaid bool
	hostWait *time.Timer
	older    *time.Timer // shows the menu again when an age in it changes
}

// problem is a line for the user.
type problem struct {
	err *chat.Error
	at  time.Time
}

var _ control.Desktop = (*Tray)(nil)

// New returns a tray that does nothing yet.
func New(o Options) *Tray {
	if o.Config == nil {
		o.Config = config.Default
	}
	if o.Texts == nil {
		o.Texts = textsOf(o.Config)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Quit == nil {
		o.Quit = func() {}
	}
	if o.Login == nil {
		o.Login = login.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	t := &Tray{o: o, hostGrace: hostGrace}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.role = desktop.New(desktop.Options{Command: o.Role, OnEvent: t.event, OnProblem: t.problem, Log: o.Log})
	t.front = front.New(front.Options{Command: o.Popup, OnProblem: t.problem, OnRest: t.rest, Log: o.Log})
	t.keys = hotkey.New(hotkey.Options{Path: o.Hotkey, Pressed: t.pressed, Changed: t.changed, Portal: t.role,
		Say: func(e *chat.Error) string { return t.o.Texts().Error(e) }, Log: o.Log})
	t.pace = newPacer(notePause, t.notify)
	return t
}

// textsOf returns the words of the language that the settings have now.
func textsOf(conf func() config.Config) func() *assets.Texts {
	var mu sync.Mutex // guards texts
	texts := map[string]*assets.Texts{}
	return func() *assets.Texts {
		lang := conf().Language
		mu.Lock()
		defer mu.Unlock()
		if texts[lang] == nil {
			texts[lang] = assets.NewTexts(lang)
		}
		return texts[lang]
	}
}

// Start becomes the tray of a desktop. A second call moves it there.
func (t *Tray) Start(env control.DesktopEnv) error {
	if err := t.role.Start(env); err != nil {
		return err
	}
	t.mu.Lock()
	first := !t.tray
	t.tray, t.env = true, env
	t.mu.Unlock()
	if first && t.o.Watch != nil {
		t.wg.Go(t.watch)
	}
	if first {
		trim := time.AfterFunc(settled, footprint.Trim)
		context.AfterFunc(t.ctx, func() { trim.Stop() })
	}
	t.wg.Go(t.findLogin)
	t.Reload()
	if !t.o.NoWarm {
		t.front.Warm(env)
	}
	t.o.Changed()
	return nil
}

// Serve makes clipboard, screenshots and notifications of a desktop available,
// without an icon. Nothing is started before it is needed. The desktop of a tray,
// or one that is in use, is kept.
func (t *Tray) Serve(env control.DesktopEnv) {
	if env.Display == "" && env.WaylandDisplay == "" && env.Bus == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.tray {
		t.env = env
		t.role.Offer(env)
	}
}

// Reload follows the settings: hotkeys are registered anew where they changed,
// and the menu is in their language.
func (t *Tray) Reload() {
	t.mu.Lock()
	env, tray := t.env, t.tray
	t.mu.Unlock()
	if !tray {
		return
	}
	t.keys.Set(env, bindings(t.o.Config(), t.o.Texts()))
	t.show()
}

// bindings are the hotkeys of the settings: the popup's, and those of prompts.
func bindings(c config.Config, texts *assets.Texts) []hotkey.Binding {
	bs := []hotkey.Binding{{ID: hotkey.Toggle, Combo: c.Hotkey, Label: texts.T("tray.hotkey_toggle")}}
	for _, p := range c.Prompts {
		if p.Hotkey != "" {
			bs = append(bs, hotkey.Binding{ID: hotkey.PromptID(p.Name), Combo: p.Hotkey, Label: p.Name})
		}
	}
	return bs
}

// Status is what the owner adds to its state.
func (t *Tray) Status() Status {
	s := Status{Hotkey: t.keys.State(), Shown: t.role.Shown()}
	texts := t.o.Texts()
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Tray = t.tray
	if !t.tray {
		s.Hotkey.Combo = t.o.Config().Hotkey
	}
	t.problems = slices.DeleteFunc(t.problems, func(p problem) bool { return time.Since(p.at) > problemStay })
	for _, p := range t.problems {
		s.Problems = append(s.Problems, texts.Error(p.err))
	}
	return s
}

// Front is the popup of each display.
func (t *Tray) Front() control.Front { return desk{t.front, t} }

// desk is the popups' front, which learns from each order where a desktop is.
type desk struct {
	*front.Supervisor
	t *Tray
}

// Command sends an order to the popup of that display.
func (d desk) Command(ctx context.Context, env control.DesktopEnv, c control.FrontCommand) (control.FrontAck, error) {
	d.t.Serve(env)
	return d.Supervisor.Command(ctx, env, c)
}

// CanAsk reports whether a popup can put a question to the user: one is there,
// or a tray that can open one.
func (t *Tray) CanAsk() bool {
	t.mu.Lock()
	open := t.tray && front.Key(t.env) != ""
	t.mu.Unlock()
	return open || t.front.CanAsk()
}

// Busy reports whether an owner without a tray must stay: content of Perch is on
// the clipboard.
func (t *Tray) Busy() bool { return t.role.OwnsSelection() }

// Close ends everything that was started. The clipboard's content goes to the
// clipboard manager where there is one.
func (t *Tray) Close() {
	t.cancel()
	t.pace.close()
	t.mu.Lock()
	for _, timer := range []*time.Timer{t.hostWait, t.older} {
		if timer != nil {
			timer.Stop()
		}
	}
	t.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(t.keys.Close)
	wg.Go(t.front.Close)
	wg.Go(t.role.Close)
	wg.Wait()
	t.wg.Wait()
}

// watch shows the owner's state until the tray ends.
func (t *Tray) watch() {
	for t.ctx.Err() == nil {
		err := t.o.Watch(t.ctx, func(st control.State) error {
			t.mu.Lock()
			t.state = st
			t.mu.Unlock()
			t.show()
			return nil
		})
		if t.ctx.Err() != nil {
			return
		}
		t.o.Log.Warn("the tray lost sight of the state", "error", err)
		timer := time.NewTimer(watchPause)
		select {
		case <-timer.C:
		case <-t.ctx.Done():
			timer.Stop()
		}
	}
}

// show brings the menu up to date.
func (t *Tray) show() {
	h := t.keys.State()
	t.mu.Lock()
	st, on, tray := t.state, t.login, t.tray
	t.mu.Unlock()
	if !tray {
		return
	}
	// The hotkey is the tray's own: what it knows is newer than what comes round
	// by the owner's state.
	st.Hotkey = h
	now := time.Now()
	t.role.SetMenu(menuOf(st, on, t.o.Texts(), now))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.older != nil {
		t.older.Stop()
	}
	if t.ctx.Err() == nil {
		t.older = time.AfterFunc(untilOlder(st.Recent, now), t.show)
	}
}

// changed is told by the hotkeys' supervisor, with its lock held.
func (t *Tray) changed() {
	go func() {
		if t.ctx.Err() == nil {
			t.show()
			t.o.Changed()
		}
	}()
}

// problem notes a line for the user. The same line again is the same problem.
func (t *Tray) problem(e *chat.Error) {
	t.mu.Lock()
	t.problems = slices.DeleteFunc(t.problems, func(p problem) bool { return p.err.ID == e.ID })
	t.problems = append(t.problems, problem{e, time.Now()})
	t.mu.Unlock()
	t.o.Log.Warn(e.Message)
	t.o.Changed()
}

// rest gives back what the last question needed, once the popup has gone to rest
// and no run is at work.
func (t *Tray) rest() {
	t.mu.Lock()
	busy := t.state.Activity == control.Running
	t.mu.Unlock()
	if !busy {
		footprint.Trim()
	}
}

// findLogin finds out how Perch is started at login.
func (t *Tray) findLogin() {
	t.mu.Lock()
	env := t.env
	t.mu.Unlock()
	p, err := t.o.Login(child.Environ(env))
	if err != nil {
		t.o.Log.Info("start at login is not offered", "reason", err)
		return
	}
	t.mu.Lock()
	t.place, t.login = &p, loginState{possible: true, on: p.Enabled()}
	t.mu.Unlock()
	t.show()
}
