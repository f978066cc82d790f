package flow

import (
	"os"
	"os/exec"
	"strings"
	"sync"

	"fyne.io/fyne/v2"
	"github.com/rivo/uniseg"
)

// emojiPlaces are where systems keep a colour emoji font. The one that the
// toolkit brings lacks newer emoji and draws some of them squeezed.
var emojiPlaces = []string{
	"/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf",
	"/usr/share/fonts/noto/NotoColorEmoji.ttf",
	"/usr/share/fonts/google-noto-emoji/NotoColorEmoji.ttf",
	"/usr/share/fonts/google-noto-color-emoji-fonts/NotoColorEmoji.ttf",
	"/usr/share/fonts/noto-emoji/NotoColorEmoji.ttf",
	"/usr/share/fonts/TTF/NotoColorEmoji.ttf",
}

// emojiFont is the system's colour emoji font, nil where there is none. It is
// read with the first emoji: it takes 10 MB.
var emojiFont = sync.OnceValue(func() fyne.Resource {
	places := emojiPlaces
	if out, err := exec.Command("fc-match", "-f", "%{file}", "Noto Color Emoji").Output(); err == nil && strings.Contains(string(out), "Emoji") {
		places = append([]string{string(out)}, places...)
	}
	for _, p := range places {
		if b, err := os.ReadFile(p); err == nil {
			return fyne.NewStaticResource("emoji:"+p, b)
		}
	}
	return nil
})

// emojiSegment is text that is emoji throughout, or not at all.
type emojiSegment struct {
	text  string
	emoji bool
}

// mayHoldEmoji is a quick look that keeps ordinary text, Han included, from being
// cut into characters.
func mayHoldEmoji(s string) bool {
	for _, r := range s {
		if r >= 0x20e3 && (r == 0x20e3 || r == 0xfe0f || presented(r)) {
			return true
		}
	}
	return false
}

// hasEmoji reports whether text of a span is drawn in two fonts.
func hasEmoji(text string, sp *Span) bool {
	return mayHoldEmoji(text) && !sp.Mono && emojiFont() != nil
}

// spanWidth is the width of text of a span, its emoji in their own font.
func spanWidth(text string, size float32, sp *Span) float32 {
	if !hasEmoji(text, sp) {
		return Width(text, size, sp.style())
	}
	w := float32(0)
	for _, s := range splitEmoji(text) {
		w += s.width(size, sp)
	}
	return w
}

func (s emojiSegment) width(size float32, sp *Span) float32 {
	if s.emoji {
		return emojiWidth(s.text, size)
	}
	return Width(s.text, size, sp.style())
}

// splitEmoji cuts text into emoji and the rest.
func splitEmoji(s string) []emojiSegment {
	var out []emojiSegment
	state := -1
	for s != "" {
		var cluster string
		cluster, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		e := isEmoji(cluster)
		if n := len(out); n > 0 && out[n-1].emoji == e {
			out[n-1].text += cluster
		} else {
			out = append(out, emojiSegment{cluster, e})
		}
	}
	return out
}

// isEmoji reports whether a character as the user sees it is an emoji: it asks
// for it by U+FE0F or U+20E3, or is shown as one by default (Emoji_Presentation
// in Unicode's emoji-data).
func isEmoji(cluster string) bool {
	first := true
	for _, r := range cluster {
		switch {
		case r == 0xfe0f, r == 0x20e3:
			return true
		case r == 0xfe0e:
			return false
		case first && presented(r):
			return true
		}
		first = false
	}
	return false
}

func presented(r rune) bool {
	switch {
	case r >= 0x1f300 && r <= 0x1faff:
		return r < 0x1f650 || r > 0x1f67f
	case r >= 0x1f1e6 && r <= 0x1f1ff, r >= 0x1f191 && r <= 0x1f19a:
		return true
	case r >= 0x231a && r <= 0x2b55:
		return strings.ContainsRune(emojiBelow, r)
	}
	return r == 0x1f004 || r == 0x1f0cf || r == 0x1f18e || r == 0x1f201 || r == 0x1f21a || r == 0x1f22f
}

// emojiBelow are the emoji among the older symbols.
const emojiBelow = "⌚⌛⏩⏪⏫⏬⏰⏳◽◾☔☕♈♉♊♋♌♍♎♏♐♑♒♓♿⚓⚡⚪⚫⚽⚾⛄⛅⛎⛔⛪⛲⛳⛵⛺⛽✅✊✋✨❌❎❓❔❕❗➕➖➗➰➿⬛⬜⭐⭕"

// emojiWidth is the width of emoji text.
func emojiWidth(s string, size float32) float32 {
	k := measureKey{"\x00" + s, size, fyne.TextStyle{}}
	measured.Lock()
	w, ok := measured.widths[k]
	measured.Unlock()
	if ok {
		return w
	}
	m, _ := fyne.CurrentApp().Driver().RenderedTextSize(s, size, fyne.TextStyle{}, emojiFont())
	measured.Lock()
	measured.widths[k] = m.Width
	measured.Unlock()
	return m.Width
}

// emojiMetrics are the height and baseline of emoji text.
func emojiMetrics(size float32) (height, baseline float32) {
	s, base := fyne.CurrentApp().Driver().RenderedTextSize("😀", size, fyne.TextStyle{}, emojiFont())
	return s.Height, base
}
