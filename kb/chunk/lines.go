package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieces splits a text into lines, and lines longer than a passage into parts.
func pieces(text string, size int, o Options) []piece {
	var ps []piece
	line := 1
	for len(text) > 0 {
		i := strings.IndexAny(text, "\n\r")
		l := text
		if i < 0 {
			text = ""
		} else {
			l = text[:i]
			n := 1
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				n = 2
			}
			text = text[i+n:]
		}
		ps = appendLine(ps, l, line, size, o)
		line++
	}
	return ps
}

func appendLine(ps []piece, l string, line, size int, o Options) []piece {
	n := utf8.RuneCountInString(l)
	blank := strings.TrimSpace(l) == ""
	p := piece{text: l, runes: n, line: line, blank: blank}
	if blank {
		p.text, p.runes = "", 0
		return append(ps, p)
	}
	if o.Headings {
		p.level = headingLevel(l)
	}
	if o.Code {
		r, _ := utf8.DecodeRuneInString(l)
		p.flush = !unicode.IsSpace(r)
	}
	// Parts leave room for the overlap before them.
	room := size - size*maxOverlapPercent/100 - 1
	if n <= room {
		return append(ps, p)
	}
	for rest := l; rest != ""; {
		part := head(rest, room)
		rest = rest[len(part):]
		ps = append(ps, piece{text: part, runes: utf8.RuneCountInString(part), line: line, joins: rest != "", level: p.level})
		p.level = 0
	}
	return ps
}

// head returns at most n characters from the start of s, up to the last
// sentence end or space in its second half.
func head(s string, n int) string {
	end, half, k := 0, 0, 0
	sentence, space := 0, 0
	for i, r := range s {
		if k == n {
			break
		}
		k++
		end = i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, w := utf8.DecodeRuneInString(s[i:])
			end = i + w
		}
		if k == n/2 {
			half = end
		}
		switch {
		case strings.ContainsRune("。！？；…", r):
			sentence = end
		case unicode.IsSpace(r):
			space = end
			if i > 0 && strings.ContainsRune(".!?;:", rune(s[i-1])) {
				sentence = end
			}
		}
	}
	if end == len(s) {
		return s
	}
	end = wholeCluster(s, end)
	switch {
	case sentence > half && half > 0:
		return s[:sentence]
	case space > half && half > 0:
		return s[:space]
	}
	return s[:end]
}

// wholeCluster moves a cut back so that combining marks, joiners and variation
// selectors stay with the character before them.
func wholeCluster(s string, end int) int {
	for i := end; i > 0; {
		r, _ := utf8.DecodeRuneInString(s[i:])
		l, w := utf8.DecodeLastRuneInString(s[:i])
		if !unicode.Is(unicode.M, r) && r != 0x200d && l != 0x200d && !(r >= 0x1f3fb && r <= 0x1f3ff) {
			return i
		}
		i -= w
	}
	return end
}

// headingLevel returns the level of a Markdown heading line, 0 for others.
func headingLevel(l string) int {
	n := 0
	for n < len(l) && l[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n == len(l) || l[n] != ' ' && l[n] != '\t' {
		return 0
	}
	return n
}

// headings is the chain of headings at a place.
type headings struct {
	level [6]string
}

// see follows the text.
func (h *headings) see(p piece) {
	if p.level == 0 {
		return
	}
	t := strings.TrimSpace(strings.Trim(p.text, "# \t"))
	if len(t) > maxHeading {
		i := maxHeading
		for i > 0 && !utf8.RuneStart(t[i]) {
			i--
		}
		t = t[:i]
	}
	h.level[p.level-1] = t
	for i := p.level; i < len(h.level); i++ {
		h.level[i] = ""
	}
}

// path is the chain as text.
func (h *headings) path() string {
	var parts []string
	for _, t := range h.level {
		if t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, " › ")
}

// before is the chain above a piece: a heading that starts a passage stands in
// the passage itself, so only those above it are context.
func (h *headings) before(p piece) string {
	if p.level == 0 {
		return h.path()
	}
	c := *h
	for i := p.level - 1; i < len(c.level); i++ {
		c.level[i] = ""
	}
	return c.path()
}
