package scan

import (
	"strings"
	"sync"
)

// parts are the Latin words of the grammar in canonical form, by what they are
// in an order that is written without gaps or with gaps anywhere.
type parts struct {
	verb, between, object *trie
}

// trie finds the words that begin at a place.
type trie struct {
	next [26]*trie
	role role
	word bool
}

func (n *trie) add(w string, r role) {
	for i := range len(w) {
		c := w[i] - 'a'
		if n.next[c] == nil {
			n.next[c] = new(trie)
		}
		n = n.next[c]
	}
	n.word = true
	n.role |= r
}

var squeezedParts = sync.OnceValue(func() *parts {
	p := &parts{new(trie), new(trie), new(trie)}
	l := words()
	add := func(w string, r role) {
		for i := range len(w) {
			if w[i] < 'a' || w[i] > 'z' {
				return
			}
		}
		const shortVerb, shortObject = 5, 5
		if r&roleVerb != 0 && len(w) >= shortVerb {
			p.verb.add(w, r)
		}
		if r&(rolePrior|roleAll|roleYour|roleSystem) != 0 && len(w) >= 2 {
			p.between.add(w, r)
		}
		if r&(roleObj|roleWeak) != 0 && len(w) >= shortObject {
			p.object.add(w, r)
		}
	}
	for w, r := range l.leetExact {
		add(w, r)
	}
	for w, r := range l.leetPrefix {
		add(w, r)
	}
	for _, seqs := range l.sequences {
		for _, q := range seqs {
			if c, ok := canonical(strings.Join(q.words, "")); ok {
				add(c, q.role)
			}
		}
	}
	for _, w := range []string{"the", "of", "my", "and", "those", "these", "any", "die", "der", "les", "las", "los", "le", "de", "as", "os", "that", "were", "given"} {
		c, _ := canonical(w)
		p.between.add(c, 0)
	}
	return p
})

// Letters that may stand between two parts (an ending, a filler), and how many
// parts an order has at most.
const (
	maxSkip  = 4
	maxParts = 7
)

// squeezedOrder looks for an order in the letters alone: "i g n o r e …",
// "ignoreallpreviousinstructions", "ig nore prev ious instruc tions". Where all
// its parts are words as they stand, the rules for words have judged it.
func (t *text) squeezedOrder() (from, to int, ok bool) {
	p := squeezedParts()
	s := t.squeezed
	for i := range s {
		n := p.verb
		for k := i; k < len(s); k++ {
			if n = n.next[s[k]-'a']; n == nil {
				break
			}
			if !n.word {
				continue
			}
			end := t.rest(p, k+1)
			if end == 0 {
				continue
			}
			from, to = int(t.at[i]), int(t.at[end-1])+1
			if t.odd(from, to, i, end) && !t.deniedBefore(i) {
				return from, to, true
			}
		}
	}
	return 0, 0, false
}

// rest finds qualifiers and an object from i on and returns the end, 0 for none.
// It takes the nearest part each time and never goes back, so that its cost is
// bounded.
func (t *text) rest(p *parts, i int) int {
	seen := role(0)
	for range maxParts {
		end, next := 0, 0
		var r role
		for skip := 0; skip <= maxSkip && next == 0; skip++ {
			if seen != 0 {
				if e, o := longest(p.object, t.squeezed, i+skip); e > 0 && (o&roleObj != 0 || seen&(rolePrior|roleYour|roleSystem) != 0) {
					end = e
					break
				}
			}
			next, r = longest(p.between, t.squeezed, i+skip)
		}
		if end > 0 || next == 0 {
			return end
		}
		i, seen = next, seen|r
	}
	return 0
}

// longest is the end of the longest word of n at i, 0 for none, and its role.
func longest(n *trie, s []byte, i int) (end int, r role) {
	for k := i; k < len(s); k++ {
		if n = n.next[s[k]-'a']; n == nil {
			break
		}
		if n.word {
			end, r = k+1, n.role
		}
	}
	return end, r
}

// odd reports whether the order is written in an unusual way: letters apart, or
// words without gaps.
func (t *text) odd(from, to, i, end int) bool {
	words := to - from
	letters := end - i
	// An order of ordinary words has at least two and not one a letter; its verb
	// and object are words of their own, as they are written.
	if words <= 1 || letters/words <= 2 {
		return true
	}
	plain := t.words[from].role&roleVerb != 0 && t.at[i] == int32(from) && (i == 0 || t.at[i-1] != int32(from))
	last := &t.words[to-1]
	return !plain || last.role&(roleObj|roleWeak) == 0
}

// deniedBefore reports whether the letters before an order deny it.
func (t *text) deniedBefore(i int) bool {
	before := string(t.squeezed[max(i-8, 0):i])
	for _, no := range []string{"dont", "donot", "never", "nicht", "nie", "nunca", "jamais", "pas", "without", "non"} {
		c, _ := canonical(no)
		if strings.HasSuffix(before, c) {
			return true
		}
	}
	return false
}
