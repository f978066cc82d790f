package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/rivo/uniseg"
)

// isTerminal reports whether v is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && f != nil && fileIsTerminal(f)
}

// size is a terminal's, in cells.
type size struct{ width, height int }

// fallbackSize is that of a terminal which does not tell.
var fallbackSize = size{80, 24}

// visible shows control and bidirectional characters instead of obeying them:
// what a model or a page wrote must not steer the terminal or hide a part of a
// command. Line ends and tabs stay.
func visible(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the control pictures
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// hidden reports a character that acts instead of being seen.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x200d, r == 0x200c:
		return false // joiners of emoji and of Persian and Indic words
	}
	return r == 0x061c || r == 0x200b || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f ||
		r == 0xfeff || r >= 0xe0000 && r <= 0xe007f || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// tabWidth is the distance of a terminal's tab stops.
const tabWidth = 8

// layout follows a text over a terminal's rows.
type layout struct {
	row, col int
	rowStart int // the index in the text where the last row begins
}

// layoutOf is where the cursor stands after s, which begins at a row's start.
func layoutOf(s string, width int) layout {
	var l layout
	state, at, rest := -1, 0, s
	for len(rest) > 0 {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		switch cluster {
		case "\n", "\r\n":
			l.row, l.col, l.rowStart = l.row+1, 0, at+len(cluster)
		case "\t":
			l.col = min((l.col/tabWidth+1)*tabWidth, width-1)
		default:
			if l.col+w > width {
				l.row, l.col, l.rowStart = l.row+1, 0, at
			}
			l.col += w
		}
		at += len(cluster)
	}
	return l
}

// erase is what takes the end of a shown text off the screen: the rows after
// keep are cleared and its last row is written again. ok is false where a part
// has left the screen and cannot be taken back.
func erase(shown, keep string, s size) (codes string, ok bool) {
	from, to := layoutOf(shown, s.width), layoutOf(keep, s.width)
	up := from.row - to.row
	if up >= s.height {
		return "", false
	}
	var b strings.Builder
	b.WriteByte('\r')
	if up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\x1b[J")
	b.WriteString(keep[to.rowStart:])
	return b.String(), true
}

// lines reads an input by the line, on a goroutine of its own that ends with the
// input.
type lines struct {
	ch   chan string // closed at the end
	once sync.Once
	in   io.Reader
}

// maxLine bounds a typed or piped line, in bytes.
const maxLine = 16 << 20

func newLines(in io.Reader) *lines { return &lines{ch: make(chan string), in: in} }

// next is the channel of lines.
func (l *lines) next() <-chan string {
	l.once.Do(func() {
		go func() {
			defer close(l.ch)
			s := bufio.NewScanner(l.in)
			s.Buffer(make([]byte, 0, 4096), maxLine)
			for s.Scan() {
				l.ch <- strings.TrimSuffix(s.Text(), "\r")
			}
		}()
	})
	return l.ch
}
