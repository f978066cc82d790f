package segment

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(s string) string { return strings.ToLower(s) }

// letters that no decomposition takes apart, as people type them without a
// special keyboard.
var plainLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'þ': "th", 'ı': "i",
	'ħ': "h", 'ŋ': "n", 'ё': "е", 'ґ': "г", 'ـ': "",
	'أ': "ا", 'إ': "ا", 'آ': "ا", 'ى': "ي", 'ة': "ه", 'ی': "ي", 'ک': "ك",
	'ς': "σ",
}

// fold removes accents from a lower-case word of Latin, Greek, Arabic or Hebrew
// script. Marks that make another letter (Cyrillic й, Indic vowels) stay.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	base := rune(0)
	for _, r := range norm.NFD.String(s) {
		if unicode.Is(unicode.Mn, r) {
			if unicode.Is(unicode.Cyrillic, base) {
				if r == 0x0308 && (base == 'е' || base == 'Е') {
					continue
				}
				b.WriteRune(r)
				continue
			}
			if unicode.In(base, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew) {
				continue
			}
			b.WriteRune(r)
			continue
		}
		base = r
		if p, ok := plainLetters[r]; ok {
			b.WriteString(p)
			continue
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
