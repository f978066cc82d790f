package scan

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// invisible finds characters that a reader does not see or that change the
// direction of what is read. Joiners inside emoji and in the scripts that need
// them, direction marks beside right-to-left letters, and variation selectors
// behind what they vary are legitimate.
func invisible(s string) *Finding {
	if !utf8.ValidString(s) {
		return &Finding{Invisible, "bytes that are no text"}
	}
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x80 || c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return nil
	}
	r := []rune(s)
	rtl := false
	for _, c := range r {
		if rightToLeft(c) {
			rtl = true
			break
		}
	}
	for i, c := range r {
		if !suspect(c) {
			continue
		}
		var prev, next rune
		if i > 0 {
			prev = r[i-1]
		}
		if i+1 < len(r) {
			next = r[i+1]
		}
		if !allowed(c, prev, next, rtl, r[:i]) {
			return &Finding{Invisible, fmt.Sprintf("U+%04X", c)}
		}
	}
	return nil
}

// suspect reports whether a character cannot be seen or turns the direction.
func suspect(c rune) bool {
	switch {
	case c == '\n' || c == '\t' || c == '\r':
		return false
	case c < ' ' || c >= 0x7f && c < 0xa0:
		return true
	case c < 0xad, c >= 0x3041 && c < 0xd7b0 && c != 0x3164, c >= 0x370 && c < 0x590, c >= 0xae && c < 0x300:
		return false
	case unicode.Is(unicode.Cf, c), unicode.Is(unicode.Variation_Selector, c):
		return true
	case c == 0x034f || c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 || c == 0x180e || c == 0x2800 || c == 0x3164 || c == 0xffa0:
		return true // fillers and blanks that are no spaces
	}
	return c == 0x2028 || c == 0x2029 || c >= 0xe0000 && c <= 0xe0fff || unicode.Is(unicode.Co, c) && c > 0xffff
}

func allowed(c, prev, next rune, rtl bool, before []rune) bool {
	switch {
	case c == 0x200d: // zero width joiner
		return emojiPart(prev) && emojiPart(next) || joins(prev) && (joins(next) || next == 0 || !unicode.IsLetter(next))
	case c == 0x200c: // zero width non-joiner
		return joins(prev) && (joins(next) || !unicode.IsLetter(next))
	case c == 0x200e || c == 0x200f || c == 0x061c: // direction marks
		return rtl
	case c == 0x200b: // zero width space divides words in scripts without spaces
		return seaScript(prev) && seaScript(next)
	case c >= 0xfe00 && c <= 0xfe0f: // variation selectors
		return !unicode.Is(unicode.Variation_Selector, prev) && prev > 0 && !unicode.IsLetter(prev) && prev != ' ' || unicode.Is(unicode.Han, prev)
	case c >= 0xe0100 && c <= 0xe01ef: // ideographic variation
		return unicode.Is(unicode.Han, prev)
	case c >= 0x180b && c <= 0x180d:
		return unicode.Is(unicode.Mongolian, prev)
	case c >= 0xe0020 && c <= 0xe007f: // tags, only in the flags of regions
		return inFlag(before)
	case c >= 0x600 && c <= 0x605 || c == 0x6dd || c == 0x70f || c == 0x8e2:
		return true // signs that span Arabic or Syriac numbers and are seen
	}
	return false
}

// inFlag reports whether a tag character follows a black flag and tags only, no
// more than a region's name is long.
func inFlag(before []rune) bool {
	const longest = 7
	for n := 0; n < longest && len(before) > 0; n++ {
		c := before[len(before)-1]
		if c == 0x1f3f4 {
			return true
		}
		if c < 0xe0020 || c > 0xe007f {
			return false
		}
		before = before[:len(before)-1]
	}
	return false
}

func emojiPart(c rune) bool {
	return c >= 0x1f000 && c <= 0x1faff || c >= 0x2190 && c <= 0x2bff || c == 0xfe0f || c >= 0xe0020 && c <= 0xe007f || c == 0x3030 || c == 0x303d
}

// joins reports whether a letter or mark is of a script in which joiners change
// how letters are drawn.
func joins(c rune) bool {
	return c >= 0x600 && c <= 0x8ff || c >= 0x900 && c <= 0xdff || c >= 0xf00 && c <= 0x109f || c >= 0x1780 && c <= 0x18af ||
		c >= 0xfb50 && c <= 0xfdff || c >= 0xfe70 && c < 0xfeff
}

func seaScript(c rune) bool {
	return c >= 0xe00 && c <= 0xeff || c >= 0x1000 && c <= 0x109f || c >= 0x1780 && c <= 0x17ff
}

func rightToLeft(c rune) bool {
	return c >= 0x590 && c <= 0x8ff || c >= 0xfb1d && c <= 0xfdff || c >= 0xfe70 && c < 0xfeff
}
