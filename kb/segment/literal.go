package segment

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The table of folded characters covers all alphabets and signs up to the CJK
// blocks, and the full- and half-width forms.
const (
	tableEnd  = 0x3040
	wideStart = 0xff00
	wideEnd   = 0x10000
)

// folded is one character as it is compared: compatibility forms resolved, lower
// case, without accents.
type folded struct {
	text string
	word bool // letters and digits, the rest separates
}

var foldTable = sync.OnceValue(func() []folded {
	t := make([]folded, tableEnd+wideEnd-wideStart)
	for r := range rune(tableEnd) {
		t[r] = foldRune(r)
	}
	for r := rune(wideStart); r < wideEnd; r++ {
		t[tableEnd+r-wideStart] = foldRune(r)
	}
	return t
})

func foldRune(r rune) folded {
	s := fold(lower(norm.NFKC.String(string(r))))
	f := folded{text: s}
	for _, r := range s {
		f.word = f.word || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if unicode.Is(unicode.Mn, r) && !f.word {
		if r >= 0x300 && r < 0x370 || r >= 0x591 && r < 0x660 { // accents, vowel points
			f.text = ""
		}
		f.word = true // marks join
	}
	return f
}

// Fold normalises a text for comparing it literally: compatibility forms
// resolved, lower case, without accents, runs of spaces as one.
func Fold(s string) string { return foldText(s, false) }

// FoldWords is Fold with a space for whatever is no letter or digit.
func FoldWords(s string) string { return foldText(s, true) }

func foldText(s string, words bool) string {
	table := foldTable()
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	space := false
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		var f folded
		switch {
		case r < tableEnd:
			f = table[r]
		case r >= 0x3040 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3: // as they are
			f = folded{s[i : i+n], r != 0x30fb && r != 0x30a0}
		case r >= wideStart && r < wideEnd:
			f = table[tableEnd+r-wideStart]
		default:
			f = foldRune(r)
		}
		i += n
		if f.text == " " || words && !f.word || f.text == "\t" || f.text == "\n" || f.text == "\r" {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteString(f.text)
	}
	return b.String()
}
