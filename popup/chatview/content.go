package chatview

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"
)

// content is what scrolls. It takes all pointer events of the rows, since text
// is selected over row borders.
type content struct {
	widget.BaseWidget
	v       *View
	objects []fyne.CanvasObject
	size    fyne.Size

	cursor    desktop.Cursor
	pressed   *area
	dragging  bool
	lastPress time.Time
	presses   int
	lastPos   fyne.Position
}

var (
	_ desktop.Hoverable  = (*content)(nil)
	_ desktop.Mouseable  = (*content)(nil)
	_ desktop.Cursorable = (*content)(nil)
	_ fyne.Draggable     = (*content)(nil)
)

func newContent(v *View) *content {
	c := &content{v: v, cursor: desktop.DefaultCursor}
	c.ExtendBaseWidget(c)
	return c
}

func (c *content) resize(s fyne.Size) {
	c.size = s
	if c.Size() != s {
		c.BaseWidget.Resize(s)
	}
}

// show sets the rows that are drawn, in order.
func (c *content) show(rows map[int]*rowView, first, last int) {
	c.objects = c.objects[:0]
	for i := first; i < last; i++ {
		c.objects = append(c.objects, rows[i])
	}
}

// MinSize is the size of all rows.
func (c *content) MinSize() fyne.Size { return c.size }

// CreateRenderer draws the rows in view.
func (c *content) CreateRenderer() fyne.WidgetRenderer { return &contentRenderer{c} }

type contentRenderer struct{ c *content }

func (r *contentRenderer) Layout(fyne.Size)             {}
func (r *contentRenderer) MinSize() fyne.Size           { return r.c.size }
func (r *contentRenderer) Objects() []fyne.CanvasObject { return r.c.objects }
func (r *contentRenderer) Destroy()                     {}

// Refresh redraws without touching the rows: they refresh themselves.
func (r *contentRenderer) Refresh() { canvas.Refresh(r.c) }

// Cursor is the pointer's shape where it is now.
func (c *content) Cursor() desktop.Cursor { return c.cursor }

// MouseIn is the first movement over the content.
func (c *content) MouseIn(e *desktop.MouseEvent) { c.MouseMoved(e) }

// MouseMoved sets the cursor and shows where a link leads.
func (c *content) MouseMoved(e *desktop.MouseEvent) {
	c.cursor = desktop.DefaultCursor
	link := ""
	if r, pos := c.rowAt(e.Position); r != nil {
		a := r.areaAt(pos)
		switch {
		case a != nil:
			c.cursor = desktop.PointerCursor
		case r.linkAt(pos) != "":
			link = r.linkAt(pos)
			c.cursor = desktop.PointerCursor
		case r.overText(pos):
			c.cursor = desktop.TextCursor
		}
		c.v.hoverRow(r, a)
	} else {
		c.v.hoverRow(nil, nil)
	}
	c.v.setHover(link)
}

// MouseOut ends hovering.
func (c *content) MouseOut() {
	c.v.hoverRow(nil, nil)
	c.v.setHover("")
}

func (c *content) rowAt(pos fyne.Position) (*rowView, fyne.Position) {
	r := c.v.shown[c.v.rowAt(pos.Y)]
	if r == nil {
		return nil, pos
	}
	return r, pos.Subtract(r.Position())
}

// doubleClick is the longest time between two presses of one click.
const doubleClick = 400 * time.Millisecond

// MouseDown begins a selection, or presses what can be pressed. A second press
// selects the word, a third the block.
func (c *content) MouseDown(e *desktop.MouseEvent) {
	c.dragging = false
	c.pressed = nil
	r, pos := c.rowAt(e.Position)
	if r != nil && e.Button == desktop.MouseButtonPrimary {
		if c.pressed = r.areaAt(pos); c.pressed != nil {
			return
		}
	}
	now := time.Now()
	if now.Sub(c.lastPress) < doubleClick && near(c.lastPos, e.Position) {
		c.presses++
	} else {
		c.presses = 1
	}
	c.lastPress, c.lastPos = now, e.Position
	if e.Button != desktop.MouseButtonPrimary {
		return
	}
	at := c.v.pointAt(e.Position)
	switch {
	case e.Modifier&fyne.KeyModifierShift != 0 && c.v.sel.on:
		c.v.extend(at)
	case c.presses == 2 && r != nil:
		c.v.selectWord(at)
	case c.presses >= 3 && r != nil:
		c.v.selectBlock(at)
	default:
		c.v.begin(at)
	}
}

func near(a, b fyne.Position) bool {
	d := a.Subtract(b)
	const slack = 4
	return d.X < slack && d.X > -slack && d.Y < slack && d.Y > -slack
}

// MouseUp ends a click: links and buttons act here.
func (c *content) MouseUp(e *desktop.MouseEvent) {
	defer c.v.actions.touched()
	r, pos := c.rowAt(e.Position)
	if e.Button == desktop.MouseButtonSecondary {
		if c.v.actions.Menu != nil {
			var row = -1
			if r != nil {
				row = c.v.rowAt(e.Position.Y)
			}
			c.v.menuAt(row, e.AbsolutePosition)
		}
		return
	}
	if c.pressed != nil {
		if r != nil && r.areaAt(pos) == c.pressed && c.pressed.do != nil {
			c.pressed.do()
		}
		c.pressed = nil
		return
	}
	if c.dragging || r == nil || c.presses > 1 {
		c.v.primary()
		return
	}
	if link := r.linkAt(pos); link != "" && c.v.actions.Open != nil {
		c.v.actions.Open(link)
	}
}

// Dragged extends the selection and scrolls at the edges.
func (c *content) Dragged(e *fyne.DragEvent) {
	if c.pressed != nil {
		return
	}
	c.dragging = true
	y := e.Position.Y - c.v.scroll.Offset.Y
	const edge, step = 12, 18
	if y < edge {
		c.v.ScrollBy(-step)
	} else if y > c.v.scroll.Size().Height-edge {
		c.v.ScrollBy(step)
	}
	c.v.extend(c.v.pointAt(e.Position))
}

// DragEnd leaves the selection as it is.
func (c *content) DragEnd() {}
