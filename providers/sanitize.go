package providers

import (
	"strings"
	"unicode/utf8"
)

// Sanitize makes a text that every vendor accepts: valid UTF-8 (each broken
// sequence, a lone surrogate's three bytes too, becomes U+FFFD) without NUL.
// A clean text is returned as it is.
func Sanitize(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "")
}
