package popup

import (
	"fmt"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"perch/control"
	"perch/popup/flow"
	"perch/popup/look"
)

// status is the line at the bottom: the model, how full its window is, hints,
// and what leads to the pages.
type status struct {
	p       *Popup
	object  *fyne.Container
	model   *button
	meter   *meter
	line    *grip
	buttons []*button
	text    string // a notice, until it is over
	isError bool
	hinted  string
	over    *time.Timer
}

func newStatus(p *Popup) *status {
	s := &status{p: p}
	s.model = newFlat("", "", func() { p.ui.showModels() })
	s.model.hint, s.model.tip = s.hint, func() string { return p.t("popup.tip.model") }
	s.meter = newMeter(p)
	s.line = newGrip(p)
	add := func(icon, tip string, tap func()) {
		s.buttons = append(s.buttons, newIcon(icon, func() string { return p.t(tip) }, s.hint, tap))
	}
	add("plus", "popup.tip.new", func() { p.ui.closePage(); p.open(""); p.ui.focus() })
	add("list", "popup.tip.sessions", func() { p.ui.showSessions() })
	add("gear", "popup.tip.settings", func() { p.ui.showSettings() })
	row := container.New(&rowLayout{})
	for _, b := range s.buttons {
		row.Add(b)
	}
	s.object = container.NewBorder(nil, nil, container.New(&rowLayout{}, s.model, s.meter), row, s.line)
	return s
}

// noticeTime is how long a notice stays: long enough to read two lines.
const noticeTime = 6 * time.Second

func (s *status) say(text string, isError bool) {
	s.text, s.isError = text, isError
	if s.over != nil {
		s.over.Stop()
	}
	if !isError {
		s.over = time.AfterFunc(noticeTime, func() { s.p.post(func() { s.text = ""; s.refresh() }) })
	}
	s.refresh()
}

func (s *status) hint(text string) {
	s.hinted = text
	s.refresh()
}

func (s *status) refresh() {
	p := s.p
	name := p.model
	if name == "" {
		name = p.def
	}
	s.model.set("", shortModel(name)+" ▾", look.Muted)
	s.meter.set(p.tr.View().Context)
	text, color := s.hinted, look.Muted
	switch {
	case s.hinted != "":
	case s.text != "":
		text = s.text
		if s.isError {
			color = look.Alarm
		}
	case p.info.Problem != "":
		text, color = p.info.Problem, look.Alarm
	case p.info.Title != "":
		text = p.info.Title
	case len(p.state.Problems) > 0:
		text, color = p.state.Problems[0], look.Alarm
	default:
		text = p.t("popup.hint.keys")
	}
	s.line.set(text, color)
	s.object.Refresh()
}

// shortModel is a model's name without its provider.
func shortModel(id string) string {
	if i := strings.IndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	const most = 26
	if r := []rune(id); len(r) > most {
		id = string(r[:most-1]) + "…"
	}
	return id
}

// rowLayout sets objects side by side, centred vertically.
type rowLayout struct{}

func (rowLayout) Layout(objects []fyne.CanvasObject, s fyne.Size) {
	x := float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		m := o.MinSize()
		o.Resize(m)
		o.Move(fyne.NewPos(x, (s.Height-m.Height)/2))
		x += m.Width
	}
}

func (rowLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var m fyne.Size
	for _, o := range objects {
		if o.Visible() {
			s := o.MinSize()
			m.Width += s.Width
			m.Height = max(m.Height, s.Height)
		}
	}
	return m
}

// grip is the text in the middle of the status bar; it moves the window, as a
// title bar would.
type grip struct {
	widget.BaseWidget
	p     *Popup
	text  string
	color fyne.ThemeColorName
	flow  *flow.Text
}

func newGrip(p *Popup) *grip {
	g := &grip{p: p, flow: flow.NewText(), color: look.Muted}
	g.ExtendBaseWidget(g)
	return g
}

func (g *grip) set(text string, c fyne.ThemeColorName) {
	text = strings.Join(strings.Fields(text), " ")
	if g.text != text || g.color != c {
		g.text, g.color = text, c
		g.lay()
	}
}

func (g *grip) lay() {
	opt := flow.Small()
	opt.NoWrap = true
	w := max(g.Size().Width-2*look.Unit, 0)
	g.flow.Set([]flow.Span{{Text: flow.Ellipsis(g.text, w, opt.Size, fyne.TextStyle{}), Color: g.color}}, opt, w)
	g.flow.Move(fyne.NewPos(look.Unit, (g.Size().Height-opt.Line)/2))
}

// Resize shortens the text to the width.
func (g *grip) Resize(s fyne.Size) {
	g.BaseWidget.Resize(s)
	g.lay()
}

// MouseDown begins moving the window.
func (g *grip) MouseDown(e *desktop.MouseEvent) {
	if e.Button == desktop.MouseButtonPrimary {
		g.p.desk.Move(g.p.handle())
	}
}

// MouseUp gives the entry the focus back.
func (g *grip) MouseUp(*desktop.MouseEvent) { g.p.ui.focus() }

// CreateRenderer draws the text.
func (g *grip) CreateRenderer() fyne.WidgetRenderer { return &gripRenderer{g} }

type gripRenderer struct{ g *grip }

func (r *gripRenderer) Layout(fyne.Size)             {}
func (r *gripRenderer) MinSize() fyne.Size           { return fyne.NewSize(40, flow.Small().Line) }
func (r *gripRenderer) Refresh()                     { r.g.lay(); canvas.Refresh(r.g) }
func (r *gripRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.g.flow} }
func (r *gripRenderer) Destroy()                     {}

// meter shows how full the model's window is; a click shows with what.
type meter struct {
	widget.BaseWidget
	p *Popup
	c control.Context
}

func newMeter(p *Popup) *meter {
	m := &meter{p: p}
	m.ExtendBaseWidget(m)
	return m
}

func (m *meter) set(c control.Context) {
	if m.c != c {
		m.c = c
		m.Refresh()
	}
}

// words says what fills the window.
func (m *meter) words() string {
	c := m.c
	return m.p.t("popup.meter", percent(c.Share()), tokens(c.Prompt+c.Tools+c.History), tokens(c.Window), tokens(c.Prompt-c.Memory), tokens(c.Tools), tokens(c.Memory), tokens(c.History))
}

func tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

// Tapped shows what fills the window.
func (m *meter) Tapped(*fyne.PointEvent) { m.p.ui.showContext() }

// MouseIn says what fills the window.
func (m *meter) MouseIn(*desktop.MouseEvent) { m.p.ui.hint(m.words()) }

// MouseMoved does nothing.
func (m *meter) MouseMoved(*desktop.MouseEvent) {}

// MouseOut takes the words away.
func (m *meter) MouseOut() { m.p.ui.hint("") }

// CreateRenderer draws a bar in parts.
func (m *meter) CreateRenderer() fyne.WidgetRenderer {
	r := &meterRenderer{m: m, track: canvas.NewRectangle(nil), text: canvas.NewText("", nil)}
	for range 3 {
		r.parts = append(r.parts, canvas.NewRectangle(nil))
	}
	r.Refresh()
	return r
}

type meterRenderer struct {
	m     *meter
	track *canvas.Rectangle
	parts []*canvas.Rectangle
	text  *canvas.Text
}

const meterWidth, meterHeight = 56, 5

func (r *meterRenderer) MinSize() fyne.Size {
	if r.m.c.Window == 0 {
		return fyne.Size{}
	}
	return fyne.NewSize(meterWidth+10*look.Unit+4, 7*look.Unit)
}

func (r *meterRenderer) Layout(s fyne.Size) {
	if r.m.c.Window == 0 {
		return
	}
	y := (s.Height - meterHeight) / 2
	r.track.Move(fyne.NewPos(look.Unit, y))
	r.track.Resize(fyne.NewSize(meterWidth, meterHeight))
	x := look.Unit
	for i, n := range []int{r.m.c.Prompt, r.m.c.Tools, r.m.c.History} {
		w := min(float32(n)/float32(r.m.c.Window)*meterWidth, look.Unit+meterWidth-x)
		r.parts[i].Move(fyne.NewPos(x, y))
		r.parts[i].Resize(fyne.NewSize(w, meterHeight))
		x += w
	}
	h := r.text.MinSize().Height
	r.text.Move(fyne.NewPos(look.Unit+meterWidth+look.Unit+2, (s.Height-h)/2))
}

func (r *meterRenderer) Refresh() {
	show := r.m.c.Window > 0
	r.track.FillColor, r.track.CornerRadius = look.Color(look.Hairline), 2
	for i, c := range []fyne.ThemeColorName{look.CodeComment, look.CodeName, look.Accent} {
		r.parts[i].FillColor = look.Color(c)
		r.parts[i].Hidden = !show
		r.parts[i].Refresh()
	}
	color := look.Muted
	const nearlyFull = 0.85
	if r.m.c.Share() > nearlyFull {
		color = look.Alarm
	}
	r.text.Text, r.text.TextSize, r.text.Color = percent(r.m.c.Share()), look.SmallSize(), look.Color(color)
	r.text.Hidden, r.track.Hidden = !show, !show
	r.track.Refresh()
	r.text.Refresh()
	r.Layout(r.m.Size())
	canvas.Refresh(r.m)
}

func (r *meterRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.track, r.parts[0], r.parts[1], r.parts[2], r.text}
}
func (r *meterRenderer) Destroy() {}
