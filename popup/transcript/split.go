package transcript

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Limits that keep the cost of one more piece of text independent of how long
// the answer is. Each is the size at which an open block is cut into a frozen
// part and an open rest.
const (
	// softBlock is the size in bytes from which running text is cut at the next
	// line; about two screens of text, which goldmark parses in 0.1 ms.
	softBlock = 4 << 10
	// hardBlock is the size in bytes from which even a single line is cut, at a
	// space or the end of a sentence.
	hardBlock = 8 << 10
	// codeRows is the number of lines of one row of a code block, fewer than a
	// popup of full height shows.
	codeRows = 24
)

// chunkKind tells how a chunk of Markdown is read.
type chunkKind uint8

const (
	chunkText chunkKind = iota
	chunkCode
	chunkMath
)

// chunk is a piece of Markdown that stands for itself.
type chunk struct {
	kind chunkKind
	src  string // without the fence lines for code and mathematics
	lang string
	// block, first and last are of a piece of a code block.
	block       *Block
	first, last bool
}

// splitter cuts a growing Markdown text into chunks. A chunk that it has given
// out as complete never changes; only the open chunk does. It looks at every
// byte once.
type splitter struct {
	open []byte // the open chunk, without an unfinished line
	line []byte // the unfinished line

	fence     fence // the code or mathematics block at work
	block     *Block
	blockRows int
	blockHead bool // the next piece is the block's first
	inner     fence
	blank     bool // the open chunk ends in a blank line
	list      bool // the open chunk began with a list item
}

// fence is an open code fence, or none.
type fence struct {
	char  byte // '`', '~', '$' or '['; 0 is none
	count int
}

// write adds text and returns the chunks that it completed.
func (s *splitter) write(text string) (done []chunk) {
	for text != "" {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			s.line = append(s.line, text...)
			break
		}
		s.line = append(s.line, text[:i+1]...)
		text = text[i+1:]
		line := s.line
		s.line = s.line[:0]
		done = s.takeLine(line, done)
	}
	if s.fence.char == 0 && len(s.line)+len(s.open) > hardBlock {
		done = s.cutLongLine(done)
	}
	return done
}

// rest is the open chunk, with the unfinished line; ok is false when there is
// nothing open.
func (s *splitter) rest() (c chunk, ok bool) {
	switch {
	case s.fence.char == '`' || s.fence.char == '~':
		text := string(s.open)
		if !s.closes(s.line) && !mayClose(s.fence, s.line) {
			text += string(s.line)
		}
		if text == "" && !s.blockHead {
			return chunk{}, false
		}
		return chunk{kind: chunkCode, src: text, lang: s.block.Lang, block: s.block, first: s.blockHead, last: true}, true
	case s.fence.char != 0:
		return chunk{kind: chunkMath, src: string(s.open) + string(s.line)}, true
	}
	src := string(s.open) + string(s.line)
	if strings.TrimSpace(src) == "" {
		return chunk{}, false
	}
	return chunk{kind: chunkText, src: src}, true
}

// finish completes the open chunk.
func (s *splitter) finish() (done []chunk) {
	if len(s.line) > 0 {
		line := append([]byte(nil), s.line...)
		s.line = s.line[:0]
		done = s.takeLine(append(line, '\n'), done)
	}
	if s.fence.char == '`' || s.fence.char == '~' {
		return s.closeBlock(done)
	}
	if s.fence.char != 0 {
		done = append(done, chunk{kind: chunkMath, src: string(s.open)})
		s.open, s.fence = s.open[:0], fence{}
		return done
	}
	return s.cut(done)
}

// takeLine adds one whole line, its newline included.
func (s *splitter) takeLine(line []byte, done []chunk) []chunk {
	if s.fence.char != 0 {
		return s.takeFenced(line, done)
	}
	trimmed := bytes.TrimSpace(line)
	indent := indentOf(line)
	if len(trimmed) == 0 {
		if len(s.open) > 0 {
			s.open = append(s.open, line...)
			if s.inner.char == 0 {
				s.blank = true
			}
		}
		return done
	}
	if s.inner.char != 0 { // a code block inside a list item
		if closesFence(s.inner, trimmed) {
			s.inner = fence{}
		}
		s.open = append(s.open, line...)
		return done
	}
	item := isListItem(line)
	switch {
	case s.blank && !(s.list && indent >= 2):
		done = s.cut(done)
	case len(s.open) > softBlock && (!s.list || (item && indent < 2)) && !inTable(s.open, trimmed):
		done = s.cut(done)
	}
	s.blank = false
	if f, lang := opensFence(trimmed); f.char != 0 {
		if s.list && indent >= 2 {
			s.inner = f
		} else if indent < 4 {
			done = s.cut(done)
			s.fence, s.block, s.blockHead, s.blockRows = f, &Block{Lang: lang}, true, 0
			return done
		}
	} else if f, rest, closed := opensMath(trimmed); f.char != 0 && indent < 4 && !(s.list && indent >= 2) {
		done = s.cut(done)
		if closed {
			return append(done, chunk{kind: chunkMath, src: rest})
		}
		s.fence = f
		s.open = append(s.open, rest...)
		return done
	}
	if len(s.open) == 0 {
		s.list = item
	} else if isHeading(trimmed) && indent < 4 && !s.list {
		done = s.cut(done)
	}
	s.open = append(s.open, line...)
	return done
}

// takeFenced adds one whole line to the code or mathematics block at work.
func (s *splitter) takeFenced(line []byte, done []chunk) []chunk {
	if s.fence.char == '$' || s.fence.char == '[' {
		t := bytes.TrimSpace(line)
		mark := []byte("$$")
		if s.fence.char == '[' {
			mark = []byte(`\]`)
		}
		if before, ok := bytes.CutSuffix(t, mark); ok {
			s.open = append(s.open, before...)
			done = append(done, chunk{kind: chunkMath, src: string(s.open)})
			s.open, s.fence = s.open[:0], fence{}
			return done
		}
		if len(s.open) > softBlock { // not mathematics after all: nobody closed it
			done = append(done, chunk{kind: chunkMath, src: string(s.open)})
			s.open, s.fence = s.open[:0], fence{}
			return s.takeLine(line, done)
		}
		s.open = append(s.open, line...)
		return done
	}
	if s.closes(line) {
		return s.closeBlock(done)
	}
	if s.blockRows == codeRows || len(s.open) > hardBlock {
		done = append(done, chunk{kind: chunkCode, src: string(s.open), lang: s.block.Lang, block: s.block, first: s.blockHead})
		s.open, s.blockRows, s.blockHead = s.open[:0], 0, false
	}
	s.block.text = append(s.block.text, line...)
	s.open = append(s.open, line...)
	s.blockRows++
	return done
}

func (s *splitter) closes(line []byte) bool {
	return indentOf(line) < 4 && closesFence(s.fence, bytes.TrimSpace(line))
}

func (s *splitter) closeBlock(done []chunk) []chunk {
	s.block.Closed = true
	done = append(done, chunk{kind: chunkCode, src: string(s.open), lang: s.block.Lang, block: s.block, first: s.blockHead, last: true})
	s.open, s.fence, s.block, s.blockHead = s.open[:0], fence{}, nil, false
	return done
}

// cut completes the open text chunk.
func (s *splitter) cut(done []chunk) []chunk {
	src := string(s.open)
	s.open, s.blank, s.list, s.inner = s.open[:0], false, false, fence{}
	if strings.TrimSpace(src) == "" {
		return done
	}
	return append(done, chunk{kind: chunkText, src: src})
}

// cutLongLine cuts a line that does not end at its last good place.
func (s *splitter) cutLongLine(done []chunk) []chunk {
	if inTable(s.open, s.line) || s.inner.char != 0 {
		return done
	}
	if len(s.open) > 0 {
		done = s.cut(done)
	}
	for len(s.line) > hardBlock {
		at := goodCut(s.line[:hardBlock])
		done = append(done, chunk{kind: chunkText, src: string(s.line[:at])})
		s.line = append(s.line[:0], s.line[at:]...)
	}
	return done
}

// goodCut is the byte after the last sentence end or space in the second half of
// line, else the start of its last character.
func goodCut(line []byte) int {
	for _, ends := range []string{".!?。！？", " ,;、，；"} {
		if i := bytes.LastIndexAny(line, ends); i > len(line)/2 {
			_, n := utf8.DecodeRune(line[i:])
			return i + n
		}
	}
	at := len(line)
	for at > 0 && !utf8.RuneStart(line[at-1]) {
		at--
	}
	if at > 1 {
		at--
	}
	return at
}

func indentOf(line []byte) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// opensFence reads an opening code fence and its language.
func opensFence(trimmed []byte) (fence, string) {
	for _, c := range []byte{'`', '~'} {
		n := 0
		for n < len(trimmed) && trimmed[n] == c {
			n++
		}
		if n < 3 {
			continue
		}
		info := strings.TrimSpace(string(trimmed[n:]))
		if c == '`' && strings.Contains(info, "`") {
			return fence{}, ""
		}
		lang, _, _ := strings.Cut(info, " ")
		return fence{char: c, count: n}, strings.Trim(lang, "{}.")
	}
	return fence{}, ""
}

func closesFence(f fence, trimmed []byte) bool {
	if len(trimmed) < f.count {
		return false
	}
	for _, c := range trimmed {
		if c != f.char {
			return false
		}
	}
	return true
}

// mayClose reports whether an unfinished line looks like the beginning of the
// closing fence, which must not flash up as code.
func mayClose(f fence, line []byte) bool {
	t := bytes.TrimSpace(line)
	if len(t) == 0 {
		return false
	}
	for _, c := range t {
		if c != f.char {
			return false
		}
	}
	return true
}

// opensMath reads a line that begins displayed mathematics. closed says that it
// ends on the same line.
func opensMath(trimmed []byte) (f fence, rest string, closed bool) {
	t := string(trimmed)
	for _, m := range []struct {
		open, end string
		char      byte
	}{{"$$", "$$", '$'}, {`\[`, `\]`, '['}} {
		body, ok := strings.CutPrefix(t, m.open)
		if !ok {
			continue
		}
		if inner, ok := strings.CutSuffix(body, m.end); ok && inner != "" {
			return fence{char: m.char}, inner, true
		}
		if strings.Contains(body, m.end) {
			return fence{}, "", false // text goes on after it: inline
		}
		if body != "" {
			body += "\n"
		}
		return fence{char: m.char}, body, false
	}
	return fence{}, "", false
}

func isHeading(trimmed []byte) bool {
	n := 0
	for n < len(trimmed) && trimmed[n] == '#' {
		n++
	}
	return n > 0 && n <= 6 && (n == len(trimmed) || trimmed[n] == ' ')
}

// isListItem reports whether a line begins a list item at the top level.
func isListItem(line []byte) bool {
	if indentOf(line) > 3 {
		return false
	}
	t := bytes.TrimLeft(line, " ")
	if len(t) == 0 {
		return false
	}
	if strings.IndexByte("-*+", t[0]) >= 0 {
		return len(t) > 1 && (t[1] == ' ' || t[1] == '\t')
	}
	n := 0
	for n < len(t) && t[n] >= '0' && t[n] <= '9' {
		n++
	}
	return n > 0 && n < 10 && n+1 < len(t) && (t[n] == '.' || t[n] == ')') && t[n+1] == ' '
}

// inTable reports whether the line belongs to a table that the open chunk holds.
func inTable(open, line []byte) bool {
	if bytes.IndexByte(line, '|') < 0 {
		return false
	}
	return bytes.Contains(open, []byte("|-")) || bytes.Contains(open, []byte("| -")) || bytes.Contains(open, []byte("|:")) || bytes.Contains(open, []byte("| :"))
}

func trimNewline(s string) string { return strings.TrimSuffix(s, "\n") }
