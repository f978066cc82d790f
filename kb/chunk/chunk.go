// Package chunk cuts a text into overlapping passages for an index. It is pure.
//
// Passages end at line ends, best before a heading or at a blank line. Only a
// line that is longer than a passage is cut inside, at a space where there is
// one and never inside a character. Each passage starts with the last tenth of
// the one before it, so that a sentence across the cut is found, too.
package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Size is the length of a passage in characters: some 200 English words,
	// which embedding models with 256 or 512 tokens take whole.
	Size = 1200
	// SizeCJK is the same for Chinese, Japanese and Korean, where a character
	// says about as much as half a word and costs about a token.
	SizeCJK = 500
	// cjkShare of the letters makes a text one of those.
	cjkShare = 0.3
	// overlapPercent of the passage is repeated at the start of the next one,
	// and at most maxOverlapPercent when that ends at a better place.
	overlapPercent    = 12
	maxOverlapPercent = 15
	// lookBackPercent of a passage is searched for a better end than the last
	// line that fits.
	lookBackPercent = 45
	// maxHeading is the longest heading, in bytes, kept as context.
	maxHeading = 160
)

// A Chunk is one passage.
type Chunk struct {
	Text string
	// StartLine and EndLine are lines of the input, from 1, both included.
	StartLine, EndLine int
	// Heading is the chain of headings that the passage starts under,
	// "Guide › Install", or "".
	Heading string
}

// Options say how to cut.
type Options struct {
	// Size overrides the passage length in characters; 0 is by script.
	Size int
	// Headings says that lines starting with # are headings (Markdown, and what
	// was extracted as such).
	Headings bool
	// Code prefers ends before lines without indentation.
	Code bool
}

// piece is a line, or a part of one that is too long.
type piece struct {
	text  string // without the line end
	runes int
	line  int
	// joins says that the next piece is of the same line.
	joins bool
	level int // of a heading, 0 for none
	blank bool
	flush bool // code: starts without indentation
}

// Split cuts a text. Line ends may be \n, \r\n or \r. A text of blanks gives none.
func Split(text string, o Options) []Chunk {
	size := o.Size
	if size <= 0 {
		size = Size
		if isCJK(text) {
			size = SizeCJK
		}
	}
	ps := pieces(text, size, o)
	for len(ps) > 0 && ps[len(ps)-1].blank {
		ps = ps[:len(ps)-1]
	}
	var out []Chunk
	var heads headings
	var lead overlap
	for start := 0; start < len(ps); {
		if lead.runes == 0 {
			for ps[start].blank {
				start++
			}
			lead = overlap{at: start, text: ps[start].text}
		}
		end := cutEnd(ps, start, size-lead.runes, o)
		c := Chunk{StartLine: ps[lead.at].line, Heading: heads.path()}
		if lead.at == start {
			c.Heading = heads.before(ps[start])
		}
		var b strings.Builder
		last := lead.at
		for i := lead.at; i < end; i++ {
			t := ps[i].text
			if i == lead.at {
				t = lead.text
			}
			b.WriteString(t)
			if !ps[i].joins {
				b.WriteByte('\n')
			}
			if !ps[i].blank {
				last = i
			}
			if i >= start {
				heads.see(ps[i])
			}
		}
		c.EndLine = ps[last].line
		c.Text = strings.TrimRightFunc(b.String(), unicode.IsSpace)
		out = append(out, c)
		lead = overlapOf(ps, start, end, size)
		start = end
	}
	return out
}

// cutEnd returns the index after the last piece of the passage that starts at
// start and has room for that many characters.
func cutEnd(ps []piece, start, room int, o Options) int {
	used, end := 0, start
	for end < len(ps) {
		n := ps[end].runes + 1
		if used+n > room && end > start {
			break
		}
		used += n
		end++
	}
	if end == len(ps) {
		return end
	}
	best, bestRank := end, breakRank(ps, end, o)
	left := used
	for i := end - 1; i > start; i-- {
		left -= ps[i].runes + 1
		if left*100 < room*(100-lookBackPercent) {
			break
		}
		if r := breakRank(ps, i, o); r > bestRank {
			best, bestRank = i, r
		}
	}
	return best
}

// breakRank says how good it is to start a passage at piece i.
func breakRank(ps []piece, i int, o Options) int {
	switch {
	case i > 0 && ps[i-1].joins:
		return 0
	case ps[i].level > 0:
		return 4
	case o.Code && ps[i].flush && i > 0 && ps[i-1].blank:
		return 3
	case ps[i].blank || i > 0 && ps[i-1].blank:
		return 2
	}
	return 1
}

// overlap is the end of a passage as the beginning of the next one: the pieces
// from at, of the first of which only text is taken.
type overlap struct {
	at    int
	text  string
	runes int // line ends included; 0 for none
}

func overlapOf(ps []piece, start, end, size int) overlap {
	want, most := size*overlapPercent/100, size*maxOverlapPercent/100
	o := overlap{at: end}
	for i := end - 1; i >= start && o.runes < want; i-- {
		n := ps[i].runes + 1
		if o.runes+n > most {
			t := tail(ps[i].text, want-o.runes-1)
			if strings.TrimSpace(t) == "" {
				break
			}
			return overlap{at: i, text: t, runes: o.runes + utf8.RuneCountInString(t) + 1}
		}
		o = overlap{at: i, text: ps[i].text, runes: o.runes + n}
	}
	for o.at < end && ps[o.at].blank {
		o.at++
		o.runes--
		if o.at < end {
			o.text = ps[o.at].text
		}
	}
	if o.at == end {
		return overlap{}
	}
	return o
}

// tail returns about the last n characters of s, from a word's start where one
// is near.
func tail(s string, n int) string {
	i := len(s)
	for k := 0; k < n && i > 0; k++ {
		_, w := utf8.DecodeLastRuneInString(s[:i])
		i -= w
	}
	t := s[i:]
	if i > 0 && !startsWord(s[:i], t) {
		if j := strings.IndexFunc(t, unicode.IsSpace); j >= 0 && j < len(t)/2 {
			t = strings.TrimLeftFunc(t[j:], unicode.IsSpace)
		}
	}
	return t
}

// startsWord reports whether the cut between a and b is between words.
func startsWord(a, b string) bool {
	l, _ := utf8.DecodeLastRuneInString(a)
	f, _ := utf8.DecodeRuneInString(b)
	return unicode.IsSpace(l) || unicode.IsSpace(f)
}

// isCJK reports whether the text is mostly of scripts without spaces.
func isCJK(text string) bool {
	letters, cjk := 0, 0
	for _, r := range text {
		if r < 0x80 {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				letters++
			}
			continue
		}
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			cjk++
		}
	}
	return cjk > 0 && float64(cjk) > cjkShare*float64(letters)
}
