package tools

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible shows what a person would not see in a text that is asked about:
// control characters, bidirectional ones, and those of no width stand as their
// number. Line breaks and tabs stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), r == 0xFEFF, r == 0x00AD, r == 0xFFFD:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x2069:
		return true
	case r >= 0xE0000 && r <= 0xE007F, r >= 0xE000 && r <= 0xF8FF:
		return true
	}
	return r == 0x2028 || r == 0x2029
}
