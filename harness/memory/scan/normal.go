package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// word is one word of a normalised text; in scripts without spaces, one entry
// of the lexicon or one character.
type word struct {
	text string
	role role
	// start says that a sentence, clause after a colon, or line begins here.
	start bool
	// quoted says that the word stands in quotation marks or code.
	quoted   bool
	from, to int // byte offsets in the normalised text
	// unspaced says that the word is of a script without spaces; cost is what it
	// adds to a gap.
	unspaced bool
	cost     int
}

// text is a text after normalisation.
type text struct {
	s     string // NFKC, lower case, without accents, marks and joiners
	words []word
	// squeezed are the letters of the text alone, in canonical leet; at gives
	// the index of the word that each belongs to.
	squeezed []byte
	at       []int32
}

// normal folds a text and reads its words.
func normal(s string) *text {
	t := &text{s: fold(norm.NFKC.String(s))}
	t.read()
	t.squeeze()
	return t
}

// fold makes letters comparable: lower case, no accents, no marks, no joiners,
// Arabic without vowels, letters drawn as symbols as letters.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	flags := 0 // regional indicators in a row
	for i, r := range s {
		if r < utf8.RuneSelf {
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			}
			flags = 0
			b.WriteByte(byte(r))
			continue
		}
		if r >= 0x1f1e6 && r <= 0x1f1ff {
			// Two make a flag; more in a row spell.
			if flags++; flags > 2 || spells(s[i:]) {
				b.WriteRune('a' + r - 0x1f1e6)
				continue
			}
		} else {
			flags = 0
		}
		switch {
		case r >= 0x300 && r <= 0x36f, r >= 0x1ab0 && r <= 0x1aff, r >= 0x1dc0 && r <= 0x1dff, r >= 0x20d0 && r <= 0x20ff,
			r >= 0x64b && r <= 0x65f, r == 0x670, r == 0x640, r >= 0x5b0 && r <= 0x5c7,
			r == 0xad, r == 0x61c, r == 0x180e, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
			r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xe0000 && r <= 0xe0fff:
			continue
		case r >= 0x1f130 && r <= 0x1f149:
			r = 'a' + r - 0x1f130
		case r >= 0x1f150 && r <= 0x1f169:
			r = 'a' + r - 0x1f150
		case r >= 0x1f170 && r <= 0x1f189:
			r = 'a' + r - 0x1f170
		case r < 0x530 || r >= 0x1e00 && r < 0x2000:
			r = unaccent(unicode.ToLower(r))
		case r >= 0x2e80 && r < 0xa000 || r >= 0xac00 && r < 0xd7b0: // no case, no look-alikes
			b.WriteRune(r)
			continue
		default:
			r = unicode.ToLower(r)
		}
		if as, ok := letters[r]; ok {
			b.WriteString(as)
			continue
		}
		b.WriteRune(r)
	}
	return joinIdeographs(b.String())
}

// joinIdeographs takes out single spaces between Chinese or Japanese characters,
// which only serve to hide words.
func joinIdeographs(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	var b strings.Builder
	cut := false
	for i, r := range s {
		if r == ' ' && i > 0 && i+1 < len(s) {
			prev, _ := utf8.DecodeLastRuneInString(s[:i])
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if ideograph(prev) && ideograph(next) {
				if !cut {
					b.Grow(len(s))
					b.WriteString(s[:i])
					cut = true
				}
				continue
			}
		}
		if cut {
			b.WriteRune(r)
		}
	}
	if !cut {
		return s
	}
	return b.String()
}

func ideograph(r rune) bool { return r >= 0x3041 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff }

// spells reports whether at least four regional indicators follow one another.
func spells(s string) bool {
	n := 0
	for _, r := range s {
		if r < 0x1f1e6 || r > 0x1f1ff {
			break
		}
		if n++; n >= 4 {
			return true
		}
	}
	return false
}

// unaccent is the base letter of a Latin, Greek or Cyrillic one.
func unaccent(r rune) rune {
	var in [utf8.UTFMax]byte
	n := utf8.EncodeRune(in[:], r)
	if d := norm.NFD.Properties(in[:n]).Decomposition(); len(d) > 0 {
		if base, _ := utf8.DecodeRune(d); base != utf8.RuneError {
			// A letter may carry two marks; the first step leaves one.
			if base >= utf8.RuneSelf && base != r {
				return unaccent(base)
			}
			return base
		}
	}
	return r
}

// letters are folded to what they stand for, beyond what NFKC does.
var letters = map[rune]string{
	'ß': "ss", 'ø': "o", 'ł': "l", 'đ': "d", 'æ': "ae", 'œ': "oe", 'ı': "i", 'þ': "th", 'ð': "d", 'ŧ': "t", 'ħ': "h", 'ƒ': "f", 'ɡ': "g", 'ɑ': "a",
	// small capitals
	'ᴀ': "a", 'ʙ': "b", 'ᴄ': "c", 'ᴅ': "d", 'ᴇ': "e", 'ꜰ': "f", 'ɢ': "g", 'ʜ': "h", 'ɪ': "i", 'ᴊ': "j", 'ᴋ': "k", 'ʟ': "l", 'ᴍ': "m", 'ɴ': "n", 'ᴏ': "o", 'ᴘ': "p", 'ꞯ': "q", 'ʀ': "r", 'ꜱ': "s", 'ᴛ': "t", 'ᴜ': "u", 'ᴠ': "v", 'ᴡ': "w", 'ʏ': "y", 'ᴢ': "z",
	// Arabic forms that writers use for one another
	'أ': "ا", 'إ': "ا", 'آ': "ا", 'ٱ': "ا", 'ى': "ي", 'ة': "ه", 'ی': "ي", 'ک': "ك",
}

// lookalikes are letters of other scripts drawn like Latin ones (from Unicode's
// confusables, the small letters after folding).
var lookalikes = map[rune]byte{
	// Cyrillic
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ғ': 'f', 'г': 'r', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'и': 'u', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'ш': 'w', 'х': 'x', 'з': 'e', 'ь': 'b', 'я': 'r', 'ү': 'y',
	// Greek
	'α': 'a', 'β': 'b', 'ς': 'c', 'δ': 'd', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'μ': 'm', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'ω': 'w', 'χ': 'x', 'γ': 'y', 'ζ': 'z', 'σ': 'o', 'λ': 'a', 'ϲ': 'c', 'ϳ': 'j',
	// Armenian, Cherokee (folded to small letters), Lisu, others
	'ա': 'w', 'օ': 'o', 'ս': 'u', 'ո': 'n', 'հ': 'h', 'ց': 'g', 'գ': 'q', 'զ': 'q', 'ք': 'p', 'ւ': 'i', 'յ': 'j', 'ꭱ': 'e', 'ꭵ': 'i', 'ꮪ': 's', 'ꮃ': 'w', 'ꭺ': 'a', 'ꮯ': 'c', 'ꮋ': 'h', 'ꮮ': 'l', 'ꮲ': 'p', 'ꭲ': 't', 'ꮩ': 'v',
	'ꓐ': 'b', 'ꓚ': 'c', 'ꓓ': 'd', 'ꓰ': 'e', 'ꓝ': 'f', 'ꓖ': 'g', 'ꓧ': 'h', 'ꓲ': 'i', 'ꓙ': 'j', 'ꓗ': 'k', 'ꓡ': 'l', 'ꓟ': 'm', 'ꓠ': 'n', 'ꓳ': 'o', 'ꓑ': 'p', 'ꓣ': 'r', 'ꓢ': 's', 'ꓔ': 't', 'ꓴ': 'u', 'ꓦ': 'v', 'ꓪ': 'w', 'ꓫ': 'x', 'ꓬ': 'y', 'ꓮ': 'a',
	'ɩ': 'i', 'ɾ': 'r', 'ʋ': 'v', 'ɯ': 'w', 'ɓ': 'b', 'ɗ': 'd', 'ɛ': 'e', 'ɲ': 'n', 'ŋ': 'n', 'ɵ': 'o', 'ʂ': 's', 'ʈ': 't', 'ʑ': 'z', 'ə': 'e', 'ǝ': 'e', 'ɹ': 'r', 'ʇ': 't', 'ʍ': 'w', 'ʎ': 'y', 'ʌ': 'v', 'ɥ': 'h', 'ɐ': 'a', 'ɔ': 'o', 'ᴉ': 'i', 'ʞ': 'k', 'ɟ': 'f', 'ƃ': 'g', 'ן': 'l', 'ƨ': 's',
}

// leet are signs written for letters. i and l are one letter in canonical form,
// since 1, ! and | stand for both.
var leet = [128]byte{'0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'g', '7': 't', '8': 'b', '9': 'g', '@': 'a', '$': 's', '!': 'i', '|': 'i', '+': 't', '(': 'c', '<': 'c'}

// canonical is a Latin word in the alphabet in which leet is compared; ok is
// false where a sign stands for nothing.
func canonical(s string) (out string, ok bool) {
	var buf [40]byte
	b := buf[:0]
	for _, r := range s {
		var c byte
		switch {
		case r >= 'a' && r <= 'z':
			c = byte(r)
		case r < 128:
			c = leet[r]
		default:
			c = lookalikes[r]
		}
		if c == 0 || len(b) == cap(b) {
			return "", false
		}
		if c == 'l' {
			c = 'i'
		}
		b = append(b, c)
	}
	return string(b), true
}
