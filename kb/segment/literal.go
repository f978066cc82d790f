package segment

import (
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

// asciiFold is the table for ASCII: the character in lower case, or a space for
// what separates. The second is for words only.
var asciiFold = func() (t [2][utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		l := c
		if c >= 'A' && c <= 'Z' {
			l = c + 'a' - 'A'
		}
		t[0][c], t[1][c] = l, ' '
		if c <= ' ' {
			t[0][c] = ' '
		}
		if l >= 'a' && l <= 'z' || l >= '0' && l <= '9' {
			t[1][c] = l
		}
	}
	return t
}()

func foldText(s string, words bool) string {
	var table []folded
	ascii := &asciiFold[0]
	if words {
		ascii = &asciiFold[1]
	}
	b := make([]byte, 0, len(s)+len(s)/8)
	space := false
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			i++
			l := ascii[c]
			if l == ' ' {
				space = true
				continue
			}
			if space && len(b) > 0 {
				b = append(b, ' ')
			}
			space = false
			b = append(b, l)
			continue
		}
		if table == nil {
			table = foldTable()
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		var f folded
		switch {
		case r < tableEnd:
			f = table[r]
		case r >= tableEnd && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3: // as they are
			f = folded{s[i : i+n], r != 0x30fb && r != 0x30a0}
		case r >= wideStart && r < wideEnd:
			f = table[tableEnd+r-wideStart]
		default:
			f = foldRune(r)
		}
		i += n
		if f.text == " " || words && !f.word {
			space = true
			continue
		}
		if space && len(b) > 0 {
			b = append(b, ' ')
		}
		space = false
		b = append(b, f.text...)
	}
	return string(b)
}
