// Package outside prepares what came from outside Perch (a page, a clipboard, a
// connector's answer) for a model: cleaned, bounded and marked as data.
//
// It guarantees that the text a model reads is valid UTF-8 without control,
// bidirectional or tag characters, that it is no longer than the cap, and that
// nothing in it can close the mark around it.
package outside

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxChars is the most text, in runes, that one result shows. It is the cap of
// all tools (SPEC: output capped at 30,000 characters).
const MaxChars = 30_000

// headShare is the part of the cap that shows the beginning: what something is
// stands more often at its head than at its tail.
const headShare = 2.0 / 3

// ansi matches terminal escape sequences: CSI, OSC and two-character ones.
var ansi = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")

// mark matches what looks like the mark itself.
var mark = regexp.MustCompile(`(?i)<(\s*/?\s*)outside`)

// Clean returns valid UTF-8 without terminal escapes, control characters (but
// line break and tab), bidirectional controls and Unicode tag characters, which
// hide text from the user that a model reads. Joiners stay: emoji, Persian and
// Indic words need them. Line ends become "\n".
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsRune(s, '\x1b') {
		s = ansi.ReplaceAllString(s, "")
	}
	if strings.ContainsRune(s, '\r') {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	selected := false // the rune before was a variation selector
	return strings.Map(func(r rune) rune {
		again := selected
		selected = unicode.Is(unicode.Variation_Selector, r)
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), isBidi(r), r >= 0xE0000 && r <= 0xE007F, r == '\uFEFF':
			return -1
		case again && selected:
			return -1 // no script has two in a row; hidden messages do
		}
		return r
	}, s)
}

func isBidi(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// Mark puts text between marks that name its source and say that it is data.
// The text cannot close the mark. The same text gives the same bytes.
func Mark(source, text string) string {
	text = mark.ReplaceAllString(text, "&lt;${1}outside")
	source = strings.Map(func(r rune) rune {
		if r == '"' || r == '<' || r == '>' || r == '\n' {
			return ' '
		}
		return r
	}, Clean(source))
	return fmt.Sprintf("<outside source=%q>\n%s\n</outside>", source, strings.TrimRight(text, "\n"))
}

// Cap shortens text to max runes, head and tail kept. Where it shortens and dir
// is not empty, the whole text is written to a 0600 file there, which the result
// names. A file that cannot be written is said, not hidden.
func Cap(text string, max int, dir, name string) string {
	n := utf8.RuneCountInString(text)
	if n <= max {
		return text
	}
	head := int(float64(max) * headShare)
	tail := max - head
	where := "the rest was dropped"
	if dir != "" {
		path, err := spool(dir, name, text)
		if err != nil {
			where = "the whole text could not be kept: " + err.Error()
		} else {
			where = "the whole text is in " + path
		}
	}
	return fmt.Sprintf("%s\n[… %d of %d characters left out; %s …]\n%s",
		text[:runeOffset(text, head)], n-max, n, where, text[runeOffset(text, n-tail):])
}

// spool writes a text under a name made from its content, so that the same text
// lies there once.
func spool(dir, name, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(dir, fmt.Sprintf("%s-%s.txt", name, hex.EncodeToString(sum[:6])))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	return path, nil
}

// runeOffset is the byte offset of rune n.
func runeOffset(s string, n int) int {
	off := 0
	for ; n > 0 && off < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[off:])
		off += size
	}
	return off
}
