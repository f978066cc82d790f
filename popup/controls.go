package popup

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/popup/flow"
	"perch/popup/look"
)

// button is an icon, a word or both that acts when it is clicked. It takes no
// focus, so that the entry keeps it; every button has a key of its own.
type button struct {
	widget.BaseWidget
	icon    string
	word    string
	tip     func() string // what it does, shown in the status bar
	color   fyne.ThemeColorName
	filled  bool // the main choice, or the only one in a form
	outline bool
	off     bool
	tap     func()
	hint    func(string)
	hovered bool
}

var (
	_ fyne.Tappable     = (*button)(nil)
	_ desktop.Hoverable = (*button)(nil)
)

func newIcon(icon string, tip func() string, hint func(string), tap func()) *button {
	b := &button{icon: icon, tip: tip, hint: hint, tap: tap, color: look.Muted}
	b.ExtendBaseWidget(b)
	return b
}

func newButton(icon, word string, filled bool, tap func()) *button {
	b := &button{icon: icon, word: word, filled: filled, outline: !filled, tap: tap, color: theme.ColorNameForeground}
	b.ExtendBaseWidget(b)
	return b
}

func newFlat(icon, word string, tap func()) *button {
	b := &button{icon: icon, word: word, tap: tap, color: look.Muted}
	b.ExtendBaseWidget(b)
	return b
}

// Tapped acts.
func (b *button) Tapped(*fyne.PointEvent) {
	if !b.off && b.tap != nil {
		b.tap()
	}
}

// MouseIn shows what the button does.
func (b *button) MouseIn(*desktop.MouseEvent) {
	b.hovered = true
	if b.hint != nil && b.tip != nil {
		b.hint(b.tip())
	}
	b.Refresh()
}

// MouseMoved does nothing.
func (b *button) MouseMoved(*desktop.MouseEvent) {}

// MouseOut takes the hint away.
func (b *button) MouseOut() {
	b.hovered = false
	if b.hint != nil {
		b.hint("")
	}
	b.Refresh()
}

func (b *button) set(icon, word string, c fyne.ThemeColorName) {
	if b.icon != icon || b.word != word || b.color != c {
		b.icon, b.word, b.color = icon, word, c
		b.Refresh()
	}
}

func (b *button) setOff(off bool) {
	if b.off != off {
		b.off = off
		b.Refresh()
	}
}

// CreateRenderer draws the button.
func (b *button) CreateRenderer() fyne.WidgetRenderer {
	r := &buttonRenderer{b: b, back: canvas.NewRectangle(nil), icon: canvas.NewImageFromResource(nil), word: canvas.NewText("", nil)}
	r.icon.FillMode = canvas.ImageFillContain
	r.back.CornerRadius = look.RadiusSmall
	r.Refresh()
	return r
}

type buttonRenderer struct {
	b    *button
	back *canvas.Rectangle
	icon *canvas.Image
	word *canvas.Text
}

const glyph = 18 // side of an icon in a button, in units

func (r *buttonRenderer) MinSize() fyne.Size {
	w := float32(2 * 2 * look.Unit)
	if r.b.icon != "" {
		w += glyph
	}
	if r.b.word != "" {
		w += flow.Width(r.b.word, look.SmallSize(), fyne.TextStyle{Bold: r.b.filled})
		if r.b.icon != "" {
			w += look.Unit
		}
		if r.b.filled || r.b.outline {
			w += 2 * look.Unit
		}
	}
	return fyne.NewSize(w, 7*look.Unit+max(0, look.SmallSize()-look.Small))
}

func (r *buttonRenderer) Layout(s fyne.Size) {
	r.back.Resize(s)
	ww := float32(0)
	if r.b.word != "" {
		ww = flow.Width(r.b.word, look.SmallSize(), fyne.TextStyle{Bold: r.b.filled})
	}
	used := ww
	if r.b.icon != "" {
		used += glyph
		if ww > 0 {
			used += look.Unit
		}
	}
	x := (s.Width - used) / 2
	if r.b.icon != "" {
		r.icon.Resize(fyne.NewSquareSize(glyph))
		r.icon.Move(fyne.NewPos(x, (s.Height-glyph)/2))
		x += glyph + look.Unit
	}
	th := r.word.MinSize().Height
	r.word.Move(fyne.NewPos(x, (s.Height-th)/2))
	r.word.Resize(fyne.NewSize(ww, th))
}

func (r *buttonRenderer) Refresh() {
	b := r.b
	c := b.color
	var fill color.Color = color.Transparent
	r.back.StrokeWidth = 0
	switch {
	case b.filled:
		c, fill = theme.ColorNameForegroundOnPrimary, look.Color(look.Accent)
	case b.outline:
		fill = look.Color(look.Surface)
		r.back.StrokeWidth, r.back.StrokeColor = 1, look.Color(look.Hairline)
	}
	if b.off {
		c = look.Muted
		if b.filled {
			fill = look.Color(look.Sunken)
		}
	} else if b.hovered && !b.filled {
		fill = look.Color(theme.ColorNameHover)
	}
	r.back.FillColor = fill
	r.back.Refresh()
	if b.icon != "" {
		r.icon.Resource = look.Icon(b.icon, c)
		r.icon.Refresh()
		r.icon.Show()
	} else {
		r.icon.Hide()
	}
	r.word.Text, r.word.TextSize, r.word.Color = b.word, look.SmallSize(), look.Color(c)
	r.word.TextStyle = fyne.TextStyle{Bold: b.filled}
	r.word.Refresh()
	r.Layout(b.Size())
	canvas.Refresh(b)
}

func (r *buttonRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.back, r.icon, r.word}
}
func (r *buttonRenderer) Destroy() {}

// card is a rounded surface with a hairline around its content.
type card struct {
	widget.BaseWidget
	fill    fyne.ThemeColorName
	pad     float32
	content fyne.CanvasObject
}

func newCard(fill fyne.ThemeColorName, pad float32, content fyne.CanvasObject) *card {
	c := &card{fill: fill, pad: pad, content: content}
	c.ExtendBaseWidget(c)
	return c
}

// CreateRenderer draws the card.
func (c *card) CreateRenderer() fyne.WidgetRenderer {
	r := &cardRenderer{c: c, back: canvas.NewRectangle(nil)}
	r.Refresh()
	return r
}

type cardRenderer struct {
	c    *card
	back *canvas.Rectangle
}

func (r *cardRenderer) Layout(s fyne.Size) {
	r.back.Resize(s)
	r.c.content.Move(fyne.NewPos(r.c.pad, r.c.pad))
	r.c.content.Resize(s.SubtractWidthHeight(2*r.c.pad, 2*r.c.pad))
}

func (r *cardRenderer) MinSize() fyne.Size {
	return r.c.content.MinSize().AddWidthHeight(2*r.c.pad, 2*r.c.pad)
}

func (r *cardRenderer) Refresh() {
	r.back.FillColor, r.back.StrokeColor = look.Color(r.c.fill), look.Color(look.Hairline)
	r.back.StrokeWidth, r.back.CornerRadius = 1, look.Radius
	r.back.Refresh()
	r.Layout(r.c.Size())
	canvas.Refresh(r.c)
}

func (r *cardRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.back, r.c.content}
}
func (r *cardRenderer) Destroy() {}

// caption is a line or paragraph of small text that wraps.
type caption struct {
	widget.BaseWidget
	text  string
	color fyne.ThemeColorName
	bold  bool
	body  bool // in the larger size
	mono  bool
	align flow.Align
	flow  *flow.Text
}

func newCaption(text string, c fyne.ThemeColorName) *caption {
	l := &caption{text: text, color: c, flow: flow.NewText()}
	l.ExtendBaseWidget(l)
	return l
}

func newTitle(text string) *caption {
	l := newCaption(text, theme.ColorNameForeground)
	l.bold, l.body = true, true
	return l
}

func (l *caption) set(text string, c fyne.ThemeColorName) {
	if l.text != text || l.color != c {
		l.text, l.color = text, c
		l.lay()
		l.Refresh()
	}
}

func (l *caption) lay() {
	opt := flow.Small()
	if l.body {
		opt = flow.Body()
	}
	opt.Align, opt.Anywhere = l.align, l.mono
	l.flow.Set([]flow.Span{{Text: l.text, Color: l.color, Bold: l.bold, Mono: l.mono}}, opt, max(l.Size().Width, 40))
}

// Resize wraps the text to the new width.
func (l *caption) Resize(s fyne.Size) {
	old := l.Size()
	l.BaseWidget.Resize(s)
	if old.Width != s.Width {
		l.lay()
	}
}

// MinSize is the height that the text takes at its width.
func (l *caption) MinSize() fyne.Size {
	if l.flow.Height() == 0 {
		l.lay()
	}
	return fyne.NewSize(0, l.flow.Height())
}

// CreateRenderer draws the text.
func (l *caption) CreateRenderer() fyne.WidgetRenderer { return &captionRenderer{l} }

type captionRenderer struct{ l *caption }

func (r *captionRenderer) Layout(fyne.Size)             {}
func (r *captionRenderer) MinSize() fyne.Size           { return r.l.MinSize() }
func (r *captionRenderer) Refresh()                     { r.l.lay(); canvas.Refresh(r.l) }
func (r *captionRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.l.flow} }
func (r *captionRenderer) Destroy()                     {}

// gap is empty space.
func gap(h float32) fyne.CanvasObject {
	r := canvas.NewRectangle(color.Transparent)
	r.SetMinSize(fyne.NewSize(0, h))
	return r
}
