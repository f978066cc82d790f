package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// read divides the text into words with their roles.
func (t *text) read() {
	l := words()
	q := quotedSpans(t.s)
	start := true
	s := t.s
	t.words = make([]word, 0, len(s)/4+4)
	inQuotes := func(at int) bool {
		for len(q) > 0 && at >= q[0][1] {
			q = q[1:]
		}
		return len(q) > 0 && at >= q[0][0]
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unspacedScript(r):
			w, role := l.longest(s[i:], r)
			if w == "" {
				w = s[i : i+n]
			}
			t.words = append(t.words, word{text: w, role: role, start: start, quoted: inQuotes(i), from: i, to: i + len(w), unspaced: true})
			start = false
			i += len(w)
		case inWord(s, i, r):
			end := i + n
			for end < len(s) {
				c, m := utf8.DecodeRuneInString(s[end:])
				if unspacedScript(c) {
					break
				}
				if !inWord(s, end, c) {
					if m = contraction(s[end:]); m == 0 {
						break
					}
				}
				end += m
			}
			w := s[i:end]
			if strings.ContainsAny(w, "'’") {
				// "developer's" is about the developer; "don't" is one word.
				w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
				w = apostrophes.Replace(w)
			}
			t.words = append(t.words, word{text: w, role: l.roleOf(w), start: start, quoted: inQuotes(i), from: i, to: end})
			start = false
			i = end
		default:
			if ends(s, i, r) {
				start = true
			}
			i += n
		}
	}
	t.joinSequences(l)
	for i := range t.words {
		w := &t.words[i]
		switch {
		case w.role != 0 || fillers[w.text]:
		case w.unspaced:
			w.cost = charCost
		default:
			w.cost = wordCost
		}
	}
}

var apostrophes = strings.NewReplacer("'", "", "’", "")

// longest is the longest entry of an unspaced script at the start of s.
func (l *lexicon) longest(s string, first rune) (string, role) {
	for _, e := range l.unspaced[first] {
		if strings.HasPrefix(s, e.text) {
			return e.text, e.role
		}
	}
	return "", 0
}

// inWord reports whether the character at i is part of a word: a letter, digit
// or mark, or a leet sign with a letter after it.
func inWord(s string, i int, r rune) bool {
	if r < utf8.RuneSelf {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return true
		}
		switch r {
		case '@', '$', '!', '|', '+':
			next := i+1 < len(s) && (s[i+1] >= 'a' && s[i+1] <= 'z' || s[i+1] >= '0' && s[i+1] <= '9' || s[i+1] == '@' || s[i+1] == '$')
			prev := i > 0 && (s[i-1] >= 'a' && s[i-1] <= 'z' || s[i-1] >= '0' && s[i-1] <= '9')
			return next && (prev || r == '$' || r == '@' || r == '!' || r == '|') || prev && (r == '$' || r == '@')
		}
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// contraction is the length of an apostrophe that belongs to an English word
// ("don't"); in other languages it divides two words.
func contraction(s string) int {
	for _, mark := range []string{"'", "’"} {
		rest, ok := strings.CutPrefix(s, mark)
		if !ok {
			continue
		}
		for _, end := range []string{"t", "s", "re", "ve", "ll", "m", "d"} {
			tail, ok := strings.CutPrefix(rest, end)
			if ok && (tail == "" || !isAlnum(tail[0])) {
				return len(mark)
			}
		}
	}
	return 0
}

func isAlnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80 }

// ends reports whether a new sentence, clause or line begins after the
// character at i.
func ends(s string, i int, r rune) bool {
	switch r {
	case '\n', '!', '?', ';', ':', '。', '！', '？', '；', '：', '…', '(', '[', '{', '>', '"', '“', '«', '„', '「', '『', '`', '*', '#', '=', '—', '–', '।', '؟', '|':
		return true
	case '.':
		return i+1 >= len(s) || s[i+1] == ' ' || s[i+1] == '\n' || s[i+1] == '"' || s[i+1] == '.'
	case '-':
		return i == 0 || s[i-1] == '\n' || s[i-1] == ' '
	}
	return false
}

// joinSequences marks entries of several words on the first of them; a sequence
// that is an order by itself stands for its words.
func (t *text) joinSequences(l *lexicon) {
	for i := range t.words {
		for _, q := range l.sequences[t.words[i].text] {
			if i+len(q.words) > len(t.words) {
				continue
			}
			ok := true
			for k := 1; k < len(q.words) && ok; k++ {
				w := &t.words[i+k]
				want, any := strings.CutSuffix(q.words[k], "*")
				ok = (w.text == want || any && strings.HasPrefix(w.text, want)) && !w.start
			}
			if !ok {
				continue
			}
			t.words[i].role |= q.role
			if q.role == 0 {
				t.words[i].text = strings.Join(q.words, "_")
			}
			for k := 1; k < len(q.words); k++ {
				if q.role&(roleVerb|roleAfter) != 0 {
					// "do not follow" is one verb: its words are no others.
					t.words[i+k].role &^= roleNot | roleVerb | roleFollow
					t.words[i].role &^= roleNot
				}
			}
		}
	}
}

// quotedSpans are the byte ranges inside quotation marks or code, in order.
// Marks that are not closed quote nothing.
func quotedSpans(s string) [][2]int {
	var out [][2]int
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		close := closing(r)
		if close == "" || r == '\'' && !(i == 0 || strings.ContainsRune(" (:\n", rune(s[i-1]))) {
			i += n
			continue
		}
		end := strings.IndexAny(s[i+n:min(len(s), i+n+maxQuote)], close)
		if r == '\'' {
			// An apostrophe inside a word closes nothing.
			for end >= 0 && i+n+end+1 < len(s) && isAlnum(s[i+n+end+1]) {
				from := i + n + end + 1
				next := strings.IndexAny(s[from:min(len(s), from+maxQuote)], close)
				if next < 0 {
					end = -1
					break
				}
				end += 1 + next
			}
		}
		if end < 0 {
			i += n
			continue
		}
		out = append(out, [2]int{i, i + n + end})
		i += n + end
		_, n = utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return out
}

// maxQuote is the length in bytes of the longest quotation looked for; without a
// bound, marks that are not closed would make the search quadratic.
const maxQuote = 600

// closing are the marks that end what r opens, "" where it opens nothing.
func closing(r rune) string {
	switch r {
	case '"':
		return "\""
	case '“', '”':
		return "”"
	case '„':
		return "“”\""
	case '«':
		return "»"
	case '»':
		return "«"
	case '「':
		return "」"
	case '『':
		return "』"
	case '`':
		return "`"
	case '‘':
		return "’"
	case '‹':
		return "›"
	case '《':
		return "》"
	case '\'':
		return "'"
	}
	return ""
}

// squeeze gathers the Latin letters of the text in canonical form, so that words
// written with gaps, or without any, can be found.
func (t *text) squeeze() {
	t.squeezed = make([]byte, 0, len(t.s))
	t.at = make([]int32, 0, len(t.s))
	for i := range t.words {
		if t.words[i].unspaced {
			continue
		}
		for _, r := range t.words[i].text {
			var c byte
			switch {
			case r >= 'a' && r <= 'z':
				c = byte(r)
			case r < 128:
				c = leet[r]
			default:
				c = lookalikes[r]
			}
			if c == 'l' {
				c = 'i'
			}
			if c != 0 {
				t.squeezed = append(t.squeezed, c)
				t.at = append(t.at, int32(i))
			}
		}
	}
}
