package chunk

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every passage must stand in the input where its lines say.
func checkLines(t *testing.T, text string, cs []Chunk) {
	t.Helper()
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	for i, c := range cs {
		if c.StartLine < 1 || c.EndLine > len(lines) || c.StartLine > c.EndLine {
			t.Fatalf("chunk %d has lines %d–%d of %d", i, c.StartLine, c.EndLine, len(lines))
		}
		got := strings.Split(c.Text, "\n")
		if !strings.Contains(lines[c.StartLine-1], got[0]) {
			t.Fatalf("chunk %d starts with %q, line %d is %q", i, got[0], c.StartLine, lines[c.StartLine-1])
		}
		if !strings.Contains(lines[c.EndLine-1], got[len(got)-1]) {
			t.Fatalf("chunk %d ends with %q, line %d is %q", i, got[len(got)-1], c.EndLine, lines[c.EndLine-1])
		}
		if len(got) != c.EndLine-c.StartLine+1 {
			t.Fatalf("chunk %d has %d lines, says %d–%d", i, len(got), c.StartLine, c.EndLine)
		}
		if !utf8.ValidString(c.Text) {
			t.Fatalf("chunk %d is cut inside a character", i)
		}
	}
}

func TestPassagesCoverTheTextAtTheirLines(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "Line %d of the story about boats and rivers.\n", i)
		if i%7 == 0 {
			b.WriteString("\n")
		}
	}
	for name, text := range map[string]string{
		"prose":     b.String(),
		"crlf":      strings.ReplaceAll(b.String(), "\n", "\r\n"),
		"old mac":   strings.ReplaceAll(b.String(), "\n", "\r"),
		"long line": strings.Repeat("word ", 3000),
		"no spaces": strings.Repeat("x", 10000),
		"cjk":       strings.Repeat("知识库在本地磁盘上。搜索很快。", 300),
		"emoji":     strings.Repeat("👩‍👩‍👧‍👦", 2000),
		"mixed":     "short\n" + strings.Repeat("long ", 900) + "\nend\n",
	} {
		cs := Split(text, Options{})
		checkLines(t, text, cs)
		limit := Size
		if isCJK(text) {
			limit = SizeCJK
		}
		for i, c := range cs {
			if n := utf8.RuneCountInString(c.Text); n > limit {
				t.Errorf("%s: chunk %d has %d characters, limit %d", name, i, n, limit)
			}
		}
		// Without the overlaps the passages are the text.
		seen := 0
		for _, w := range strings.Fields(text) {
			if len(w) < 100 {
				seen++
				found := false
				for _, c := range cs {
					if strings.Contains(c.Text, w) {
						found = true
						break
					}
				}
				if !found {
					t.Fatalf("%s: word %q is in no chunk", name, w)
				}
			}
		}
	}
}

func TestNeighboursOverlapByATenth(t *testing.T) {
	for name, text := range map[string]string{
		"short lines": strings.Repeat("The quick brown fox jumps.\n", 400),
		"one line":    strings.Repeat("The quick brown fox jumps. ", 400),
		"paragraphs":  strings.Repeat(strings.Repeat("The quick brown fox jumps. ", 15)+"\n\n", 30),
		"cjk":         strings.Repeat("敏捷的棕色狐狸跳过懒狗。", 400),
	} {
		cs := Split(text, Options{})
		size := Size
		if name == "cjk" {
			size = SizeCJK
		}
		for i := 1; i < len(cs); i++ {
			o := commonOverlap(cs[i-1].Text, cs[i].Text)
			if o < size*5/100 || o > size*16/100 {
				// The repeated text makes longer accidental overlaps possible, not shorter ones.
				if o < size*5/100 {
					t.Errorf("%s: chunks %d and %d share %d characters of %d", name, i-1, i, o, size)
				}
			}
		}
	}
}

// commonOverlap is the longest end of a that b starts with, in characters, up
// to a quarter of a passage.
func commonOverlap(a, b string) int {
	best := 0
	ra, rb := []rune(a), []rune(b)
	for n := 1; n <= min(len(ra), len(rb), Size/4); n++ {
		if string(ra[len(ra)-n:]) == string(rb[:n]) {
			best = n
		}
	}
	return best
}

func TestALongLineIsNotRepeatedWhole(t *testing.T) {
	long := strings.Repeat("data ", 400)
	text := strings.Repeat("x\n", 20) + long + "\n" + strings.Repeat("y\n", 20)
	total := 0
	for _, c := range Split(text, Options{}) {
		total += utf8.RuneCountInString(c.Text)
	}
	if n := utf8.RuneCountInString(text); total > n*13/10 {
		t.Errorf("passages have %d characters for a text of %d", total, n)
	}
}

func TestHeadingsAreContext(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Guide\n\n## Install\n\n")
	b.WriteString(strings.Repeat("Run the setup and wait for it.\n", 60))
	b.WriteString("\n## Use\n\n")
	b.WriteString(strings.Repeat("Press the key and ask.\n", 80))
	cs := Split(b.String(), Options{Headings: true})
	checkLines(t, b.String(), cs)
	if cs[0].Heading != "" {
		t.Errorf("first chunk has heading %q", cs[0].Heading)
	}
	if cs[1].Heading != "Guide › Install" {
		t.Errorf("second chunk has heading %q", cs[1].Heading)
	}
	last := cs[len(cs)-1]
	if last.Heading != "Guide › Use" {
		t.Errorf("last chunk has heading %q", last.Heading)
	}
}

func TestBlankTextGivesNoPassage(t *testing.T) {
	for _, s := range []string{"", "\n", " \t\r\n  \n", "\u00a0\n"} {
		if cs := Split(s, Options{}); len(cs) != 0 {
			t.Errorf("%q gives %d chunks", s, len(cs))
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a\nb\r\nc\rd", false)
	f.Add(strings.Repeat("长", 1300), true)
	f.Fuzz(func(t *testing.T, s string, code bool) {
		if !utf8.ValidString(s) {
			t.Skip()
		}
		checkLines(t, s, Split(s, Options{Code: code, Headings: !code, Size: 50}))
	})
}
