package store

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"

	"perch/chat"
)

// snippetRunes is how much of a text is shown around what a search found: about
// one line of a list.
const snippetRunes = 80

// matcher finds the sessions in which every word occurs.
type matcher struct {
	words []string // lower case
	raw   [][]byte // the same as they occur in JSON; nil where escapes may hide them
}

func newMatcher(search string) *matcher {
	m := &matcher{words: strings.Fields(strings.ToLower(search))}
	for _, w := range m.words {
		var raw []byte
		if !strings.ContainsAny(w, "\"\\<>&\u2028\u2029/") && utf8.ValidString(w) {
			raw = []byte(w)
		}
		m.raw = append(m.raw, raw)
	}
	return m
}

// empty reports whether everything matches.
func (m *matcher) empty() bool { return len(m.words) == 0 }

// hunt is one session's search.
type hunt struct {
	*matcher
	missing []bool
	left    int
	snippet string
}

func (m *matcher) hunt() *hunt {
	h := &hunt{matcher: m, missing: make([]bool, len(m.words)), left: len(m.words)}
	for i := range h.missing {
		h.missing[i] = true
	}
	return h
}

// text looks for the missing words in a text; found words of a body make the
// snippet.
func (h *hunt) text(s string, body bool) {
	if h.left == 0 && (h.snippet != "" || !body) {
		return
	}
	low := strings.ToLower(s)
	for i, w := range h.words {
		if !h.missing[i] && (h.snippet != "" || !body) {
			continue
		}
		at := strings.Index(low, w)
		if at < 0 {
			continue
		}
		if h.missing[i] {
			h.missing[i] = false
			h.left--
		}
		if body && h.snippet == "" {
			// Lower case may change a character's length: count runes.
			h.snippet = snippetAt(s, utf8.RuneCountInString(low[:at]))
		}
	}
}

// line looks into a line of the log, which is decoded only if a word may be in it.
func (h *hunt) line(d *decoder, line []byte) {
	if h.left == 0 && h.snippet != "" {
		return
	}
	low := bytes.ToLower(line)
	for i, raw := range h.raw {
		if (h.missing[i] || h.snippet == "") && (raw == nil || bytes.Contains(low, raw)) {
			if m, err := d.message(line); err == nil && m.Kind != chat.KindHarness {
				h.text(m.PlainText(), true)
			}
			return
		}
	}
}

// snippetAt is the text around a rune, on one line.
func snippetAt(s string, at int) string {
	r := []rune(s)
	from := max(0, min(at, len(r))-snippetRunes/4)
	to := min(len(r), from+snippetRunes)
	out := strings.Join(strings.Fields(string(r[from:to])), " ")
	if from > 0 {
		out = "…" + out
	}
	if to < len(r) {
		out += "…"
	}
	return out
}

// newestFirst orders a list; sessions used at the same time go by id.
func newestFirst(list []Found) {
	sort.Slice(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		if !a.Used.Equal(b.Used) {
			return a.Used.After(b.Used)
		}
		return a.ID > b.ID
	})
}

// limit cuts a list.
func limit(list []Found, n int) []Found {
	if n > 0 && len(list) > n {
		list = list[:n]
	}
	return list
}
