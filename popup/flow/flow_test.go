package flow

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

func TestTextIsWrappedWithoutLosingAnything(t *testing.T) {
	test.NewTempApp(t)
	opt := Options{Size: 14, Line: 20}
	cases := map[string][]Span{
		"words":        {{Text: strings.Repeat("some words in a row ", 20)}},
		"styles":       {{Text: "plain "}, {Text: "bold words ", Bold: true}, {Text: strings.Repeat("code ", 30), Mono: true, Boxed: true}, {Text: "end"}},
		"Han":          {{Text: strings.Repeat("这是一个没有空格的句子，", 20)}},
		"long word":    {{Text: strings.Repeat("x", 500)}},
		"breaks":       {{Text: "a\n\nb\n"}},
		"emoji family": {{Text: strings.Repeat("👨‍👩‍👧‍👦", 40)}},
	}
	for name, spans := range cases {
		for _, anywhere := range []bool{false, true} {
			opt.Anywhere = anywhere
			whole := ""
			for _, s := range spans {
				whole += s.Text
			}
			at := 0
			for i, l := range layout(spans, opt, 200) {
				if l.w > 201 {
					t.Errorf("%s: line %d is %v wide", name, i, l.w)
				}
				for _, p := range l.pieces {
					if gap := whole[at:p.from]; strings.Trim(gap, " \n") != "" {
						t.Errorf("%s: %q is lost", name, gap)
					}
					if whole[p.from:p.from+len(p.text)] != p.text {
						t.Errorf("%s: piece at %d is %q", name, p.from, p.text)
					}
					at = p.from + len(p.text)
				}
			}
			if rest := strings.Trim(whole[at:], " \n"); rest != "" {
				t.Errorf("%s: %q is lost at the end", name, rest)
			}
		}
	}
}

func TestPunctuationStaysWithTheWordBefore(t *testing.T) {
	test.NewTempApp(t)
	for width := float32(100); width < 320; width += 7 {
		lines := layout([]Span{{Text: "stores a key for "}, {Text: "anthropic", Mono: true, Boxed: true}, {Text: ", "}, {Text: "gemini", Mono: true, Boxed: true}, {Text: ", and "}, {Text: "others", Bold: true}, {Text: ". Then it goes on."}}, Options{Size: 14, Line: 20}, width)
		for _, l := range lines {
			if len(l.pieces) > 0 && strings.IndexAny(l.pieces[0].text, ",.") == 0 {
				t.Errorf("at width %v a line begins with %q", width, l.pieces[0].text)
			}
		}
	}
}

func TestOffsetAndPositionBelongTogether(t *testing.T) {
	test.NewTempApp(t)
	text := NewText()
	text.Set([]Span{{Text: "first "}, {Text: "bold", Bold: true}, {Text: " and then more words that wrap"}}, Options{Size: 14, Line: 20}, 120)
	for i := range text.lines {
		l := &text.lines[i]
		last := l.pieces[len(l.pieces)-1]
		for off := l.from; off < last.from+len(last.text); off++ { // a space at the end takes no room
			if got := text.OffsetAt(fyne.NewPos(text.xOf(l, off)+0.3, float32(i)*20+10)); got != off {
				t.Errorf("line %d: offset %d comes back as %d", i, off, got)
			}
		}
	}
	if got := text.OffsetAt(fyne.NewPos(0, 1000)); got != len(text.Plain()) {
		t.Errorf("below the text: %d", got)
	}
}

func TestLinkIsFoundWhereItStands(t *testing.T) {
	test.NewTempApp(t)
	text := NewText()
	text.Set([]Span{{Text: "see "}, {Text: "here", Link: "https://a.example"}, {Text: " now"}}, Options{Size: 14, Line: 20}, 400)
	x := text.lines[0].pieces[1].x
	if got := text.LinkAt(fyne.NewPos(x+2, 10)); got != "https://a.example" {
		t.Errorf("on the link: %q", got)
	}
	for _, pos := range []fyne.Position{{X: 1, Y: 10}, {X: x + 2, Y: 30}, {X: 390, Y: 10}} {
		if got := text.LinkAt(pos); got != "" {
			t.Errorf("at %v: %q", pos, got)
		}
	}
}

func TestEmojiAreToldFromText(t *testing.T) {
	for s, want := range map[string]bool{
		"🐦": true, "👨‍👩‍👧‍👦": true, "👍🏽": true, "❤️": true, "1️⃣": true, "✅": true, "🇩🇪": true,
		"a": false, "1": false, "中": false, "❤︎": false, "→": false, "✓": false, "∑": false,
	} {
		if got := isEmoji(s); got != want {
			t.Errorf("isEmoji(%q) = %t", s, got)
		}
	}
	if mayHoldEmoji("中文和 ASCII → ∑") {
		t.Error("ordinary text is cut into characters")
	}
	got := splitEmoji("a 🐦🐦 b")
	if len(got) != 3 || got[1].text != "🐦🐦" || !got[1].emoji {
		t.Errorf("split into %v", got)
	}
}

func TestEllipsisFits(t *testing.T) {
	test.NewTempApp(t)
	const size, width = 12, 100
	for _, s := range []string{"short", strings.Repeat("long text ", 20), strings.Repeat("很长的文字", 20)} {
		if got := Ellipsis(s, width, size, fyne.TextStyle{}); Width(got, size, fyne.TextStyle{}) > width {
			t.Errorf("%q is too wide", got)
		}
	}
}
