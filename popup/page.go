package popup

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/popup/flow"
	"perch/popup/look"
)

// page is what takes the place of the conversation: sessions, settings and so
// on. Esc leads back.
type page struct {
	title  string
	focus  fyne.Focusable // takes the keyboard
	object fyne.CanvasObject
	closed func()
	// ask keeps the entry below the page; sending closes the page.
	ask    bool
	height float32 // that such a page wants
}

// open shows a page in place of the conversation or of another page.
func (u *ui) openPage(pg *page) {
	if u.page != nil && u.page.closed != nil {
		u.page.closed()
	}
	u.page = pg
	back := newIcon("back", func() string { return u.p.t("popup.tip.back") }, u.hint, func() { u.closePage() })
	title := newTitle(pg.title)
	head := container.New(&headLayout{}, back, title)
	u.body.Objects = []fyne.CanvasObject{container.NewBorder(container.New(&insetLayout{entryGap, 2 * look.Unit}, head), nil, nil, nil, pg.object)}
	u.body.Refresh()
	u.end.Hide()
	if pg.ask {
		u.card.Show()
		u.chips.Show()
	} else {
		u.card.Hide()
		u.chips.Hide()
		u.completions.hide()
	}
	u.refit()
	u.focus()
}

// closePage leads back to the conversation and reports whether a page was open.
func (u *ui) closePage() bool {
	if u.page == nil {
		return false
	}
	if u.page.closed != nil {
		u.page.closed()
	}
	u.page = nil
	u.opened()
	u.focus()
	return true
}

// headLayout puts a title beside its icon.
type headLayout struct{}

func (headLayout) Layout(o []fyne.CanvasObject, s fyne.Size) {
	m := o[0].MinSize()
	o[0].Resize(m)
	o[0].Move(fyne.NewPos(-look.Unit, (s.Height-m.Height)/2))
	h := o[1].MinSize().Height
	o[1].Resize(fyne.NewSize(s.Width-m.Width, h))
	o[1].Move(fyne.NewPos(m.Width, (s.Height-h)/2))
}

func (headLayout) MinSize(o []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(100, max(o[0].MinSize().Height, flow.Body().Line))
}

// choice is a row of a picker.
type choice struct {
	id     string
	title  string
	detail string
	right  string
	icon   string
	color  fyne.ThemeColorName // of the icon
	group  string              // heading above the first row of a group
	dim    bool
}

// picker is a page with a field to search and rows to choose from by keyboard or
// pointer.
type picker struct {
	u       *ui
	field   *field
	list    *widget.List
	rows    []choice
	at      int
	empty   *caption
	take    func(c choice)
	search  func(text string)
	keys    func(name fyne.KeyName, mod fyne.KeyModifier, c choice) bool
	actions func(c choice) []*button
}

// field is a one-line entry whose arrow keys move the choice.
type field struct {
	widget.Entry
	key   func(*fyne.KeyEvent) bool
	short func(fyne.KeyName, fyne.KeyModifier) bool
}

// TypedKey moves the choice, or edits.
func (f *field) TypedKey(k *fyne.KeyEvent) {
	if f.key == nil || !f.key(k) {
		f.Entry.TypedKey(k)
	}
}

// TypedShortcut acts on the choice, or edits.
func (f *field) TypedShortcut(s fyne.Shortcut) {
	if c, ok := s.(*desktop.CustomShortcut); ok && f.short != nil && f.short(c.KeyName, c.Modifier) {
		return
	}
	f.Entry.TypedShortcut(s)
}

func newPicker(u *ui, placeholder, empty string) *picker {
	k := &picker{u: u, empty: newCaption(empty, look.Muted)}
	k.field = &field{}
	k.field.ExtendBaseWidget(k.field)
	k.field.SetPlaceHolder(placeholder)
	k.field.key = k.key
	k.field.short = func(name fyne.KeyName, mod fyne.KeyModifier) bool {
		if k.at < len(k.rows) && k.keys != nil && k.keys(name, mod, k.rows[k.at]) {
			return true
		}
		return u.shortcut(name, mod)
	}
	k.field.OnChanged = func(s string) { k.search(s) }
	k.list = widget.NewList(func() int { return len(k.rows) }, func() fyne.CanvasObject { return newChoiceRow(k) },
		func(i widget.ListItemID, o fyne.CanvasObject) { o.(*choiceRow).set(i) })
	k.list.HideSeparators = true
	k.list.OnSelected = func(i widget.ListItemID) {
		k.list.UnselectAll()
		k.at = i
		if i < len(k.rows) {
			k.take(k.rows[i])
		}
	}
	return k
}

func (k *picker) object() fyne.CanvasObject {
	body := container.NewStack(k.list, container.New(&insetLayout{2 * look.Edge, look.Edge}, container.NewVBox(k.empty)))
	return container.New(&insetLayout{entryGap - look.Unit, 0}, container.NewBorder(container.New(&insetLayout{look.Unit, look.Unit}, k.field), nil, nil, nil, body))
}

func (k *picker) set(rows []choice) {
	k.rows = rows
	k.at = min(k.at, max(0, len(rows)-1))
	k.empty.Hidden = len(rows) > 0
	k.empty.Refresh()
	k.list.Refresh()
	for i := range rows {
		h := rowHeight(&rows[i])
		if i > 0 && rows[i].group != rows[i-1].group || i == 0 && rows[i].group != "" {
			h += flow.Small().Line + 2*look.Unit
		}
		k.list.SetItemHeight(i, h)
	}
}

func rowHeight(c *choice) float32 {
	h := flow.Body().Line + 2*look.Unit
	if c.detail != "" {
		h += flow.Small().Line
	}
	return h
}

func (k *picker) key(e *fyne.KeyEvent) bool {
	switch e.Name {
	case fyne.KeyDown:
		k.move(1)
	case fyne.KeyUp:
		k.move(-1)
	case fyne.KeyPageDown:
		k.move(8)
	case fyne.KeyPageUp:
		k.move(-8)
	case fyne.KeyReturn, fyne.KeyEnter:
		if k.at < len(k.rows) {
			k.take(k.rows[k.at])
		}
	case fyne.KeyEscape:
		if k.field.Text != "" {
			k.field.SetText("")
			return true
		}
		k.u.closePage()
	default:
		if k.keys != nil && k.at < len(k.rows) {
			return k.keys(e.Name, 0, k.rows[k.at])
		}
		return false
	}
	return true
}

func (k *picker) move(by int) {
	if len(k.rows) == 0 {
		return
	}
	k.at = max(0, min(k.at+by, len(k.rows)-1))
	k.list.ScrollTo(k.at)
	k.list.Refresh()
}

// choiceRow draws a row of a picker.
type choiceRow struct {
	widget.BaseWidget
	k       *picker
	i       int
	back    *canvas.Rectangle
	icon    *canvas.Image
	group   *flow.Text
	title   *flow.Text
	detail  *flow.Text
	right   *flow.Text
	actions []*button
	objects []fyne.CanvasObject
}

func newChoiceRow(k *picker) *choiceRow {
	r := &choiceRow{k: k, i: -1, back: canvas.NewRectangle(nil), icon: canvas.NewImageFromResource(nil),
		group: flow.NewText(), title: flow.NewText(), detail: flow.NewText(), right: flow.NewText()}
	r.icon.FillMode = canvas.ImageFillContain
	r.back.CornerRadius = look.RadiusSmall
	r.ExtendBaseWidget(r)
	return r
}

// MinSize is the height of a plain row: others are set one by one.
func (r *choiceRow) MinSize() fyne.Size {
	return fyne.NewSize(100, flow.Body().Line+2*look.Unit)
}

func (r *choiceRow) set(i int) {
	r.i = i
	if i < len(r.k.rows) {
		r.actions = nil
		if r.k.actions != nil && i == r.k.at {
			r.actions = r.k.actions(r.k.rows[i])
		}
	}
	r.lay()
	canvas.Refresh(r)
}

// Resize lays out to the width.
func (r *choiceRow) Resize(s fyne.Size) {
	if s != r.Size() {
		r.BaseWidget.Resize(s)
		r.lay()
	}
}

func (r *choiceRow) lay() {
	if r.i < 0 || r.i >= len(r.k.rows) {
		return
	}
	c := &r.k.rows[r.i]
	s := r.Size()
	r.objects = r.objects[:0]
	y := float32(0)
	small := flow.Small()
	small.NoWrap = true
	if c.group != "" && (r.i == 0 || r.k.rows[r.i-1].group != c.group) {
		r.group.Set([]flow.Span{{Text: c.group, Color: look.Muted, Bold: true}}, small, s.Width)
		r.group.Move(fyne.NewPos(2*look.Unit, look.Unit))
		r.objects = append(r.objects, r.group)
		y = small.Line + 2*look.Unit
	}
	r.back.FillColor = theme.Color(theme.ColorNameShadow)
	if r.i == r.k.at {
		r.back.FillColor = look.Color(look.Bubble)
	}
	r.back.Move(fyne.NewPos(0, y))
	r.back.Resize(fyne.NewSize(s.Width, s.Height-y))
	r.back.Refresh()
	r.objects = append(r.objects, r.back)
	x := 2 * look.Unit
	if c.icon != "" {
		r.icon.Resource = look.Icon(c.icon, c.color)
		r.icon.Move(fyne.NewPos(x, y+look.Unit+(flow.Body().Line-glyph)/2))
		r.icon.Resize(fyne.NewSquareSize(glyph))
		r.icon.Refresh()
		r.objects = append(r.objects, r.icon)
	}
	x += glyph + 2*look.Unit
	end := s.Width - 2*look.Unit
	for i := len(r.actions) - 1; i >= 0; i-- {
		m := r.actions[i].MinSize()
		end -= m.Width
		r.actions[i].Resize(m)
		r.actions[i].Move(fyne.NewPos(end, y+(s.Height-y-m.Height)/2))
		r.objects = append(r.objects, r.actions[i])
	}
	if c.right != "" && len(r.actions) == 0 {
		w := flow.Width(c.right, small.Size, fyne.TextStyle{}) + 1
		end -= w
		r.right.Set([]flow.Span{{Text: c.right, Color: look.Muted}}, small, w)
		r.right.Move(fyne.NewPos(end, y+look.Unit+(flow.Body().Line-small.Line)/2))
		r.objects = append(r.objects, r.right)
		end -= 2 * look.Unit
	}
	color := theme.ColorNameForeground
	if c.dim {
		color = look.Muted
	}
	body := flow.Body()
	body.NoWrap = true
	r.title.Set([]flow.Span{{Text: flow.Ellipsis(c.title, end-x, body.Size, fyne.TextStyle{}), Color: color}}, body, max(end-x, 10))
	r.title.Move(fyne.NewPos(x, y+look.Unit))
	r.objects = append(r.objects, r.title)
	if c.detail != "" {
		r.detail.Set([]flow.Span{{Text: flow.Ellipsis(c.detail, end-x, small.Size, fyne.TextStyle{}), Color: look.Muted}}, small, max(end-x, 10))
		r.detail.Move(fyne.NewPos(x, y+look.Unit+body.Line-1))
		r.objects = append(r.objects, r.detail)
	}
}

// CreateRenderer draws the row.
func (r *choiceRow) CreateRenderer() fyne.WidgetRenderer { return &choiceRenderer{r} }

type choiceRenderer struct{ r *choiceRow }

func (w *choiceRenderer) Layout(fyne.Size)             {}
func (w *choiceRenderer) MinSize() fyne.Size           { return w.r.MinSize() }
func (w *choiceRenderer) Refresh()                     { w.r.lay(); canvas.Refresh(w.r) }
func (w *choiceRenderer) Objects() []fyne.CanvasObject { return w.r.objects }
func (w *choiceRenderer) Destroy()                     {}
