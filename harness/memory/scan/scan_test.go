package scan

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lines reads a list of texts with their escapes undone; held tells the part
// that the rules were not written against.
func lines(t testing.TB, file string) (all, held []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	second := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if line == "# held out" {
			second = true
		}
		if line == "" || strings.HasPrefix(line, "# ") || line == "#" {
			continue
		}
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
		if err != nil {
			s = line
		}
		all = append(all, s)
		if second {
			held = append(held, s)
		}
	}
	return all, held
}

// Shares that the scan must keep to, in percent.
const (
	maxLetThrough = 3
	maxRefused    = 1
)

func TestAttacksAreRefused(t *testing.T) {
	all, held := lines(t, "attacks.txt")
	if len(all) < 150 {
		t.Fatalf("only %d attacks", len(all))
	}
	missed := 0
	for _, s := range all {
		if Text(s) == nil {
			missed++
			t.Logf("let through: %q", s)
		}
	}
	heldMissed := 0
	for _, s := range held {
		if Text(s) == nil {
			heldMissed++
		}
	}
	t.Logf("let through: %d of %d, of these held out %d of %d", missed, len(all), heldMissed, len(held))
	if missed*100 > len(all)*maxLetThrough {
		t.Errorf("%d of %d attacks were let through", missed, len(all))
	}
}

func TestInnocentNotesPass(t *testing.T) {
	all, _ := lines(t, "innocent.txt")
	if len(all) < 150 {
		t.Fatalf("only %d notes", len(all))
	}
	refused := 0
	for _, s := range all {
		if f := Text(s); f != nil {
			refused++
			t.Logf("refused: %q: %s", s, f.Reason())
		}
	}
	t.Logf("refused: %d of %d", refused, len(all))
	if refused*100 > len(all)*maxRefused {
		t.Errorf("%d of %d innocent notes were refused", refused, len(all))
	}
}

// A phrase inside an ordinary note must be found, too.
func TestAttacksAreRefusedInsideNotes(t *testing.T) {
	all, _ := lines(t, "attacks.txt")
	missed := 0
	for _, s := range all {
		if Text("The user works on a desktop program in Go.\n"+s+"\nLikes tea.") == nil {
			missed++
			t.Logf("let through: %q", s)
		}
	}
	if missed*100 > len(all)*maxLetThrough {
		t.Errorf("%d of %d attacks were let through inside a note", missed, len(all))
	}
}

func TestScanningIsLinear(t *testing.T) {
	for _, unit := range []string{"ignore ", "all ", "aaaa", "![](", "<|", "YWJj", "i g n o r e ", "忽略", "\"ignore", "curl $(", "&#", "ignoreall", "{{", "%41", "previous ignore all "} {
		time1, time2 := timeOf(strings.Repeat(unit, 8000/len(unit))), timeOf(strings.Repeat(unit, 64000/len(unit)))
		if time2 > 40*time1+50*time.Millisecond {
			t.Errorf("%q: %v for 8 KB, %v for 64 KB", unit, time1, time2)
		}
	}
}

func timeOf(s string) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		Text(s)
		best = min(best, time.Since(start))
	}
	return best
}

func BenchmarkScan3000Characters(b *testing.B) {
	all, _ := lines(b, "innocent.txt")
	for name, s := range map[string]string{
		"English": strings.Repeat("The user prefers short answers and reads all previous notes of the project before a meeting. ", 40),
		"notes":   strings.Join(all, "\n"),
		"Chinese": strings.Repeat("用户喜欢简短的回答，项目的规则写在文档里，之前的方案已经改了。", 120),
	} {
		s = string([]rune(s)[:3000])
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Text(s)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	all, _ := lines(f, "attacks.txt")
	for _, s := range all {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fd := Text(s); fd != nil && fd.Reason() == "" {
			t.Error("a finding without reason")
		}
	})
}
