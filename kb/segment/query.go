package segment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Group is what one word of a query looks for: any of its variants. The
// variants are the stems of the word in the languages of the index, and count
// as one word when it comes to how rare it is.
type Group struct {
	Variants []string
	// Word is the word as typed, in lower case, for showing what matched.
	Word string
	// Weight is how often the query holds the word.
	Weight float64
	// Name marks a name of several words that is looked for as a whole; its
	// words are groups of their own.
	Name bool
}

// Query turns a query into groups for an index that holds documents in those
// languages. Nothing in a query is an operator. The order is that of the words,
// repeated ones counted once.
func Query(text string, langs []Lang) []Group {
	if len(langs) == 0 {
		langs = []Lang{"en"}
	}
	var out []Group
	at := map[string]int{}
	add := func(word string, variants []string, name bool, weight float64) {
		key := variants[0]
		if i, ok := at[key]; ok {
			out[i].Weight += weight
			return
		}
		at[key] = len(out)
		out = append(out, Group{Variants: variants, Word: word, Weight: weight, Name: name})
	}
	scan(text, func(unit string) {
		splitUnit(unit, func(t term) {
			if t.exact {
				add(t.text, []string{cut(fold(t.text))}, true, 1)
				return
			}
			w := functionWeight(t.text, langs)
			var vs []string
			for _, l := range langs {
				for _, v := range appendTerms(nil, t, l) {
					vs = appendNew(vs, v)
				}
			}
			add(t.text, vs, false, w)
		})
	}, func(gram string) { g := cloneString(gram); add(g, []string{g}, false, gramWeight(g)) })
	return out
}

func appendNew(vs []string, v string) []string {
	for _, have := range vs {
		if have == v {
			return vs
		}
	}
	return append(vs, v)
}

// Names returns the words of a query that are written as names are: with a sign
// inside, in mixed case, or with digits among letters.
func Names(query string) []string {
	var out []string
	for f := range strings.FieldsSeq(query) {
		f = strings.TrimFunc(f, func(r rune) bool { return strings.ContainsRune("\"'`()[]{}<>,;:.!?“”„«»。，？！", r) })
		if utf8.RuneCountInString(f) >= minNameRunes && isName(f) {
			out = append(out, f)
		}
	}
	return out
}

// minNameRunes keeps "e.g" and "I'm" from counting as names.
const minNameRunes = 4

func isName(w string) bool {
	var lowers, uppers, digits, signs, inside int
	for i, r := range w {
		switch {
		case unicode.IsLower(r):
			lowers++
		case unicode.IsUpper(r):
			uppers++
			if i > 0 {
				inside++
			}
		case unicode.IsDigit(r):
			digits++
		case strings.ContainsRune("._/\\:@#+", r):
			signs++
		}
	}
	return lowers+uppers > 0 && (signs > 0 || digits > 0) || lowers > 0 && inside > 0
}
