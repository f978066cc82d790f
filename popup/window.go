package popup

import (
	"context"
	"runtime/debug"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/control"
	"perch/popup/look"
	"perch/popup/place"
)

// root is the window's content. Its minimum is asked for once the native window
// exists and before it is shown: the one moment at which its role can be set so
// that the very first frame has no title bar.
type root struct {
	widget.BaseWidget
	p       *Popup
	content fyne.CanvasObject
	dressed uintptr
}

func newRoot(p *Popup, content fyne.CanvasObject) *root {
	r := &root{p: p, content: content}
	r.ExtendBaseWidget(r)
	return r
}

// CreateRenderer shows the content.
func (r *root) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(r.content) }

// MinSize is the content's, and dresses a window that has just been made.
func (r *root) MinSize() fyne.Size {
	if h := r.p.handle(); h != 0 && h != r.dressed {
		r.dressed = h
		r.p.dress(h)
	}
	return r.content.MinSize()
}

// dress gives the window its role, in front of a background of its own colour:
// what it grows by must not flash up white.
func (p *Popup) dress(h uintptr) {
	r, g, b, _ := look.Color(theme.ColorNameBackground).RGBA()
	p.desk.Dress(h, p.pinned, r>>8<<16|g>>8<<8|b>>8)
}

func (p *Popup) makeWindow() {
	p.ui = newUI(p)
	p.win = p.app.NewWindow("Perch")
	p.win.SetPadded(false)
	p.win.SetContent(newRoot(p, p.ui.content))
	p.win.SetCloseIntercept(func() { p.hide() })
	p.win.SetOnDropped(func(_ fyne.Position, uris []fyne.URI) {
		for _, u := range uris {
			if u.Scheme() == "file" {
				p.attachFile(u.Path())
			}
		}
	})
	p.win.Canvas().SetOnTypedKey(func(k *fyne.KeyEvent) {
		if k.Name == fyne.KeyEscape {
			p.escape()
		}
	})
	for _, k := range []fyne.KeyName{fyne.KeyN, fyne.KeyK, fyne.KeyM, fyne.KeyComma, fyne.KeySlash, fyne.KeyPeriod, fyne.KeyW} {
		s := &desktop.CustomShortcut{KeyName: k, Modifier: fyne.KeyModifierControl}
		p.win.Canvas().AddShortcut(s, func(fyne.Shortcut) { p.ui.shortcut(s.KeyName, s.Modifier) })
	}
	p.app.Lifecycle().SetOnExitedForeground(func() { p.reportState() })
	p.app.Lifecycle().SetOnEnteredForeground(func() { p.reportState(); p.seen() })
}

// handle is the native window, 0 before it exists or where there is none.
func (p *Popup) handle() uintptr {
	n, ok := p.win.(driver.NativeWindow)
	if !ok {
		return 0
	}
	var h uintptr
	n.RunNative(func(c any) {
		if x, ok := c.(driver.X11WindowContext); ok {
			h = x.WindowHandle
		}
	})
	return h
}

// pixels converts a size in units to pixels.
func (p *Popup) pixels(s fyne.Size) (w, h int) {
	scale := p.win.Canvas().Scale()
	return int(s.Width * scale), int(s.Height * scale)
}

// How long a show may take to be seen and focused before it is reported as it
// is, and how often that is looked at.
const (
	showWait = 600 * time.Millisecond
	showPoll = 2 * time.Millisecond
)

// show shows the window with the entry focused. then is told whether it is seen
// and has the focus, on the window's thread.
func (p *Popup) show(then func(visible, focused bool)) {
	if !p.shown {
		p.desk.Remember(p.handle())
	}
	size := p.ui.wanted()
	d := p.desk.Look()
	p.ui.room = float32(place.Room(d)) / max(p.win.Canvas().Scale(), 0.1)
	w, h := p.pixels(size)
	at := place.On(d, w, h)
	if !p.shown {
		if h := p.handle(); h != 0 {
			p.dress(h)
		}
		p.shown = true
		if p.dirty {
			p.dirty = false
			p.view.Update(p.tr.Rows(), p.all())
			size = p.ui.wanted()
		}
		p.win.Resize(size)
		if dw, ok := p.win.(desktop.Window); ok && len(d.Screens) > 0 {
			dw.RequestPosition(at.X, at.Y)
		}
		p.win.Show()
		p.created = true
	}
	if len(d.Screens) == 0 {
		at = place.Point{}
	}
	p.desk.Raise(p.handle(), at)
	p.win.RequestFocus()
	p.ui.focus()
	p.seen()
	if then == nil {
		return
	}
	handle := p.handle()
	p.goes(func(ctx context.Context) {
		end := time.Now().Add(showWait)
		for i := 1; ; i++ {
			visible, focused := p.desk.Visible(handle), p.desk.Focused(handle)
			if visible && focused || time.Now().After(end) || ctx.Err() != nil {
				p.post(func() { then(visible, focused) })
				return
			}
			if i%40 == 0 { // a window manager that was busy, or refused once
				p.desk.Raise(handle, place.Point{})
			}
			time.Sleep(showPoll)
		}
	})
}

// hide puts the window away and gives the focus back.
func (p *Popup) hide() {
	if !p.shown {
		return
	}
	p.saveDraft()
	p.saveState()
	p.desk.GiveBack(p.handle())
	p.win.Hide()
	p.shown = false
	p.reportState()
	p.goes(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(tidyPause):
			debug.FreeOSMemory()
		}
	})
}

// tidyPause is the time after hiding at which memory goes back to the system: when
// the window is off the screen, and before the owner suspends this process.
const tidyPause = 700 * time.Millisecond

// hideFor hides the window, waits until it is off the screen, and calls then on
// the window's thread.
func (p *Popup) hideFor(then func()) {
	handle := p.handle()
	p.win.Hide()
	p.shown = false
	p.goes(func(ctx context.Context) {
		for end := time.Now().Add(showWait); p.desk.Visible(handle) && time.Now().Before(end); {
			time.Sleep(showPoll)
		}
		// The window manager repaints what was beneath a frame or two later.
		const repaint = 120 * time.Millisecond
		select {
		case <-ctx.Done():
		case <-time.After(repaint):
		}
		p.post(then)
	})
}

func (p *Popup) saveState() {
	if !p.created {
		return
	}
	if s := p.win.Canvas().Size(); s.Width >= leastWidth {
		p.saved.Width = s.Width
	}
	if err := saveWindowState(p.opt.StateFile, p.saved); err != nil {
		p.log.Info("popup: window size not kept", "err", err)
	}
}

// command does what the owner orders and answers from the window's thread: an
// answer therefore proves that this thread is alive.
func (p *Popup) command(c control.FrontCommand) {
	ack := func(visible, focused bool) {
		a := control.FrontAck{ID: c.ID, Visible: visible, Focused: focused, Session: p.session, OwnsSelection: p.owns}
		p.goes(func(ctx context.Context) { _ = p.svc.Front.Ack(ctx, p.opt.Display, a) })
	}
	switch c.What {
	case "toggle":
		if p.shown && (p.desk.Focused(p.handle()) || p.handle() == 0) {
			p.hide()
			ack(false, false)
			return
		}
		p.showFor(c.Session, ack)
	case "show":
		p.showFor(c.Session, ack)
	case "hide":
		p.hide()
		ack(false, false)
	case "settings":
		p.show(ack)
		p.ui.showSettings()
	case "sessions":
		p.show(ack)
		p.ui.showSessions()
	case "knowledge":
		p.show(ack)
		p.ui.showKnowledge()
	case "prompt":
		p.runPrompt(c.Prompt, ack)
	case "quit":
		p.hide()
		ack(false, false)
		// The answer leaves first; the pause is one round trip many times over.
		time.AfterFunc(50*time.Millisecond, p.cancel)
	default: // an order of a newer owner, or one that only wants an answer
		ack(p.shown, p.shown && p.desk.Focused(p.handle()))
	}
}

// showFor shows the window with a session, or with the one to resume.
func (p *Popup) showFor(session string, ack func(visible, focused bool)) {
	if session != "" {
		p.ui.closePage()
		p.open(session)
		p.show(ack)
		return
	}
	if p.shown {
		p.show(ack)
		return
	}
	if p.session != "" || p.created {
		p.resume(func() {})
		p.show(ack)
		return
	}
	p.resume(func() {})
	p.show(func(v, f bool) {
		ack(v, f)
		if p.state.FirstStart && p.session == "" {
			p.ui.showFirstStart()
		}
	})
}

// reportState tells the owner what is seen, so that it notifies only about what
// is not.
func (p *Popup) reportState() {
	a := control.FrontAck{Visible: p.shown, Focused: p.shown && p.desk.Focused(p.handle()), Session: p.session, OwnsSelection: p.owns}
	p.goes(func(ctx context.Context) { _ = p.svc.Front.Ack(ctx, p.opt.Display, a) })
}

// escape closes what is open, one thing at a time, and at last the window.
func (p *Popup) escape() {
	switch {
	case p.ui.closePage():
	case p.ui.completions.hide():
	case p.view.SelectNone():
	default:
		p.hide()
	}
}

// runPrompt runs one of the user's own prompts on the selected text.
func (p *Popup) runPrompt(name string, ack func(visible, focused bool)) {
	text := ""
	for _, pr := range p.conf.Prompts {
		if pr.Name == name {
			text = pr.Text
		}
	}
	do(p, func(ctx context.Context) (control.Clip, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return p.svc.Desktop.ReadSelection(ctx)
	}, func(clip control.Clip, err error) {
		p.open("")
		p.show(ack)
		if err != nil || clip.Text == "" || text == "" {
			p.ui.setText(text)
			if err != nil {
				p.fail(err)
			} else {
				p.ui.notice(p.t("popup.chip.empty"), false)
			}
			return
		}
		p.chips = append(p.chips, chip{kind: chipText, label: p.t("popup.chip.selection"), icon: "select", text: clip.Text, need: "selection.read"})
		p.send(text)
	})
}

// border is the hairline around a window without a title bar.
func newBorder() *canvas.Rectangle {
	r := canvas.NewRectangle(nil)
	r.StrokeWidth = 1
	return r
}
