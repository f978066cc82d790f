// Package flow sets running text: spans of different styles, wrapped to a width,
// with clickable links and text that can be selected by character. It stands in
// for the toolkit's rich text, whose layout costs too much for streaming and
// whose text cannot be selected.
package flow

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	"github.com/rivo/uniseg"
)

// Span is a piece of text in one style. A "\n" breaks the line.
type Span struct {
	Text   string
	Bold   bool
	Italic bool
	Mono   bool
	Strike bool
	// Boxed draws a rounded box behind the span, as for inline code.
	Boxed bool
	// Link is where a click leads, "" for plain text.
	Link string
	// Color is the text's colour, "" for the foreground.
	Color fyne.ThemeColorName
}

func (s *Span) style() fyne.TextStyle {
	return fyne.TextStyle{Bold: s.Bold, Italic: s.Italic, Monospace: s.Mono}
}

func (s *Span) color() fyne.ThemeColorName {
	switch {
	case s.Color != "":
		return s.Color
	case s.Link != "":
		return theme.ColorNameHyperlink
	}
	return theme.ColorNameForeground
}

// Align is where lines stand.
type Align uint8

// The alignments.
const (
	AlignLeft Align = iota
	AlignCentre
	AlignRight
)

// Options are what a text as a whole has.
type Options struct {
	Size  float32 // text size
	Line  float32 // height of a line
	Align Align
	// Anywhere lets lines break between any two characters, as for code.
	Anywhere bool
	// NoWrap keeps each line in one; what does not fit is cut off by an ellipsis.
	NoWrap bool
}

// piece is a part of a line in one style.
type piece struct {
	text  string
	emoji bool // drawn in the system's emoji font
	span  int
	x, w  float32
	from  int // byte offset in the whole text
}

// line is one laid out line.
type line struct {
	pieces []piece
	w      float32
	from   int // byte offset of its start in the whole text
	to     int // and of its end, without the line break
}

// boxPad is the space that a boxed span has left and right.
const boxPad float32 = 3

// measured caches the widths of words: text is measured again with each piece
// of a streaming paragraph, and shaping a word costs some microseconds.
var measured = struct {
	sync.Mutex
	widths map[measureKey]float32
}{widths: map[measureKey]float32{}}

type measureKey struct {
	text  string
	size  float32
	style fyne.TextStyle
}

// maxMeasured bounds the cache of word widths; 30,000 words are about 3 MB.
const maxMeasured = 30000

// Forget drops cached widths; call it when the theme's fonts change.
func Forget() {
	measured.Lock()
	defer measured.Unlock()
	clear(measured.widths)
}

// Width is the width of text in one style.
func Width(text string, size float32, style fyne.TextStyle) float32 {
	if text == "" {
		return 0
	}
	k := measureKey{text, size, style}
	measured.Lock()
	w, ok := measured.widths[k]
	measured.Unlock()
	if ok {
		return w
	}
	s, _ := fyne.CurrentApp().Driver().RenderedTextSize(text, size, style, nil)
	measured.Lock()
	if len(measured.widths) >= maxMeasured {
		clear(measured.widths)
	}
	k.text = strings.Clone(text)
	measured.widths[k] = s.Width
	measured.Unlock()
	return s.Width
}

// breaker lays spans out into lines.
type breaker struct {
	spans []Span
	opt   Options
	width float32

	lines []line
	cur   line
	x     float32 // width used in the current line, trailing spaces included
}

// layout breaks spans into lines of at most width.
func layout(spans []Span, opt Options, width float32) []line {
	b := &breaker{spans: spans, opt: opt, width: width}
	off := 0
	for i := range spans {
		off = b.span(i, off)
	}
	b.newline(off, off)
	return b.lines
}

// span adds a whole span and returns the offset after it.
func (b *breaker) span(i, off int) int {
	rest := b.spans[i].Text
	for {
		head, tail, broke := strings.Cut(rest, "\n")
		if b.opt.Anywhere {
			b.anywhere(i, head, off)
		} else {
			b.words(i, head, off)
		}
		off += len(head)
		if !broke {
			return off
		}
		b.newline(off, off+1)
		off, rest = off+1, tail
	}
}

// words adds text that may break where Unicode lets it.
func (b *breaker) words(i int, text string, off int) {
	sp := &b.spans[i]
	state := -1
	for text != "" {
		var word string
		word, text, _, state = uniseg.FirstLineSegmentInString(text, state)
		full := spanWidth(word, b.opt.Size, sp)
		trimmed := strings.TrimRight(word, " ")
		need := full
		if len(trimmed) < len(word) {
			need = spanWidth(trimmed, b.opt.Size, sp)
		}
		if !b.opt.NoWrap && b.x+need > b.width && b.x > 0 && trimmed != "" {
			if !b.glued(word, off) || !b.carry() {
				b.newline(off, off)
			}
		}
		if need > b.width && !b.opt.NoWrap {
			b.anywhere(i, word, off)
		} else {
			b.put(i, word, off, full)
		}
		off += len(word)
	}
}

// glued reports whether text that begins at off goes on without a place to break
// from the piece before, as a comma does after a word in another style.
func (b *breaker) glued(word string, off int) bool {
	n := len(b.cur.pieces)
	if n == 0 || word == "" {
		return false
	}
	last := &b.cur.pieces[n-1]
	if off != last.from+len(last.text) || last.emoji {
		return false
	}
	r1, _ := utf8.DecodeLastRuneInString(last.text)
	r2, _ := utf8.DecodeRuneInString(word)
	const firstOfCJK = 0x2e80 // from here on a line may break between characters
	return r1 < firstOfCJK && r2 < firstOfCJK && !unicode.IsSpace(r1) && !unicode.IsSpace(r2) && r1 != '-' && r1 != '/'
}

// carry ends the line before the last word of its last piece and takes that word
// along to the next line. It reports false when the line holds nothing else.
func (b *breaker) carry() bool {
	n := len(b.cur.pieces)
	last := b.cur.pieces[n-1]
	at := strings.LastIndexByte(last.text, ' ') + 1
	if at == 0 && n == 1 {
		return false
	}
	sp := &b.spans[last.span]
	tail, from := last.text[at:], last.from+at
	if at == 0 {
		b.cur.pieces = b.cur.pieces[:n-1]
		b.x = last.x
		if sp.Boxed {
			b.x -= boxPad
		}
	} else {
		p := &b.cur.pieces[n-1]
		p.text = last.text[:at]
		p.w = spanWidth(p.text, b.opt.Size, sp)
		b.x = p.x + p.w
	}
	b.newline(from, from)
	b.put(last.span, tail, from, spanWidth(tail, b.opt.Size, sp))
	return true
}

// anywhere adds text that may break between any two characters.
func (b *breaker) anywhere(i int, text string, off int) {
	sp := &b.spans[i]
	for text != "" {
		w := spanWidth(text, b.opt.Size, sp)
		if b.x+w <= b.width || b.opt.NoWrap {
			b.put(i, text, off, w)
			return
		}
		n, used := b.fit(text, sp)
		if n == 0 {
			if b.x > 0 {
				b.newline(off, off)
				continue
			}
			cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text, -1)
			n, used = len(cluster), spanWidth(cluster, b.opt.Size, sp)
		}
		b.put(i, text[:n], off, used)
		off, text = off+n, text[n:]
		if text != "" {
			b.newline(off, off)
		}
	}
}

// fit is how many bytes of text fit the current line, and their width.
func (b *breaker) fit(text string, sp *Span) (n int, used float32) {
	state := -1
	rest := text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		w := spanWidth(cluster, b.opt.Size, sp)
		if b.x+used+w > b.width {
			break
		}
		n, used = n+len(cluster), used+w
	}
	return n, used
}

// put adds text to the current line, joining it to a piece of the same span.
func (b *breaker) put(i int, text string, off int, w float32) {
	if text == "" {
		return
	}
	if hasEmoji(text, &b.spans[i]) {
		for _, s := range splitEmoji(text) {
			b.putPiece(i, s.text, off, s.width(b.opt.Size, &b.spans[i]), s.emoji)
			off += len(s.text)
		}
		return
	}
	b.putPiece(i, text, off, w, false)
}

func (b *breaker) putPiece(i int, text string, off int, w float32, emoji bool) {
	n := len(b.cur.pieces)
	if n > 0 && b.cur.pieces[n-1].span == i && b.cur.pieces[n-1].emoji == emoji {
		p := &b.cur.pieces[n-1]
		p.text += text
		p.w += w
		b.x += w
		return
	}
	if b.spans[i].Boxed {
		b.x += boxPad
	}
	b.cur.pieces = append(b.cur.pieces, piece{text: text, emoji: emoji, span: i, x: b.x, w: w, from: off})
	b.x += w
	if b.spans[i].Boxed {
		b.x += boxPad
	}
}

// newline ends the current line at byte offset end; the next begins at next.
func (b *breaker) newline(end, next int) {
	b.cur.to, b.cur.w = end, b.x
	if n := len(b.cur.pieces); n > 0 { // spaces at the end take no room
		p := &b.cur.pieces[n-1]
		if t := strings.TrimRight(p.text, " "); t != p.text && !b.opt.Anywhere {
			w := spanWidth(t, b.opt.Size, &b.spans[p.span])
			b.cur.w -= p.w - w
			p.text, p.w = t, w
		}
	}
	b.lines = append(b.lines, b.cur)
	b.cur = line{from: next}
	b.x = 0
}

// Ellipsis shortens text to a width.
func Ellipsis(text string, width, size float32, st fyne.TextStyle) string {
	if Width(text, size, st) <= width {
		return text
	}
	room := width - Width("…", size, st)
	used, n, state, rest := float32(0), 0, -1, text
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		w := Width(cluster, size, st)
		if used+w > room {
			break
		}
		used, n = used+w, n+len(cluster)
	}
	return strings.TrimRight(text[:n], " ") + "…"
}

// Lines is the number of lines that plain text takes at a width.
func Lines(text string, opt Options, width float32) int {
	return len(layout([]Span{{Text: text}}, opt, width))
}
