package scan

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

// role is what part a word can play in an order that takes over; a word may
// have several.
type role uint32

// The roles of words.
const (
	roleVerb     role = 1 << iota // sets something aside: ignore, forget
	roleVerbWeak                  // does so only with the assistant's own things: delete, skip
	roleAfter                     // a verb that follows its object: Japanese, Korean, German
	rolePrior                     // previous, above
	roleAll                       // all, any
	roleYour                      // your
	roleNew                       // new, these
	roleSystem                    // system, hidden
	roleObj                       // instructions, prompt
	roleWeak                      // rules, context
	roleTold                      // what you were told
	roleYou
	roleNow     // from now on
	roleAct     // pretend, act
	rolePersona // unrestricted, jailbroken
	roleFree    // without, no
	roleLimit   // restrictions, ethics
	roleReveal  // print, show
	roleTell    // tell, inform
	roleUser    // the user
	roleHide    // conceal
	roleThis
	roleNot
	roleFollow  // obey, follow
	roleMention // words with which one talks about such phrases
	roleReport  // the same, strong enough without quotation marks
	roleLead    // to, that: a clause about something follows
	roleSuper   // supersede
	roleVoid    // is void
	roleSend
	roleSecret
	roleMust // words before an order: always, please
)

var roleNames = map[string]role{
	"verb": roleVerb, "verbweak": roleVerbWeak, "after": roleAfter, "prior": rolePrior, "all": roleAll, "your": roleYour,
	"new": roleNew, "system": roleSystem, "obj": roleObj, "weak": roleWeak, "told": roleTold, "you": roleYou, "now": roleNow,
	"act": roleAct, "persona": rolePersona, "free": roleFree, "limit": roleLimit, "reveal": roleReveal, "tell": roleTell,
	"user": roleUser, "hide": roleHide, "this": roleThis, "not": roleNot, "follow": roleFollow, "mention": roleMention,
	"report": roleReport, "lead": roleLead, "super": roleSuper, "void": roleVoid, "send": roleSend, "secret": roleSecret, "must": roleMust,
}

//go:embed lexicon.txt
var lexiconText string

// lexicon are the words by role, ready for look-up.
type lexicon struct {
	exact, prefix map[string]role
	// leetExact and leetPrefix are the Latin ones in canonical form.
	leetExact, leetPrefix map[string]role
	// sequences are entries of several words, by their first.
	sequences map[string][]sequence
	// unspaced are entries of scripts without spaces, by first character, the
	// longest first.
	unspaced map[rune][]entry
	// destinations, sudo, only and instead are small sets of their own.
	sets map[string]map[string]bool
}

type sequence struct {
	words []string
	role  role
	set   string
}

type entry struct {
	text string
	role role
}

var words = sync.OnceValue(func() *lexicon {
	l := &lexicon{
		exact: map[string]role{}, prefix: map[string]role{}, leetExact: map[string]role{}, leetPrefix: map[string]role{},
		sequences: map[string][]sequence{}, unspaced: map[rune][]entry{}, sets: map[string]map[string]bool{},
	}
	for line := range strings.Lines(lexiconText) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			continue
		}
		r := roleNames[f[0]]
		if r == 0 {
			l.sets[f[0]] = merge(l.sets[f[0]], f[1:])
		}
		for _, w := range f[1:] {
			l.add(w, r, f[0])
		}
	}
	return l
})

func merge(set map[string]bool, words []string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	for _, w := range words {
		set[w] = true
	}
	return set
}

func (l *lexicon) add(w string, r role, name string) {
	first, _ := utf8.DecodeRuneInString(w)
	switch {
	case unspacedScript(first):
		w = strings.ReplaceAll(w, "_", " ")
		list := l.unspaced[first]
		for i := range list {
			if list[i].text == w {
				list[i].role |= r
				return
			}
		}
		i := 0
		for i < len(list) && len(list[i].text) >= len(w) {
			i++
		}
		l.unspaced[first] = append(list[:i:i], append([]entry{{w, r}}, list[i:]...)...)
	case strings.Contains(w, "_"):
		seq := sequence{strings.Split(w, "_"), r, name}
		l.sequences[seq.words[0]] = append(l.sequences[seq.words[0]], seq)
	case strings.HasSuffix(w, "*"):
		w = strings.TrimSuffix(w, "*")
		l.prefix[w] |= r
		if c, ok := canonical(w); ok && first < 128 {
			l.leetPrefix[c] |= r
		}
	default:
		l.exact[w] |= r
		if c, ok := canonical(w); ok && first < 128 {
			l.leetExact[c] |= r
		}
	}
}

// shortest prefix entry, in bytes.
const minPrefix = 3

func find(exact, prefix map[string]role, w string) role {
	r := exact[w]
	for n := min(len(w), 24); n >= minPrefix; n-- {
		if n < len(w) && !utf8.RuneStart(w[n]) {
			continue
		}
		r |= prefix[w[:n]]
	}
	return r
}

// roleOf looks a word up as it is written and, where it has signs or foreign
// letters among Latin ones, as leet.
func (l *lexicon) roleOf(w string) role {
	if r := find(l.exact, l.prefix, w); r != 0 {
		return r
	}
	odd, letters := false, false
	for _, c := range w {
		if c >= 'a' && c <= 'z' {
			letters = true
		} else {
			odd = true
			letters = letters || c > 127
		}
	}
	if !odd || !letters || len(w) < 3 {
		return 0
	}
	if c, ok := canonical(w); ok {
		return find(l.leetExact, l.leetPrefix, c)
	}
	return 0
}

// unspacedScript reports whether words of a script are not divided by spaces, or
// carry endings that divide no better (Korean).
func unspacedScript(r rune) bool {
	return r >= 0x3041 && r <= 0x30ff && r != '・' || r >= 0x3400 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0x1100 && r <= 0x11ff || r >= 0x3131 && r <= 0x318e || r >= 0xf900 && r <= 0xfaff || r == '々' || r >= 0x20000 && r <= 0x3ffff
}
