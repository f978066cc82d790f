// Package segment turns text into the terms of a keyword index, and queries
// into groups of terms that look them up.
//
//   - Scripts with spaces give words, stemmed in the language of the document.
//   - Han, kana and Hangul give single characters and overlapping pairs; scripts
//     that write without spaces (Thai, Lao, Khmer, Burmese) give pairs and
//     triples of clusters. A dictionary was no better and costs 300 MB.
//   - Identifiers, paths, addresses and other names are kept whole and also split
//     into their words (camelCase, snake_case, dots, slashes).
//   - Everything is compared after NFKC, lower case and without accents.
//
// Index and query go through the same code, so that whatever can be indexed can
// be found by typing it.
package segment

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTermBytes cuts longer terms, so that a blob of base64 does not fill the
// dictionary. The longest words of natural languages stay below it.
const maxTermBytes = 96

// maxUnitBytes is where a run without spaces is broken up before it is looked
// at, so that the cache holds no megabyte keys.
const maxUnitBytes = 512

// maxCacheUnits bounds the cache of analysed runs of one analyzer; at about
// 100 bytes each this is some 20 MB while indexing.
const maxCacheUnits = 200_000

// An Analyzer turns text into index terms. It caches what it has seen and must
// not be used by two goroutines at once.
type Analyzer struct {
	units map[unitKey][]string
}

type unitKey struct {
	lang Lang
	unit string
}

// NewAnalyzer returns an analyzer with an empty cache.
func NewAnalyzer() *Analyzer { return &Analyzer{units: map[unitKey][]string{}} }

// Terms appends the index terms of a text in that language to dst.
func (a *Analyzer) Terms(dst []string, text string, lang Lang) []string {
	scan(text, func(unit string) {
		k := unitKey{lang, unit}
		terms, ok := a.units[k]
		if !ok {
			splitUnit(unit, func(t term) { terms = appendTerms(terms, t, lang) })
			if len(a.units) >= maxCacheUnits {
				clear(a.units)
			}
			a.units[unitKey{lang, cloneString(unit)}] = terms
		}
		dst = append(dst, terms...)
	}, func(gram string) { dst = append(dst, gram) })
	return dst
}

// appendTerms adds the index terms of one piece of a unit.
func appendTerms(dst []string, t term, lang Lang) []string {
	if t.exact {
		return append(dst, cut(fold(t.text)))
	}
	s := cut(stemFolded(t.text, lang))
	dst = append(dst, s)
	if plain := fold(t.text); plain != t.text {
		// An accent can change what the stemmer sees; the word typed without
		// accents must be found all the same.
		if s2 := cut(stemFolded(plain, lang)); s2 != s {
			dst = append(dst, s2)
		}
	}
	return dst
}

func cut(s string) string {
	if len(s) <= maxTermBytes {
		return s
	}
	n := maxTermBytes
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func cloneString(s string) string { return string([]byte(s)) }

// scan walks a text and calls unit for each run of non-space characters of
// spaced scripts and gram for each n-gram of the others. Strings passed are
// only valid during the call unless copied, since they share the text's memory.
func scan(text string, unit, gram func(string)) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c <= ' ' || c == 0x7f {
				i++
				continue
			}
			i = scanUnit(text, i, unit)
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch class(r) {
		case classCJK:
			i = scanRun(text, i, classCJK, 1, 2, gram)
		case classUnspaced:
			i = scanRun(text, i, classUnspaced, 2, 3, gram)
		case classSymbol:
			gram(text[i : i+n])
			i += n
		case classNone:
			i += n
		default:
			i = scanUnit(text, i, unit)
		}
	}
}

// scanUnit emits the run of word and ASCII punctuation characters at i and
// returns where it ends.
func scanUnit(text string, i int, unit func(string)) int {
	start := i
	for i < len(text) && i-start < maxUnitBytes {
		c := text[i]
		if c < utf8.RuneSelf {
			if c <= ' ' || c == 0x7f {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if class(r) != classWord {
			break
		}
		i += n
	}
	if i == start { // a lone rune of a class that cannot start a unit
		_, n := utf8.DecodeRuneInString(text[i:])
		return i + n
	}
	unit(text[start:i])
	return i
}

// scanRun emits the n-grams of lengths lo and hi of the run of that class at i
// and returns where the run ends. Combining marks belong to the character
// before them.
func scanRun(text string, i int, cl int, lo, hi int, gram func(string)) int {
	const window = 4 // clusters looked back at; hi+1 at most
	var starts [window]int
	count := 0
	emit := func(end, n int) {
		if count >= n {
			gram(text[starts[(count-n)%window]:end])
		}
	}
	first := i
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if class(r) != cl {
			break
		}
		end := i + n
		for end < len(text) {
			m, k := utf8.DecodeRuneInString(text[end:])
			if !unicode.Is(unicode.Mn, m) && !unicode.Is(unicode.Mc, m) {
				break
			}
			end += k
		}
		starts[count%window] = i
		count++
		emit(end, lo)
		emit(end, hi)
		i = end
	}
	if count < lo && i > first {
		gram(text[first:i])
	}
	return i
}

const (
	classNone     = iota // spaces, controls, punctuation that joins nothing
	classWord            // letters, digits and marks of scripts with spaces
	classCJK             // Han, kana, Hangul, Bopomofo, Yi
	classUnspaced        // Thai, Lao, Khmer, Burmese
	classSymbol          // emoji, arrows, mathematical signs: a term each
)

func class(r rune) int {
	switch {
	case r < 0x80:
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return classWord
		}
		return classNone
	case r >= 0x3040 && r <= 0x30ff, r >= 0x31f0 && r <= 0x31ff, r >= 0xac00 && r <= 0xd7a3,
		r >= 0x3400 && r <= 0x9fff, r >= 0x20000 && r <= 0x323af, r >= 0xf900 && r <= 0xfaff,
		r >= 0x1100 && r <= 0x11ff, r >= 0x3130 && r <= 0x318f, r >= 0x3100 && r <= 0x312f,
		r == 0x3005, r == 0x3007, r >= 0xa000 && r <= 0xa48f:
		if r == 0x30fb || r == 0x30a0 { // middle dot and double hyphen separate
			return classNone
		}
		return classCJK
	case r >= 0x0e00 && r <= 0x0eff, r >= 0x1780 && r <= 0x17ff, r >= 0x1000 && r <= 0x109f:
		if unicode.IsLetter(r) {
			return classUnspaced
		}
		if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) || r == 0x0e46 {
			return classUnspaced
		}
		if unicode.IsDigit(r) {
			return classWord
		}
		return classNone
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsNumber(r), unicode.Is(unicode.M, r):
		if r == 0xfe0f || r == 0xfe0e || r == 0x20e3 { // emoji presentation
			return classNone
		}
		return classWord
	case r == 0x2019: // the typographic apostrophe
		return classWord
	case r >= 0x1f3fb && r <= 0x1f3ff: // skin tones
		return classNone
	case unicode.Is(unicode.So, r), unicode.Is(unicode.Sm, r), unicode.Is(unicode.Sc, r):
		return classSymbol
	}
	return classNone
}
