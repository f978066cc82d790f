// Package phrase says how literally a text holds what a query says: whether the
// words that stand side by side in the query do so in the text. An index without
// positions cannot know; the few candidates that it found are looked at again.
package phrase

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"perch/kb/segment"
)

// maxPairs bounds the work for a pasted page.
const maxPairs = 48

// cjkRun is how many characters in a row are looked for in scripts without
// spaces; pairs are in the index already.
const cjkRun = 3

// A Matcher looks for one query in texts.
type Matcher struct {
	pairs []string // folded strings of neighbours
	exact []needle // strings that count as the thing named
	names []needle // words written as names
}

// needle is a folded string, and its words for a cheaper look.
type needle struct{ text, words string }

// New prepares a query. Quoted parts are exact strings, and so is a whole query
// that is short enough to be a name or a line.
func New(query string) *Matcher {
	m := &Matcher{}
	for _, q := range quoted(query) {
		m.exact = appendNeedle(m.exact, q)
	}
	if utf8.RuneCountInString(query) <= maxExact {
		m.exact = appendNeedle(m.exact, query)
	}
	for _, n := range segment.Names(query) {
		m.names = appendNeedle(m.names, n)
	}
	words := split(segment.FoldWords(query))
	for i := 0; i+1 < len(words) && len(m.pairs) < maxPairs; i++ {
		a, b := words[i], words[i+1]
		switch {
		case a.cjk && b.cjk && b.joined:
			if i+cjkRun <= len(words) && words[i+2].cjk && words[i+2].joined {
				m.pairs = append(m.pairs, a.text+b.text+words[i+2].text)
			}
		case !a.cjk && !b.cjk:
			m.pairs = append(m.pairs, " "+a.text+" "+b.text)
		}
	}
	return m
}

// maxExact is the longest query, in characters, that is looked for as a whole.
const maxExact = 200

// Empty reports whether there is nothing to look for.
func (m *Matcher) Empty() bool { return len(m.pairs) == 0 && len(m.exact) == 0 && len(m.names) == 0 }

// Score returns the share of neighbours that the text holds side by side, the
// share of exact strings that it holds, and whether it holds one of the names.
func (m *Matcher) Score(text string) (pairs, exact float64, name bool) {
	if m.Empty() {
		return 0, 0, false
	}
	words := " " + segment.FoldWords(text)
	literal := ""
	holds := func(e needle) bool {
		if !strings.Contains(words, e.words) {
			return false // the cheap look: its words do not stand there in this order
		}
		if literal == "" {
			literal = segment.Fold(text)
		}
		return strings.Contains(literal, e.text)
	}
	for _, e := range m.names {
		name = name || holds(e)
	}
	n := 0
	for _, e := range m.exact {
		if holds(e) {
			n++
		}
	}
	if len(m.exact) > 0 {
		exact = float64(n) / float64(len(m.exact))
	}
	n = 0
	for _, p := range m.pairs {
		if strings.Contains(words, p) {
			n++
		}
	}
	if len(m.pairs) > 0 {
		pairs = float64(n) / float64(len(m.pairs))
	}
	return pairs, exact, name
}

func appendNeedle(list []needle, s string) []needle {
	n := needle{segment.Fold(s), segment.FoldWords(s)}
	if utf8.RuneCountInString(n.text) < 2 {
		return list
	}
	for _, have := range list {
		if have.text == n.text {
			return list
		}
	}
	return append(list, n)
}

// quoted returns the parts of a query between double quotes of any style.
func quoted(q string) []string {
	var out []string
	start := -1
	for i, r := range q {
		switch r {
		case '"', '“', '”', '„', '«', '»', '「', '」', '『', '』':
			if start >= 0 {
				if s := strings.TrimSpace(q[start:i]); s != "" {
					out = append(out, s)
				}
				start = -1
				continue
			}
			start = i + utf8.RuneLen(r)
		}
	}
	return out
}

type word struct {
	text   string
	cjk    bool
	joined bool // to the one before, without a space
}

func split(s string) []word {
	var out []word
	start := -1
	flush := func(i int) {
		if start >= 0 {
			out = append(out, word{text: s[start:i]})
			start = -1
		}
	}
	for i, r := range s {
		switch {
		case r == ' ':
			flush(i)
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			flush(i)
			n := len(out)
			out = append(out, word{text: string(r), cjk: true, joined: n > 0 && i > 0 && s[i-1] != ' ' && out[n-1].cjk})
		default:
			if start < 0 {
				start = i
			}
		}
	}
	flush(len(s))
	return out
}
