package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"perch/tools/charset"
)

// matcher finds lines. Most patterns hold a literal that every match must
// contain: that is looked for first, many times faster than by the expression.
type matcher struct {
	re *regexp.Regexp // nil: the literal is all
	// literal must occur in every match; nil is unknown. folded says that its
	// case does not count; it is lower-case ASCII then.
	literal []byte
	folded  bool
}

// newMatcher compiles a pattern.
func newMatcher(pattern string, literal, ignoreCase bool) (*matcher, error) {
	if literal {
		if !ignoreCase {
			return &matcher{literal: []byte(pattern)}, nil
		}
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	parsed, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w; set literal to look for it as text", err)
	}
	expr := "(?m)" + pattern // ^ and $ are those of a line
	if ignoreCase {
		expr = "(?mi)" + pattern
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	m := &matcher{re: re}
	if lit, folded := required(parsed.Simplify()); len(lit) > 1 || len(lit) == 1 && !folded {
		m.literal, m.folded = []byte(lit), folded
	}
	return m, nil
}

// required returns the longest text that every match of an expression contains.
// A folded one is returned in lower case, and only if it is ASCII without k and
// s, which have further forms outside it.
func required(re *syntax.Regexp) (lit string, folded bool) {
	switch re.Op {
	case syntax.OpLiteral:
		s := string(re.Rune)
		if re.Flags&syntax.FoldCase == 0 {
			return s, false
		}
		best := ""
		for _, part := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r >= utf8.RuneSelf || r == 'k' || r == 's' }) {
			if len(part) > len(best) {
				best = part
			}
		}
		return best, true
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, f := required(sub); len(l) > len(lit) {
				lit, folded = l, f
			}
		}
	}
	return lit, folded
}

// next returns the offset of the first place at or behind from where a match can
// be, or -1.
func (m *matcher) next(b []byte, from int) int {
	var i int
	switch {
	case m.literal == nil:
		// Line by line: on short input the expression runs several times faster
		// than on a whole file.
		for from < len(b) {
			end := len(b)
			if j := bytes.IndexByte(b[from:], '\n'); j >= 0 {
				end = from + j
			}
			if m.re.Match(b[from:end]) {
				return from
			}
			from = end + 1
		}
		return -1
	case m.folded:
		i = indexFold(b[from:], m.literal)
	default:
		i = bytes.Index(b[from:], m.literal)
	}
	if i < 0 {
		return -1
	}
	return from + i
}

// matchLine reports whether a line matches.
func (m *matcher) matchLine(line []byte) bool {
	return m.re == nil || m.re.Match(line)
}

// rare orders letters by how seldom they are in text and code; the first of a
// literal is the one to look for.
const rare = "zqxjkvbywgpfmuhdlcsonraite"

// indexFold finds a lower-case ASCII text in any case, by way of its rarest
// letter.
func indexFold(b, lit []byte) int {
	at, rank := 0, len(rare)+1
	for i, c := range lit {
		r := strings.IndexByte(rare, c)
		if r < 0 {
			r = 4 // digits and signs are rather rare
		}
		if r < rank {
			at, rank = i, r
		}
	}
	lo, hi := lit[at], lit[at]
	if lo >= 'a' && lo <= 'z' {
		hi -= 'a' - 'A'
	}
	// Both cases are looked for by the fast search; the nearer one is tried.
	nextLo, nextHi := -2, -2
	for from := at; from < len(b); {
		if nextLo != -1 && nextLo < from {
			nextLo = shifted(bytes.IndexByte(b[from:], lo), from)
		}
		if nextHi != -1 && nextHi < from {
			nextHi = nextLo
			if hi != lo {
				nextHi = shifted(bytes.IndexByte(b[from:], hi), from)
			}
		}
		i := nextLo
		if i < 0 || nextHi >= 0 && nextHi < i {
			i = nextHi
		}
		if i < 0 {
			return -1
		}
		if start := i - at; start+len(lit) <= len(b) && bytes.EqualFold(b[start:start+len(lit)], lit) {
			return start
		}
		from = i + 1
	}
	return -1
}

func shifted(i, by int) int {
	if i < 0 {
		return -1
	}
	return i + by
}

// fileHits are the hits of one file.
type fileHits struct {
	name  string
	count int // hits, also those that are not kept
	lines []hitLine
}

type hitLine struct {
	number int
	text   string
	hit    bool
}

const (
	// chunk is how much of a file is searched at once.
	chunk = 1 << 20
	// maxSearched bounds one file: a larger one is data.
	maxSearched = 1 << 30
)

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// searchFile searches one file. One that cannot be read or is no text has no
// hits.
func searchFile(ctx context.Context, path, name string, m *matcher, around, limit int) fileHits {
	h := fileHits{name: name}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return h
	}
	defer f.Close()
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	b := *buf
	n, err := io.ReadFull(f, b)
	if n == 0 {
		return h
	}
	whole := err != nil // the file ends within the first piece
	enc, ok := charset.UTF8, true
	if !plainText(b[:n], whole) {
		if enc, ok = charset.Detect(b[:n], whole); !ok {
			return h
		}
	}
	if enc.Name != charset.UTF8.Name || enc.BOM {
		rest, err := io.ReadAll(io.LimitReader(f, maxEditBytes))
		if err != nil {
			return h
		}
		h.search([]byte(enc.Decode(append(bytes.Clone(b[:n]), rest...))), 1, m, around, limit)
		return h
	}
	line, total := 1, 0
	for {
		total += n
		if ctx.Err() != nil || total > maxSearched {
			return h
		}
		piece := b[:n]
		carry := 0
		if !whole {
			if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
				carry = n - i - 1
				piece = piece[:i+1]
			}
		}
		line += h.search(piece, line, m, around, limit)
		if whole {
			return h
		}
		copy(b, b[n-carry:n])
		var got int
		got, err = io.ReadFull(f, b[carry:])
		n, whole = carry+got, err != nil
		if n == 0 {
			return h
		}
	}
}

// plainText recognises most text at the speed of memory: no NUL at its head, no
// mark, valid UTF-8.
func plainText(b []byte, whole bool) bool {
	if bytes.IndexByte(b[:min(len(b), 8<<10)], 0) >= 0 || bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")) {
		return false
	}
	if !whole {
		b = b[:max(0, bytes.LastIndexByte(b, '\n'))]
	}
	return utf8.Valid(b)
}

// search looks through text whose first line has that number, and returns how
// many lines it has.
func (h *fileHits) search(b []byte, line int, m *matcher, around, limit int) int {
	first, counted := line, 0
	shown := 0 // last line number that was added
	for pos := 0; pos < len(b); {
		i := m.next(b, pos)
		if i < 0 || i >= len(b) {
			break
		}
		start := bytes.LastIndexByte(b[:i], '\n') + 1
		end := len(b)
		if j := bytes.IndexByte(b[i:], '\n'); j >= 0 {
			end = i + j
		}
		if m.matchLine(b[start:end]) {
			line += bytes.Count(b[counted:start], []byte{'\n'})
			counted = start
			h.count++
			if h.count <= limit {
				shown = h.addContext(b, start, end, line, around, shown)
			}
		}
		pos = end + 1
	}
	return line - first + bytes.Count(b[counted:], []byte{'\n'})
}

// addContext adds a hit with the lines around it and returns the last number
// that was added.
func (h *fileHits) addContext(b []byte, start, end, number, around, shown int) int {
	text := func(from, to int) string {
		return strings.TrimSuffix(string(b[from:min(to, from+4*maxHitChars+8)]), "\r")
	}
	// Before: from the nearest back, then in order.
	var before []hitLine
	for s, n := start, number; n > number-around && s > 0 && n-1 > shown; n-- {
		e := s - 1
		s = bytes.LastIndexByte(b[:e], '\n') + 1
		before = append(before, hitLine{number: n - 1, text: text(s, e)})
	}
	for i := len(before) - 1; i >= 0; i-- {
		h.lines = append(h.lines, before[i])
	}
	if number <= shown { // it stands among the context of the hit before
		for i := range h.lines {
			if h.lines[i].number == number {
				h.lines[i].hit = true
			}
		}
	} else {
		h.lines = append(h.lines, hitLine{number: number, text: text(start, end), hit: true})
		shown = number
	}
	s := end + 1
	for n := number + 1; n <= number+around && s < len(b); n++ {
		e := len(b)
		if j := bytes.IndexByte(b[s:], '\n'); j >= 0 {
			e = s + j
		}
		if n > shown {
			h.lines = append(h.lines, hitLine{number: n, text: text(s, e)})
			shown = n
		}
		s = e + 1
	}
	return shown
}
