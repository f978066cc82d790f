package tokens

// kind is the class of a byte.
type kind uint8

const (
	kindOther kind = iota // control characters
	kindLetter
	kindDigit
	kindPunct
	kindSpace
	kindNewline
	kindHigh // part of a rune outside ASCII
)

var kinds = func() (k [256]kind) {
	for c := range 256 {
		switch {
		case c >= 0x80:
			k[c] = kindHigh
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			k[c] = kindLetter
		case c >= '0' && c <= '9':
			k[c] = kindDigit
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			k[c] = kindSpace
		case c > ' ' && c < 0x7f:
			k[c] = kindPunct
		}
	}
	return k
}()

// span is a range of runes and its class.
type span struct {
	last rune
	c    class
}

// spans cover all runes outside ASCII in order; each reaches from the end of
// the one before to last. Scripts without calibration text are classOther.
var spans = []span{
	{0xbf, classPunct},  // Latin-1 signs
	{0x24f, classLatin}, // Latin-1 letters, Latin Extended-A and B
	{0x36f, classOther}, // IPA, modifiers, combining marks
	{0x3ff, classGreek},
	{0x52f, classCyrillic},
	{0x58f, classOther},   // Armenian
	{0x5ff, classSemitic}, // Hebrew
	{0x6ff, classSemitic}, // Arabic
	{0x8ff, classOther},   // Syriac, Thaana, N'Ko…
	{0x97f, classIndic},   // Devanagari
	{0xd7f, classIndic},   // Bengali … Malayalam
	{0x10ff, classOther},  // Sinhala, Thai, Lao, Tibetan, Myanmar, Georgian
	{0x11ff, classHangul}, // conjoining jamo
	{0x1dff, classOther},
	{0x1eff, classLatin}, // Latin Extended Additional (Vietnamese)
	{0x1fff, classGreek},
	{0x200c, classPunct},
	{0x200d, classEmoji}, // zero width joiner
	{0x25ff, classPunct}, // general punctuation, currency, arrows, mathematics, boxes
	{0x27bf, classEmoji}, // miscellaneous symbols, dingbats
	{0x2e7f, classOther},
	{0x2fdf, classHan}, // radicals
	{0x303f, classCJK}, // ideographic description, CJK punctuation
	{0x30ff, classKana},
	{0x318f, classHangul}, // bopomofo to compatibility jamo
	{0x33ff, classCJK},
	{0x4dbf, classHan}, // extension A
	{0x4dff, classOther},
	{0x9fff, classHan},
	{0xabff, classOther},
	{0xd7ff, classHangul},
	{0xf8ff, classOther}, // private use
	{0xfaff, classHan},   // compatibility ideographs
	{0xfe0e, classOther},
	{0xfe0f, classEmoji}, // variation selector 16
	{0xfeff, classOther},
	{0xffef, classCJK}, // half and full width forms
	{0x1efff, classOther},
	{0x1faff, classEmoji},
	{0x1ffff, classOther},
	{0x3ffff, classHan}, // supplementary ideographs
	{0x10ffff, classOther},
}

// lowClass is classOf for runes below 64 K, by blocks of 16.
var lowClass = func() (t [0x10000]class) {
	i := 0
	for r := range rune(0x10000) {
		for spans[i].last < r {
			i++
		}
		t[r] = spans[i].c
	}
	return t
}()

// classOf is the class of a rune outside ASCII.
func classOf(r rune) class {
	if r < 0x10000 {
		return lowClass[r]
	}
	for i := len(spans) - 6; i < len(spans); i++ {
		if r <= spans[i].last {
			return spans[i].c
		}
	}
	return classOther
}
