package extract

import (
	"strings"
	"unicode"
)

// flow gathers running text into lines: words with single spaces, blocks on
// lines of their own, and for each line the place it came from.
type flow struct {
	b      strings.Builder
	places []int // of each finished line
	line   strings.Builder
	place  int  // of the line being gathered
	now    int  // current place in the source
	space  bool // owed before the next word
	blank  bool // the last finished line is blank
	pre    int  // depth of preformatted blocks
}

func newFlow() *flow { return &flow{now: 1, blank: true} }

// text adds running text; spaces collapse unless a block is preformatted.
func (f *flow) text(s string) {
	if f.pre > 0 {
		for {
			i := strings.IndexByte(s, '\n')
			if i < 0 {
				break
			}
			f.word(strings.TrimSuffix(s[:i], "\r"))
			f.end()
			f.now++
			s = s[i+1:]
		}
		f.word(s)
		return
	}
	start := -1
	for i, r := range s {
		if unicode.IsSpace(r) && r != '\u00a0' {
			if start >= 0 {
				f.word(s[start:i])
				start = -1
			}
			f.space = f.line.Len() > 0
			if r == '\n' {
				f.now++
			}
			continue
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		f.word(s[start:])
	}
}

func (f *flow) word(s string) {
	if s == "" {
		return
	}
	if f.line.Len() == 0 {
		f.place = f.now
	} else if f.space {
		f.line.WriteByte(' ')
	}
	f.space = false
	f.line.WriteString(s)
}

// end finishes the line at hand, if it holds anything.
func (f *flow) end() {
	f.space = false
	s := f.line.String()
	f.line.Reset()
	if strings.TrimSpace(s) == "" {
		return
	}
	f.b.WriteString(strings.TrimRight(s, " \t"))
	f.b.WriteByte('\n')
	f.places = append(f.places, f.place)
	f.blank = false
}

// block finishes the line and leaves a blank one, once.
func (f *flow) block() {
	f.end()
	if !f.blank {
		f.b.WriteByte('\n')
		f.places = append(f.places, f.now)
		f.blank = true
	}
}

// done returns the text and the places of its lines.
func (f *flow) done() (string, []int) {
	f.end()
	return f.b.String(), f.places
}
