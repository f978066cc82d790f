// Package popup is the window that opens over whatever the user is doing: it
// takes a question, shows the answer as it streams, asks for permissions and
// shows sessions and settings. It is a client of the control socket and holds
// nothing of its own but a window size: whatever it shows can be shown again by
// another process.
package popup

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"fyne.io/fyne/v2"

	"perch/assets"
	"perch/chat"
	"perch/control"
	"perch/popup/chatview"
	"perch/popup/flow"
	"perch/popup/look"
	"perch/popup/place"
	"perch/popup/transcript"
)

// Options are what a popup is made of.
type Options struct {
	// App is the toolkit's application.
	App fyne.App
	// Services are the process that owns sessions and runs.
	Services control.Services
	// Texts are the words; nil follows the locale.
	Texts *assets.Texts
	// Desk is the window system; nil leaves windows to the toolkit.
	Desk place.Desk
	// Display names the display to the owner.
	Display string
	// PID is this process; 0 where it does not matter.
	PID int
	// StateFile keeps the window's size; "" keeps it nowhere.
	StateFile string
	// OpenURL opens a link outside; nil uses the toolkit.
	OpenURL func(string) error
	// Post runs a function on the window's thread and, with wait, waits for it;
	// nil is the toolkit's own way.
	Post func(f func(), wait bool)
	// Ended is called on the window's thread when the popup ends.
	Ended func()
}

// Popup is one popup. All methods but Run belong to the window's thread.
type Popup struct {
	opt   Options
	svc   control.Services
	texts *assets.Texts
	desk  place.Desk
	app   fyne.App
	log   *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	win     fyne.Window
	ui      *ui
	tr      *transcript.Transcript
	view    *chatview.View
	shown   bool
	dirty   bool // the transcript changed while the window was hidden
	created bool
	owns    bool // the clipboard, since the owner could not take it
	pinned  bool // on every desktop, from its next show on
	saved   windowState

	session  string // "" while nothing was sent in a new one
	info     control.SessionInfo
	unwatch  context.CancelFunc
	model    string // of the session at work, "" for the default
	def      string // the default model, resolved
	models   []control.Model
	conf     settings
	state    control.State
	asked    time.Time // when the question at work came up
	chips    []chip
	history  []string // what the user sent, newest last, for Up
	pictures map[string][]byte
	fetching map[string]bool
	draft    *time.Timer
	drafted  string
	tick     *time.Timer
}

// New makes a popup. Its window is not made before it is first shown.
func New(o Options) *Popup {
	if o.Texts == nil {
		o.Texts = assets.NewTexts("")
	}
	if o.Post == nil {
		o.Post = func(f func(), wait bool) {
			if wait {
				fyne.DoAndWait(f)
				return
			}
			fyne.Do(f)
		}
	}
	if o.Desk == nil {
		o.Desk = place.None{}
	}
	p := &Popup{
		opt: o, svc: o.Services, texts: o.Texts, desk: o.Desk, app: o.App, log: slog.Default(),
		tr: transcript.New(), pictures: map[string][]byte{}, fetching: map[string]bool{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.saved = loadWindowState(o.StateFile)
	p.app.Settings().SetTheme(look.Theme{})
	p.makeWindow()
	return p
}

// Run follows the owner's orders until it goes away or ctx ends, and returns
// when everything the popup started has ended. It may be called from any
// goroutine; the toolkit's loop must be running.
func (p *Popup) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, p.cancel)
	defer stop()
	p.goes(p.watchState)
	p.goes(p.loadSettings)
	p.attach()
	p.cancel()
	p.wg.Wait()
	p.postWait(func() {
		if p.unwatch != nil {
			p.unwatch()
		}
		p.saveState()
		if p.opt.Ended != nil {
			p.opt.Ended()
		}
	})
}

// goes runs f beside the window's thread until the popup ends.
func (p *Popup) goes(f func(ctx context.Context)) {
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		defer func() {
			if r := recover(); r != nil {
				p.log.Error("popup: a task failed", "panic", r)
			}
		}()
		f(p.ctx)
	}()
}

// do runs f beside the window's thread and, back on it, what to do with its
// outcome.
func do[T any](p *Popup, f func(ctx context.Context) (T, error), then func(T, error)) {
	p.goes(func(ctx context.Context) {
		v, err := f(ctx)
		if ctx.Err() != nil {
			return
		}
		p.post(func() { then(v, err) })
	})
}

// callTimeout bounds one request to the owner: it is on this machine and answers
// in milliseconds, unless it hangs.
const callTimeout = 15 * time.Second

// call runs a request that returns nothing; a failure is shown.
func (p *Popup) call(f func(ctx context.Context) error, then func()) {
	do(p, func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return struct{}{}, f(ctx)
	}, func(_ struct{}, err error) {
		if err != nil {
			p.fail(err)
			return
		}
		if then != nil {
			then()
		}
	})
}

// fail shows an error as a line of the status bar, with what to do next.
func (p *Popup) fail(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	p.ui.notice(p.texts.Error(chat.AsError(err)), true)
}

// reattachWait is how long a popup looks for an owner that has gone, before it
// ends; a restarted owner starts a popup of its own.
const (
	reattachWait  = 3 * time.Second
	reattachPause = 250 * time.Millisecond
)

// attach takes orders until the owner is gone.
func (p *Popup) attach() {
	lost := time.Time{}
	for p.ctx.Err() == nil {
		err := p.svc.Front.Attach(p.ctx, p.opt.Display, p.opt.PID, func(c control.FrontCommand) error {
			lost = time.Time{}
			p.post(func() { p.command(c) })
			return nil
		})
		if p.ctx.Err() != nil {
			return
		}
		p.log.Info("popup: the owner is away", "err", err)
		if lost.IsZero() {
			lost = time.Now()
		}
		if time.Since(lost) > reattachWait {
			return
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(reattachPause):
		}
	}
}

// watchState keeps the state of the whole program.
func (p *Popup) watchState(ctx context.Context) {
	if p.svc.Owner == nil {
		return
	}
	for ctx.Err() == nil {
		_ = p.svc.Owner.WatchState(ctx, func(s control.State) error {
			p.post(func() { p.takeState(s) })
			return nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(reattachPause):
		}
	}
}

func (p *Popup) takeState(s control.State) {
	p.state = s
	p.def = s.Model
	p.ui.refreshStatus()
}

// settings are those of config.toml that the popup itself heeds.
type settings struct {
	Language string `json:"language"`
	Popup    struct {
		ResumeMinutes int     `json:"resume_minutes"`
		Theme         string  `json:"theme"`
		TextScale     float64 `json:"text_scale"`
		Pinned        bool    `json:"pinned"`
	} `json:"popup"`
	Prompts []struct {
		Name   string `json:"name"`
		Text   string `json:"text"`
		Hotkey string `json:"hotkey"`
	} `json:"prompts"`
	raw map[string]any
}

// defaultResume is the time in minutes for which the last session is shown
// again, where the settings do not say.
const defaultResume = 30

func (p *Popup) loadSettings(ctx context.Context) {
	if p.svc.Settings == nil {
		return
	}
	raw, err := p.svc.Settings.Settings(ctx)
	if err != nil {
		p.log.Info("popup: no settings", "err", err)
		return
	}
	var s settings
	if err := json.Unmarshal(raw, &s); err != nil {
		p.log.Info("popup: settings cannot be read", "err", err)
		return
	}
	if err := json.Unmarshal(raw, &s.raw); err != nil {
		return
	}
	p.post(func() { p.applySettings(s) })
}

// applySettings takes settings over; a change of look redraws everything.
func (p *Popup) applySettings(s settings) {
	old := p.conf
	p.conf = s
	p.pinned = s.Popup.Pinned
	if s.Language != "" && s.Language != p.texts.Lang() {
		p.texts = assets.NewTexts(s.Language)
		p.ui.retext()
	}
	if s.Popup.Theme != old.Popup.Theme || s.Popup.TextScale != old.Popup.TextScale || old.raw == nil {
		p.setTheme(s.Popup.Theme, float32(s.Popup.TextScale))
	}
	p.ui.refreshStatus()
}

func (p *Popup) setTheme(variant string, scale float32) {
	flow.Forget()
	p.app.Settings().SetTheme(look.Theme{Variant: variant, Scale: scale})
	p.ui.restyle()
}

func (p *Popup) post(f func()) { p.opt.Post(f, false) }

func (p *Popup) postWait(f func()) { p.opt.Post(f, true) }

func (p *Popup) t(id string, args ...any) string { return p.texts.T(id, args...) }
