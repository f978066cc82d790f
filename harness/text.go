package harness

import (
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// dollars writes an amount of US dollars.
func dollars(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// titleLength is the longest title made from a question, in runes: what fits
// one line of the tray menu.
const titleLength = 48

// TitleFrom makes a session's title from its first question.
func TitleFrom(question string) string {
	line := strings.Join(strings.Fields(question), " ")
	r := []rune(line)
	if len(r) <= titleLength {
		return line
	}
	cut := string(r[:titleLength-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,.;:") + "…"
}
