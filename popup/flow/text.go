package flow

import (
	"image/color"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
	"github.com/rivo/uniseg"

	"perch/popup/look"
)

// Text is a laid out text. It is drawn only; whoever owns it hands it the
// pointer's positions. Its methods belong to the window's thread.
type Text struct {
	widget.BaseWidget

	spans []Span
	opt   Options
	plain string
	lines []line
	width float32

	selFrom, selTo int // selected bytes, equal when none
}

// NewText returns an empty text.
func NewText() *Text {
	t := &Text{}
	t.ExtendBaseWidget(t)
	return t
}

// Set gives the text its content and lays it out to a width. It returns the
// height.
func (t *Text) Set(spans []Span, opt Options, width float32) float32 {
	var b strings.Builder
	for i := range spans {
		b.WriteString(spans[i].Text)
	}
	t.spans, t.opt, t.plain = spans, opt, b.String()
	t.width = width
	t.lines = layout(spans, opt, width)
	t.BaseWidget.Resize(fyne.NewSize(width, t.Height()))
	t.Refresh()
	return t.Height()
}

// Fit lays the same content out to another width.
func (t *Text) Fit(width float32) float32 {
	if width != t.width {
		return t.Set(t.spans, t.opt, width)
	}
	return t.Height()
}

// Height is the height of the laid out text.
func (t *Text) Height() float32 { return float32(len(t.lines)) * t.opt.Line }

// Natural is the width of the widest line.
func (t *Text) Natural() float32 {
	w := float32(0)
	for i := range t.lines {
		w = max(w, t.lines[i].w)
	}
	return w
}

// Plain is the text without styles.
func (t *Text) Plain() string { return t.plain }

// MinSize is the laid out size.
func (t *Text) MinSize() fyne.Size { return fyne.NewSize(0, t.Height()) }

// Select marks the bytes from from to to as selected.
func (t *Text) Select(from, to int) {
	from, to = max(0, min(from, len(t.plain))), max(0, min(to, len(t.plain)))
	if from > to {
		from, to = to, from
	}
	if from == t.selFrom && to == t.selTo {
		return
	}
	t.selFrom, t.selTo = from, to
	t.Refresh()
}

// LinkAt is the link at a position, "" where there is none.
func (t *Text) LinkAt(pos fyne.Position) string {
	i := int(pos.Y / t.opt.Line)
	if pos.Y < 0 || i >= len(t.lines) {
		return ""
	}
	x := pos.X - t.lineX(&t.lines[i])
	for _, p := range t.lines[i].pieces {
		if x >= p.x && x < p.x+p.w {
			return t.spans[p.span].Link
		}
	}
	return ""
}

// OffsetAt is the byte offset nearest to a position, at a character's edge.
func (t *Text) OffsetAt(pos fyne.Position) int {
	if len(t.lines) == 0 || pos.Y < 0 {
		return 0
	}
	i := int(pos.Y / t.opt.Line)
	if i >= len(t.lines) {
		return len(t.plain)
	}
	l := &t.lines[i]
	x := pos.X - t.lineX(l)
	for k, p := range l.pieces {
		if x < p.x {
			return p.from
		}
		if x < p.x+p.w || k+1 < len(l.pieces) && x < l.pieces[k+1].x {
			return p.from + t.offsetIn(&p, x-p.x)
		}
	}
	return l.to
}

// offsetIn is the byte in a piece whose left edge is nearest to x.
func (t *Text) offsetIn(p *piece, x float32) int {
	sp := &t.spans[p.span]
	at, rest, state := float32(0), p.text, -1
	for rest != "" {
		var cluster string
		before := len(p.text) - len(rest)
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		w := spanWidth(cluster, t.opt.Size, sp)
		if x < at+w/2 {
			return before
		}
		at += w
	}
	return len(p.text)
}

// WordAt are the bounds of the word at an offset.
func (t *Text) WordAt(off int) (from, to int) {
	rest, state, at := t.plain, -1, 0
	for rest != "" {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		if off < at+len(word) {
			return at, at + len(word)
		}
		at += len(word)
	}
	return at, at
}

func (t *Text) lineX(l *line) float32 {
	switch t.opt.Align {
	case AlignRight:
		return max(0, t.width-l.w)
	case AlignCentre:
		return max(0, (t.width-l.w)/2)
	}
	return 0
}

// CreateRenderer draws the text.
func (t *Text) CreateRenderer() fyne.WidgetRenderer {
	r := &textRenderer{t: t}
	r.Refresh()
	return r
}

// textRenderer keeps its canvas objects from one refresh to the next, so that
// unchanged lines keep their textures.
type textRenderer struct {
	t       *Text
	texts   []*canvas.Text
	boxes   []*canvas.Rectangle
	strikes []*canvas.Rectangle
	marks   []*canvas.Rectangle
	objects []fyne.CanvasObject
}

func (r *textRenderer) Layout(fyne.Size)             {}
func (r *textRenderer) MinSize() fyne.Size           { return r.t.MinSize() }
func (r *textRenderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *textRenderer) Destroy()                     {}

// Refresh draws the lines. Objects are reused in order.
func (r *textRenderer) Refresh() {
	t := r.t
	var nText, nBox, nStrike, nMark int
	ref, refBase := metrics(t.opt.Size, fyne.TextStyle{})
	for i := range t.lines {
		l := &t.lines[i]
		top, left := float32(i)*t.opt.Line, t.lineX(l)
		if from, to := max(l.from, t.selFrom), min(l.to, t.selTo); t.selFrom < t.selTo && from <= to && (from < to || t.selTo > l.to && t.selFrom <= l.from) {
			x0, x1 := t.xOf(l, from), t.xOf(l, to)
			if t.selTo > l.to { // the line break is selected too
				x1 += 4
			}
			place(rect(&r.marks, &nMark), look.Color(look.Marked), 2, left+x0, top, x1-x0, t.opt.Line)
		}
		for _, p := range l.pieces {
			sp := &t.spans[p.span]
			h, base := metrics(t.opt.Size, sp.style())
			y := top + (t.opt.Line-ref)/2 + refBase - base
			if sp.Boxed {
				place(rect(&r.boxes, &nBox), look.Color(look.Sunken), look.RadiusSmall-2, left+p.x-boxPad, top+1.5, p.w+2*boxPad, t.opt.Line-3)
			}
			text := r.text(&nText)
			c := look.Color(sp.color())
			if p.emoji {
				if text.FontSource == nil || text.Text != p.text || text.TextSize != t.opt.Size {
					text.FontSource, text.Text, text.TextSize, text.TextStyle, text.Color = emojiFont(), p.text, t.opt.Size, fyne.TextStyle{}, c
					text.Refresh()
				}
				eh, ebase := emojiMetrics(t.opt.Size)
				text.Move(fyne.NewPos(left+p.x, top+(t.opt.Line-ref)/2+refBase-ebase))
				text.Resize(fyne.NewSize(p.w, eh))
				continue
			}
			if text.FontSource != nil {
				text.FontSource, text.Text = nil, ""
			}
			if text.Text != p.text || text.TextSize != t.opt.Size || text.TextStyle != sp.style() || !sameColor(text.Color, c) {
				text.Text, text.TextSize, text.TextStyle, text.Color = p.text, t.opt.Size, sp.style(), c
				text.Refresh()
			}
			text.Move(fyne.NewPos(left+p.x, y))
			text.Resize(fyne.NewSize(p.w, h))
			if sp.Strike {
				place(rect(&r.strikes, &nStrike), c, 0, left+p.x, top+t.opt.Line*0.52, p.w, 1)
			}
		}
	}
	r.texts, r.boxes, r.strikes, r.marks = r.texts[:nText], r.boxes[:nBox], r.strikes[:nStrike], r.marks[:nMark]
	r.objects = r.objects[:0]
	for _, o := range r.boxes {
		r.objects = append(r.objects, o)
	}
	for _, o := range r.marks {
		r.objects = append(r.objects, o)
	}
	for _, o := range r.texts {
		r.objects = append(r.objects, o)
	}
	for _, o := range r.strikes {
		r.objects = append(r.objects, o)
	}
	canvas.Refresh(t)
}

func (r *textRenderer) text(n *int) *canvas.Text {
	if *n == len(r.texts) {
		r.texts = append(r.texts, canvas.NewText("", nil))
	}
	*n++
	return r.texts[*n-1]
}

func rect(list *[]*canvas.Rectangle, n *int) *canvas.Rectangle {
	if *n == len(*list) {
		*list = append(*list, canvas.NewRectangle(nil))
	}
	*n++
	return (*list)[*n-1]
}

func place(o *canvas.Rectangle, c color.Color, radius, x, y, w, h float32) {
	if o.CornerRadius != radius || !sameColor(o.FillColor, c) {
		o.CornerRadius, o.FillColor = radius, c
		o.Refresh()
	}
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(w, h))
}

func sameColor(a, b color.Color) bool { return a == b }

// xOf is the x of a byte offset within a line.
func (t *Text) xOf(l *line, off int) float32 {
	x := float32(0)
	for _, p := range l.pieces {
		if off < p.from {
			return p.x
		}
		if off <= p.from+len(p.text) {
			return p.x + spanWidth(p.text[:off-p.from], t.opt.Size, &t.spans[p.span])
		}
		x = p.x + p.w
	}
	return x
}

// metrics are the height and baseline of a style.
func metrics(size float32, st fyne.TextStyle) (height, baseline float32) {
	s, base := fyne.CurrentApp().Driver().RenderedTextSize("x", size, st, nil)
	return s.Height, base
}

// Body are the options of ordinary text in the theme in use.
func Body() Options {
	size := theme.Size(theme.SizeNameText)
	return Options{Size: size, Line: float32(int(size*look.Line + 0.5))}
}

// Small are the options of small text in the theme in use.
func Small() Options {
	size := theme.Size(theme.SizeNameCaptionText)
	return Options{Size: size, Line: float32(int(size*look.Line + 0.5))}
}
