package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// screen is a small terminal: it wraps, and obeys \n, \r, \t, cursor up and
// clear to the end.
type screen struct {
	width    int
	rows     [][]string // a cell each; the second cell of a wide character is ""
	row, col int
	wrap     bool // the next character begins a new row
}

func newScreen(width int) *screen { return &screen{width: width, rows: [][]string{nil}} }

func (s *screen) down() {
	s.row++
	s.wrap = false
	if s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
}

func (s *screen) write(text string) {
	state := -1
	for text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexAny(text, "AJ")
			n, _ := strconv.Atoi(text[2:end])
			if text[end] == 'A' {
				s.row = max(0, s.row-max(n, 1))
			} else {
				s.rows = s.rows[:s.row+1]
				s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
			}
			s.wrap = false
			text, state = text[end+1:], -1
			continue
		}
		var cluster string
		var w int
		cluster, text, w, state = uniseg.FirstGraphemeClusterInString(text, state)
		switch cluster {
		case "\n", "\r\n":
			s.down()
			s.col = 0
		case "\r":
			s.col, s.wrap = 0, false
		case "\t":
			s.col, s.wrap = min((s.col/tabWidth+1)*tabWidth, s.width-1), false // as xterm does
		default:
			if s.wrap || s.col+w > s.width {
				s.down()
				s.col = 0
			}
			for len(s.rows[s.row]) < s.col+w {
				s.rows[s.row] = append(s.rows[s.row], " ")
			}
			if w > 0 {
				s.rows[s.row][s.col] = cluster
				for i := 1; i < w; i++ {
					s.rows[s.row][s.col+i] = ""
				}
			}
			s.col += w
			s.wrap = s.col >= s.width
		}
	}
}

func (s *screen) String() string {
	var out []string
	for _, r := range s.rows {
		out = append(out, strings.TrimRight(strings.Join(r, ""), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

func TestErasedTextLeavesTheScreenAsIfItHadNeverBeen(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "word ", "\n", "日本", "🙂", "👨‍👩‍👧", "é", "\t", "long long long words that wrap", "x\n\ny"})
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(10, 30).Draw(t, "width")
		keep := strings.Join(rapid.SliceOf(piece).Draw(t, "keep"), "")
		drop := strings.Join(rapid.SliceOf(piece).Draw(t, "drop"), "")
		next := strings.Join(rapid.SliceOf(piece).Draw(t, "next"), "")
		got, want := newScreen(width), newScreen(width)
		got.write(keep + drop)
		codes, ok := erase(keep+drop, keep, size{width, 1000})
		if !ok {
			t.Fatal("not erased on a high screen")
		}
		got.write(codes + next)
		want.write(keep + next)
		if got.String() != want.String() {
			t.Fatalf("width %d, keep %q, drop %q, next %q\ngot\n%s\nwant\n%s", width, keep, drop, next, got, want)
		}
	})
}

func TestWhatHasLeftTheScreenIsNotErased(t *testing.T) {
	if _, ok := erase("a\nb\nc\nd", "a", size{80, 3}); ok {
		t.Fatal("rows above the screen were taken for erasable")
	}
	if _, ok := erase("a\nb\nc", "a", size{80, 3}); !ok {
		t.Fatal("rows on the screen were not erased")
	}
}

func TestControlCharactersAreShownAndNotObeyed(t *testing.T) {
	for in, want := range map[string]string{
		"plain äöü 日本\n\t": "plain äöü 日本\n\t",
		"\x1b[2J":          "␛[2J",
		"a\rb\x00\x7f":     "a␍b␀␡",
		"rm \u202e x":      "rm <U+202E> x",
		"\u009b31m":        "<U+009B>31m",
		"👨\u200d👩":         "👨\u200d👩",
		"zero\u200bwidth":  "zero<U+200B>width",
		"tag \U000E0041":   "tag <U+E0041>",
		"a\u2028b":         "a<U+2028>b",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
