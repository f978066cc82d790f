package popup

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"perch/popup/flow"
	"perch/popup/look"
)

// columnLayout stacks the parts: the body takes what the others leave.
type columnLayout struct{ u *ui }

func (l *columnLayout) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(leastWidth, l.u.below())
}

// entryGap is the space around the entry.
const entryGap = 3 * look.Unit

func (l *columnLayout) Layout(_ []fyne.CanvasObject, s fyne.Size) {
	u := l.u
	y := s.Height
	place := func(o fyne.CanvasObject, inset, space float32) {
		if !o.Visible() {
			return
		}
		h := o.MinSize().Height
		if h <= 0 {
			return
		}
		y -= h
		o.Move(fyne.NewPos(inset, y))
		o.Resize(fyne.NewSize(s.Width-2*inset, h))
		y -= space
	}
	place(u.status.object, entryGap, look.Unit)
	place(u.card, entryGap, look.Unit)
	place(u.completions.object, entryGap, look.Unit)
	place(u.chips, entryGap, look.Unit)
	place(u.queue, entryGap, look.Unit)
	place(u.approval.object, entryGap, look.Unit)
	y -= entryGap - look.Unit
	u.body.Move(fyne.NewPos(1, 1))
	u.body.Resize(fyne.NewSize(s.Width-2, max(0, y-1)))
	e := u.end.MinSize()
	u.end.Move(fyne.NewPos((s.Width-e.Width)/2, y-e.Height-2*look.Unit))
	u.end.Resize(e)
}

// below is the height of everything under the body.
func (u *ui) below() float32 {
	h := entryGap - look.Unit
	for _, o := range []fyne.CanvasObject{u.status.object, u.card, u.completions.object, u.chips, u.queue, u.approval.object} {
		if m := o.MinSize().Height; o.Visible() && m > 0 {
			h += m + look.Unit
		}
	}
	return h
}

// entryLayout puts the entry between its buttons, which stay at the last line.
type entryLayout struct{ u *ui }

func (l *entryLayout) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(200, max(l.u.bare.MinSize().Height, l.u.attach.MinSize().Height+2))
}

func (l *entryLayout) Layout(_ []fyne.CanvasObject, s fyne.Size) {
	a, b := l.u.attach.MinSize(), l.u.sendBtn.MinSize()
	l.u.attach.Resize(a)
	l.u.attach.Move(fyne.NewPos(1, s.Height-a.Height-2))
	l.u.sendBtn.Resize(b)
	l.u.sendBtn.Move(fyne.NewPos(s.Width-b.Width-1, s.Height-b.Height-2))
	l.u.bare.Move(fyne.NewPos(a.Width, 0))
	l.u.bare.Resize(fyne.NewSize(s.Width-a.Width-b.Width, s.Height))
}

// refreshQueue shows what waits for the run at work.
func (u *ui) refreshQueue() {
	pending := u.p.tr.Pending()
	if len(pending) == 0 {
		if len(u.queue.Objects) > 0 {
			u.queue.Objects = nil
			u.column.Refresh()
		}
		return
	}
	text := strings.Join(strings.Fields(strings.Join(pending, " · ")), " ")
	label := newCaption(u.p.t("popup.queued", flow.Ellipsis(text, 380, look.SmallSize(), fyne.TextStyle{})), look.Muted)
	u.queue.Objects = []fyne.CanvasObject{container.NewBorder(nil, nil, nil, newFlat("undo", u.p.t("popup.take_back"), u.p.unqueue), label)}
	u.queue.Refresh()
	u.column.Refresh()
}

// refreshChips shows what is attached.
func (u *ui) refreshChips() {
	u.chips.Objects = nil
	if len(u.p.chips) > 0 {
		row := container.New(&wrapLayout{})
		for i := range u.p.chips {
			c := &u.p.chips[i]
			b := newButton(c.icon, c.label+"  ×", false, func() { u.p.dropChip(i) })
			b.hint, b.tip = u.hint, func() string { return u.p.t("popup.tip.drop", c.label) }
			row.Add(b)
		}
		u.chips.Objects = []fyne.CanvasObject{row}
	}
	u.chips.Refresh()
	u.refreshSend()
	u.column.Refresh()
}

// wrapLayout sets objects in lines.
type wrapLayout struct{ width float32 }

func (l *wrapLayout) each(objects []fyne.CanvasObject, width float32, f func(o fyne.CanvasObject, p fyne.Position)) float32 {
	x, y, h := float32(0), float32(0), float32(0)
	for _, o := range objects {
		m := o.MinSize()
		if x > 0 && x+m.Width > width {
			x, y, h = 0, y+h+look.Unit, 0
		}
		f(o, fyne.NewPos(x, y))
		x, h = x+m.Width+look.Unit, max(h, m.Height)
	}
	return y + h
}

func (l *wrapLayout) Layout(objects []fyne.CanvasObject, s fyne.Size) {
	l.width = s.Width
	l.each(objects, s.Width, func(o fyne.CanvasObject, p fyne.Position) {
		o.Resize(o.MinSize())
		o.Move(p)
	})
}

func (l *wrapLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	w := l.width
	if w == 0 {
		w = defaultWidth
	}
	return fyne.NewSize(0, l.each(objects, w, func(fyne.CanvasObject, fyne.Position) {}))
}
