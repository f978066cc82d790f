package popup

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/popup/flow"
	"perch/popup/look"
)

// slashCommand is a command that begins with a slash.
type slashCommand struct {
	name string // with the slash
	text string // id of what it does
	arg  bool   // something follows
	// do runs it in the popup; nil leaves it to the run, whose tools it drives.
	do func(p *Popup, arg string)
}

// slashCommands are those that the popup knows, in the order of its list.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"/clip", "popup.slash.clip", false, func(p *Popup, _ string) { p.attachClip(false) }},
		{"/sel", "popup.slash.sel", false, func(p *Popup, _ string) { p.attachClip(true) }},
		{"/shot", "popup.slash.shot", false, func(p *Popup, _ string) { p.attachShot("screen") }},
		{"/run", "popup.slash.run", true, nil},
		{"/find", "popup.slash.find", true, nil},
		{"/remember", "popup.slash.remember", true, func(p *Popup, arg string) { p.memorise(arg) }},
		{"/new", "popup.slash.new", false, func(p *Popup, _ string) { p.open("") }},
		{"/model", "popup.slash.model", false, func(p *Popup, _ string) { p.ui.showModels() }},
		{"/compact", "popup.slash.compact", false, func(p *Popup, _ string) { p.compact() }},
		{"/rename", "popup.slash.rename", true, func(p *Popup, arg string) { p.rename(p.session, arg) }},
		{"/dir", "popup.slash.dir", true, func(p *Popup, arg string) { p.setDir(arg) }},
		{"/export", "popup.slash.export", false, func(p *Popup, _ string) { p.export(p.session) }},
		{"/settings", "popup.slash.settings", false, func(p *Popup, _ string) { p.ui.showSettings() }},
		{"/keys", "popup.slash.keys", false, func(p *Popup, _ string) { p.ui.showShortcuts() }},
	}
}

// slash runs a command of the popup and reports whether text was one.
func (p *Popup) slash(text string) bool {
	name, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	for _, c := range slashCommands() {
		if c.name != name || c.do == nil {
			continue
		}
		arg = strings.TrimSpace(arg)
		if c.arg && arg == "" {
			return false
		}
		p.ui.setText("")
		c.do(p, arg)
		return true
	}
	return false
}

// completions is the list of commands above the entry.
type completions struct {
	p      *Popup
	object *fyne.Container
	found  []slashCommand
	at     int
	off    bool // put away by Esc until the text changes
}

func newCompletions(p *Popup) *completions {
	return &completions{p: p, object: container.NewStack()}
}

// update shows what the text may become.
func (c *completions) update(text string) {
	c.off = false
	c.found, c.at = nil, 0
	if strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " \n") {
		for _, s := range slashCommands() {
			if strings.HasPrefix(s.name, strings.ToLower(text)) && s.name != text {
				c.found = append(c.found, s)
			}
		}
	}
	c.draw()
}

// most is the number of commands shown at once.
const completionsMost = 7

func (c *completions) draw() {
	c.object.Objects = nil
	if len(c.found) > 0 {
		rows := container.New(&tightLayout{})
		from := max(0, c.at-completionsMost+1)
		for i := from; i < len(c.found) && i < from+completionsMost; i++ {
			rows.Add(newCompletion(c, i))
		}
		c.object.Objects = []fyne.CanvasObject{newCard(look.Surface, look.Unit, rows)}
	}
	c.object.Refresh()
	c.p.ui.column.Refresh()
	c.p.ui.grow()
}

// hide puts the list away and reports whether there was one.
func (c *completions) hide() bool {
	had := len(c.found) > 0
	c.found = nil
	if had {
		c.draw()
	}
	return had
}

// key reports whether the list is open; with take it moves or, at move 0, takes
// the chosen command.
func (c *completions) key(move int, take bool) bool {
	if len(c.found) == 0 {
		return false
	}
	if take && move != 0 {
		c.at = (c.at + move + len(c.found)) % len(c.found)
		c.draw()
	} else if take {
		c.choose(c.at)
	}
	return true
}

func (c *completions) choose(i int) {
	s := c.found[i]
	c.found = nil
	if s.arg {
		c.p.ui.setText(s.name + " ")
	} else {
		c.p.ui.setText("")
		c.draw()
		if s.do != nil {
			s.do(c.p, "")
		}
		return
	}
	c.draw()
}

// completion is a row of the list.
type completion struct {
	widget.BaseWidget
	c *completions
	i int
}

func newCompletion(c *completions, i int) *completion {
	r := &completion{c: c, i: i}
	r.ExtendBaseWidget(r)
	return r
}

// Tapped takes the command.
func (r *completion) Tapped(*fyne.PointEvent) { r.c.choose(r.i); r.c.p.ui.focus() }

// CreateRenderer draws name and meaning.
func (r *completion) CreateRenderer() fyne.WidgetRenderer {
	s := r.c.found[r.i]
	back := canvas.NewRectangle(theme.Color(theme.ColorNameShadow))
	back.CornerRadius = look.RadiusSmall
	if r.i == r.c.at {
		back.FillColor = look.Color(theme.ColorNameHover)
	}
	opt := flow.Small()
	opt.NoWrap = true
	t := flow.NewText()
	t.Set([]flow.Span{{Text: s.name, Bold: true}, {Text: "   " + r.c.p.t(s.text), Color: look.Muted}}, opt, 500)
	return widget.NewSimpleRenderer(container.NewStack(back, container.New(&insetLayout{2 * look.Unit, 3}, t)))
}

// tightLayout stacks objects without space.
type tightLayout struct{}

func (tightLayout) Layout(objects []fyne.CanvasObject, s fyne.Size) {
	y := float32(0)
	for _, o := range objects {
		h := o.MinSize().Height
		o.Move(fyne.NewPos(0, y))
		o.Resize(fyne.NewSize(s.Width, h))
		y += h
	}
}

func (tightLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	h := float32(0)
	for _, o := range objects {
		h += o.MinSize().Height
	}
	return fyne.NewSize(0, h)
}

// insetLayout puts objects on top of each other inside a margin.
type insetLayout struct{ x, y float32 }

func (l *insetLayout) Layout(objects []fyne.CanvasObject, s fyne.Size) {
	for _, o := range objects {
		o.Move(fyne.NewPos(l.x, l.y))
		o.Resize(s.SubtractWidthHeight(2*l.x, 2*l.y))
	}
}

func (l *insetLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	m := fyne.Size{}
	for _, o := range objects {
		m = m.Max(o.MinSize())
	}
	return m.AddWidthHeight(2*l.x, 2*l.y)
}

// shortcut is a key with modifiers; it reports whether it means something here.
func (u *ui) shortcut(name fyne.KeyName, mod fyne.KeyModifier) bool {
	p := u.p
	const ctrl, shift = fyne.KeyModifierControl, fyne.KeyModifierShift
	if mod == ctrl && u.approval.key(name) {
		return true
	}
	switch {
	case mod == ctrl && name == fyne.KeyPeriod:
		p.stop()
	case mod == ctrl && name == fyne.KeyN:
		u.closePage()
		p.open("")
	case mod == ctrl && name == fyne.KeyK:
		u.showSessions()
	case mod == ctrl && name == fyne.KeyM:
		u.showModels()
	case mod == ctrl && name == fyne.KeyComma:
		u.showSettings()
	case mod == ctrl && name == fyne.KeySlash:
		u.showShortcuts()
	case mod == ctrl && name == fyne.KeyJ:
		p.view.ToEnd()
	case mod == ctrl && name == fyne.KeyW:
		p.hide()
	case mod == ctrl|shift && name == fyne.KeyC:
		if text := p.tr.LastAnswer(); text != "" {
			p.copyText(text)
		}
	case mod == ctrl|shift && name == fyne.KeyV:
		p.attachClip(false)
	case mod == ctrl|shift && name == fyne.KeyS:
		p.attachShot("screen")
	case mod == ctrl|shift && name == fyne.KeyI:
		if text := p.tr.LastAnswer(); text != "" {
			p.insertAnswer(text)
		}
	case mod == ctrl|shift && name == fyne.KeyR:
		u.againLast()
	case mod == ctrl|shift && name == fyne.KeyO:
		u.toggleLast()
	default:
		return false
	}
	return true
}

// compact compacts the session by hand.
func (p *Popup) compact() {
	if p.session == "" {
		return
	}
	session := p.session
	p.ui.notice(p.t("popup.compacting"), false)
	p.call(func(ctx context.Context) error { return p.svc.Runs.Compact(ctx, session) }, p.refreshView)
}

// memorise stores a note of the user.
func (p *Popup) memorise(text string) {
	p.call(func(ctx context.Context) error { return p.svc.Memory.MemoryAdd(ctx, "notes", text) },
		func() { p.ui.notice(p.t("popup.remembered"), false) })
}
