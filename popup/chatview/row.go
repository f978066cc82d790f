package chatview

import (
	"fmt"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/popup/flow"
	"perch/popup/look"
	"perch/popup/transcript"
)

// Distances of the rows, in units.
const (
	topGap     = 2 * look.Unit
	blockGap   = 2 * look.Unit // between blocks of an answer
	itemGap    = look.Unit     // between list items
	turnGap    = 4 * look.Unit // above a question
	headingGap = 4 * look.Unit
	indentStep = 5 * look.Unit // a level of a list
	quoteStep  = 3 * look.Unit // a level of quotation
	pad        = 3 * look.Unit // inside a bubble or block
	iconSize   = 4 * look.Unit
	// bubbleShare is the widest a question's bubble may be, as a share of the
	// view: the free left side tells it from an answer at a glance.
	bubbleShare = 0.86
)

// area is a place of a row that acts when it is pressed.
type area struct {
	pos  fyne.Position
	size fyne.Size
	do   func()
	// hint is what it does; it is drawn on hovering over the place.
	back *canvas.Rectangle
}

func (a *area) has(p fyne.Position) bool {
	return p.X >= a.pos.X && p.Y >= a.pos.Y && p.X < a.pos.X+a.size.Width && p.Y < a.pos.Y+a.size.Height
}

// rowView draws one row. It is bound to another row when it is reused.
type rowView struct {
	widget.BaseWidget
	v     *View
	row   *transcript.Row
	stale bool

	text    *flow.Text // the text that can be selected, nil when there is none
	textPos fyne.Position

	flows   []*flow.Text // all texts, kept for reuse
	used    int
	objects []fyne.CanvasObject
	areas   []*area
	onHover []fyne.CanvasObject // shown while the pointer is over the row
	links   []placed            // texts that may hold links
}

// placed is a text at its place in the row.
type placed struct {
	text *flow.Text
	pos  fyne.Position
}

func newRowView(v *View) *rowView {
	r := &rowView{v: v}
	r.ExtendBaseWidget(r)
	return r
}

// CreateRenderer draws the objects of the row.
func (r *rowView) CreateRenderer() fyne.WidgetRenderer { return &rowRenderer{r} }

type rowRenderer struct{ r *rowView }

func (w *rowRenderer) Layout(fyne.Size)             {}
func (w *rowRenderer) MinSize() fyne.Size           { return w.r.Size() }
func (w *rowRenderer) Objects() []fyne.CanvasObject { return w.r.objects }
func (w *rowRenderer) Refresh()                     { canvas.Refresh(w.r) }
func (w *rowRenderer) Destroy()                     {}

// bind draws a row for a width, below the row prev or none, and returns its
// height.
func (r *rowView) bind(row, prev *transcript.Row, width float32) float32 {
	r.row, r.text, r.used = row, nil, 0
	r.objects, r.areas, r.onHover, r.links = r.objects[:0], nil, nil, nil
	b := builder{r: r, row: row, prev: prev, left: look.Edge, width: width - 2*look.Edge}
	h := b.build()
	r.Resize(fyne.NewSize(width, h))
	canvas.Refresh(r)
	return h
}

func (r *rowView) flow() *flow.Text {
	if r.used == len(r.flows) {
		r.flows = append(r.flows, flow.NewText())
	}
	t := r.flows[r.used]
	r.used++
	t.Select(0, 0)
	return t
}

func (r *rowView) areaAt(pos fyne.Position) *area {
	for _, a := range r.areas {
		if a.has(pos) {
			return a
		}
	}
	return nil
}

func (r *rowView) linkAt(pos fyne.Position) string {
	for _, p := range r.links {
		if l := p.text.LinkAt(pos.Subtract(p.pos)); l != "" {
			return l
		}
	}
	return ""
}

func (r *rowView) overText(pos fyne.Position) bool {
	if r.text == nil {
		return false
	}
	p := pos.Subtract(r.textPos)
	return p.X >= -4 && p.Y >= 0 && p.Y < r.text.Height()
}

func (r *rowView) offsetAt(pos fyne.Position) int {
	if r.text == nil {
		return 0
	}
	return r.text.OffsetAt(pos.Subtract(r.textPos))
}

// hover shows what belongs to the pointer being over the row.
func (r *rowView) hover(on bool, over *area) {
	changed := false
	for _, o := range r.onHover {
		if o.Visible() != on {
			changed = true
			if on {
				o.Show()
			} else {
				o.Hide()
			}
		}
	}
	for _, a := range r.areas {
		if a.back == nil {
			continue
		}
		c := look.Color(theme.ColorNameHover)
		if !(on && a == over) {
			c = theme.Color(theme.ColorNameShadow) // transparent in this look
		}
		if a.back.FillColor != c {
			a.back.FillColor = c
			a.back.Refresh()
			changed = true
		}
	}
	if changed {
		canvas.Refresh(r)
	}
}

// builder draws one row.
type builder struct {
	r     *rowView
	row   *transcript.Row
	prev  *transcript.Row // the row above, nil for the first
	left  float32
	width float32
}

func (b *builder) build() float32 {
	switch b.row.Kind {
	case transcript.User:
		return b.user()
	case transcript.Paragraph, transcript.Heading:
		return b.paragraph()
	case transcript.Code:
		return b.code()
	case transcript.Output:
		return b.output()
	case transcript.Math:
		return b.math()
	case transcript.Table:
		return b.table()
	case transcript.Rule:
		return b.rule()
	case transcript.Picture:
		return b.picture()
	case transcript.Thinking:
		return b.thinking()
	case transcript.Tool:
		return b.tool()
	case transcript.Line:
		return b.line()
	case transcript.Footer:
		return b.footer()
	}
	return 0
}

// add puts an object at a place.
func (b *builder) add(o fyne.CanvasObject, x, y, w, h float32) {
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(w, h))
	b.r.objects = append(b.r.objects, o)
}

// put lays out a text at a place and returns its height.
func (b *builder) put(spans []flow.Span, opt flow.Options, x, y, w float32) (*flow.Text, float32) {
	t := b.r.flow()
	h := t.Set(spans, opt, w)
	t.Move(fyne.NewPos(x, y))
	b.r.objects = append(b.r.objects, t)
	b.r.links = append(b.r.links, placed{t, fyne.NewPos(x, y)})
	return t, h
}

// main lays out the text of the row that can be selected.
func (b *builder) main(spans []flow.Span, opt flow.Options, x, y, w float32) float32 {
	t, h := b.put(spans, opt, x, y, w)
	b.r.text, b.r.textPos = t, fyne.NewPos(x, y)
	return h
}

func (b *builder) box(c fyne.ThemeColorName, x, y, w, h float32, top, bottom bool, radius float32) *canvas.Rectangle {
	r := canvas.NewRectangle(look.Color(c))
	if top && bottom {
		r.CornerRadius = radius
	} else {
		if top {
			r.TopLeftCornerRadius, r.TopRightCornerRadius = radius, radius
		}
		if bottom {
			r.BottomLeftCornerRadius, r.BottomRightCornerRadius = radius, radius
		}
	}
	b.add(r, x, y, w, h)
	return r
}

func (b *builder) icon(name string, c fyne.ThemeColorName, x, y, size float32) *canvas.Image {
	img := canvas.NewImageFromResource(look.Icon(name, c))
	img.FillMode = canvas.ImageFillContain
	b.add(img, x, y, size, size)
	return img
}

// area makes a place that acts, with a background that shows under the pointer.
func (b *builder) area(x, y, w, h float32, do func()) *area {
	back := canvas.NewRectangle(theme.Color(theme.ColorNameShadow))
	back.CornerRadius = look.RadiusSmall
	b.add(back, x, y, w, h)
	a := &area{pos: fyne.NewPos(x, y), size: fyne.NewSize(w, h), do: do, back: back}
	b.r.areas = append(b.r.areas, a)
	return a
}

// button is an icon with a word that acts, and returns its width.
func (b *builder) button(icon, word string, c fyne.ThemeColorName, x, y float32, do func()) float32 {
	opt := flow.Small()
	w := 2*look.Unit + iconSize
	tw := float32(0)
	if word != "" {
		tw = flow.Width(word, opt.Size, fyne.TextStyle{})
		w += tw + look.Unit
	}
	h := opt.Line + look.Unit
	b.area(x, y, w, h, do)
	b.icon(icon, c, x+look.Unit, y+(h-iconSize)/2, iconSize)
	if word != "" {
		b.put([]flow.Span{{Text: word, Color: c}}, flow.Options{Size: opt.Size, Line: opt.Line, NoWrap: true}, x+look.Unit+iconSize+look.Unit, y+look.Unit/2, tw+2)
	}
	return w
}

// buttonWidth is the width that a button will have.
func buttonWidth(word string) float32 {
	w := 2*look.Unit + iconSize
	if word != "" {
		w += flow.Width(word, look.SmallSize(), fyne.TextStyle{}) + look.Unit
	}
	return w
}

// spans turns runs into spans. dim makes them secondary.
func spans(runs []transcript.Run, bold, dim bool) []flow.Span {
	out := make([]flow.Span, len(runs))
	for i := range runs {
		r := &runs[i]
		s := flow.Span{Text: r.Text, Bold: r.Bold || bold, Italic: r.Italic, Strike: r.Strike, Link: r.Link}
		if r.Code {
			s.Mono, s.Boxed = true, true
		}
		if dim && r.Link == "" {
			s.Color = look.Muted
		}
		out[i] = s
	}
	return out
}

// markerText is a list marker as text; bullet stands for a plain item.
func markerText(m transcript.Marker, bullet string) string {
	switch m.Kind {
	case transcript.Bullet:
		return bullet
	case transcript.Number:
		return fmt.Sprintf("%d. ", m.N)
	case transcript.Unchecked:
		return "☐ "
	case transcript.Checked:
		return "☑ "
	}
	return ""
}
