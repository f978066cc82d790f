package harness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"perch/chat"
)

func TestRetryPlan(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	half := func() float64 { return .5 }
	hint := func(class chat.Class, d time.Duration) *chat.Error {
		return &chat.Error{Class: class, Provider: "acme", RetryAfter: d, HasRetryAfter: true}
	}
	for _, c := range []struct {
		name   string
		e      *chat.Error
		failed int
		again  bool
		wait   time.Duration
		final  string
	}{
		{"first transient failure", &chat.Error{Class: chat.ClassTransient}, 1, true, 500 * time.Millisecond, ""},
		{"fourth transient failure", &chat.Error{Class: chat.ClassTransient}, 4, true, 4 * time.Second, ""},
		{"the cap holds with the jitter", &chat.Error{Class: chat.ClassTransient}, 5, true, 8 * time.Second, ""},
		{"the sixth failure is final", &chat.Error{Class: chat.ClassTransient}, 6, false, 0, ""},
		{"half a second is half a second", hint(chat.ClassRateLimit, 500*time.Millisecond), 1, true, 500 * time.Millisecond, ""},
		{"a hint of nothing is no wait", hint(chat.ClassRateLimit, 0), 1, true, 0, ""},
		{"two minutes are waited for", hint(chat.ClassTransient, 2*time.Minute), 1, true, 2 * time.Minute, ""},
		{"an hour is not slept through", hint(chat.ClassRateLimit, time.Hour), 1, false, 0, "acme asks to wait until 04:00"},
		{"a hint of days names the day", hint(chat.ClassRateLimit, 50*time.Hour), 1, false, 0, "until 4 Jan 05:00"},
		{"quota is no rate limit", &chat.Error{Class: chat.ClassQuota}, 1, false, 0, ""},
		{"a malformed request is not repeated", &chat.Error{Class: chat.ClassBadRequest}, 1, false, 0, ""},
		{"an unknown error is not repeated", &chat.Error{Class: chat.ClassInternal}, 1, false, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planRetry(c.e, c.failed, 5, now, half)
			if p.again != c.again || p.wait != c.wait {
				t.Errorf("again %v after %v", p.again, p.wait)
			}
			if got := fmt.Sprint(p.final); c.final != "" && !strings.Contains(got, c.final) {
				t.Errorf("final error %q", got)
			}
		})
	}
}

func TestBackoffNeverExceedsItsCap(t *testing.T) {
	for failed := 1; failed < 80; failed++ {
		if d := backoff(failed, func() float64 { return 1 }); d > backoffCap || d <= 0 {
			t.Fatalf("failure %d waits %v", failed, d)
		}
	}
}

func TestAfterAnswer(t *testing.T) {
	text := func(s string, stop chat.StopReason) *chat.Message {
		return &chat.Message{Parts: []chat.Part{chat.Text(s)}, Stop: stop}
	}
	call := func(stop chat.StopReason) *chat.Message {
		return &chat.Message{Parts: []chat.Part{{Type: chat.PartCall, Call: &chat.ToolCall{Name: "t"}}}, Stop: stop}
	}
	for _, c := range []struct {
		name      string
		m         *chat.Message
		continued int
		want      next
	}{
		{"plain end", text("x", chat.StopEnd), 0, nextEnd},
		{"unknown stop reason counts as an end", text("x", chat.StopUnknown), 0, nextEnd},
		{"calls whatever the reason is called", call(chat.StopEnd), 0, nextTools},
		{"calls cut off by the output limit", call(chat.StopOutputLimit), 0, nextCutOff},
		{"text cut off", text("x", chat.StopOutputLimit), 0, nextContinue},
		{"text cut off the third time", text("x", chat.StopOutputLimit), 2, nextEnd},
		{"empty", text("", chat.StopEnd), 0, nextEmpty},
		{"blanks", text(" \n\t", chat.StopEnd), 0, nextEmpty},
		{"nothing that shows", text(" \n\u200b\ufeff", chat.StopEnd), 0, nextEmpty},
		{"only thinking", &chat.Message{Parts: []chat.Part{{Type: chat.PartThinking, Text: "hm"}}, Stop: chat.StopEnd}, 0, nextEmpty},
		{"refusal without text", text("", chat.StopRefusal), 0, nextEnd},
		{"refusal with calls", call(chat.StopContentFilter), 0, nextEnd},
		{"overflow reported in band", text("x", chat.StopOverflow), 0, nextOverflow},
	} {
		if got := afterAnswer(c.m, c.continued); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// log builds a history from a line: u user, a assistant, A assistant with a call,
// r its result; a number after a letter is the message's size in tokens.
func log(t *testing.T, line string) ([]chat.Message, []int) {
	t.Helper()
	var msgs []chat.Message
	var tokens []int
	for i, w := range strings.Fields(line) {
		n := 10
		if len(w) > 1 {
			fmt.Sscan(w[1:], &n)
		}
		m := chat.Message{ID: fmt.Sprint("m", i), Role: chat.RoleUser}
		switch w[0] {
		case 'a':
			m.Role = chat.RoleAssistant
		case 'A':
			m.Role = chat.RoleAssistant
			m.Parts = []chat.Part{{Type: chat.PartCall, Call: &chat.ToolCall{ID: fmt.Sprint("c", i), Name: "t"}}}
		case 'r':
			m.Role = chat.RoleTool
			m.Result = &chat.ToolResult{CallID: fmt.Sprint("c", i-1), Name: "t", Text: strings.Repeat("word ", n)}
		case 's':
			m.Kind = chat.KindSummary
		}
		msgs = append(msgs, m)
		tokens = append(tokens, n)
	}
	return msgs, tokens
}

func TestCutPoint(t *testing.T) {
	b := budget{window: 1000, target: 400, tail: 200, summary: 50, pinned: 100, saving: 100}
	for _, c := range []struct {
		name, log string
		first     int
		at        int
		shorten   int
		carry     int
		ok        bool
	}{
		{"as much of the newest as fits the tail", "u50 a50 u50 a50 u50 a50 u50 a50", 0, 4, 0, 0, true},
		{"never on a result", "u50 a50 A50 r150 u20 a20", 0, 4, 0, 0, true},
		{"the last user message and all after it are kept", "u50 a50 u20 A50 r100 A50 r100 a20", 0, 2, 0, 0, true},
		{"nothing before the cut", "u50 A50 r50", 0, 0, 0, 0, false},
		{"results in the tail are shortened, oldest first", "u50 a50 u20 A20 r900 A20 r60 a10", 0, 2, 1, 0, true},
		{"work on one question that outgrows everything", "u20 A80 r5 A80 r5 A80 r5 A80 r5 A80 r5 A80 r5", 0, 7, 0, 1, true},
		{"a cut is never before the tail of the last one", "s50 u20 A80 r5 A80 r5 a10", 1, 1, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			msgs, tokens := log(t, c.log)
			got, ok := cutPoint(msgs, tokens, c.first, 0, b)
			if ok != c.ok || got.at != c.at || len(got.shorten) != c.shorten || len(got.carry) != c.carry {
				t.Errorf("got %+v %v", got, ok)
			}
		})
	}
}

func TestEveryCutIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var msgs []chat.Message
		var tokens []int
		add := func(m chat.Message, n int) {
			m.ID = fmt.Sprint("m", len(msgs))
			msgs, tokens = append(msgs, m), append(tokens, n)
		}
		size := rapid.IntRange(1, 400)
		for range rapid.IntRange(1, 15).Draw(t, "turns") {
			if rapid.Bool().Draw(t, "user") {
				add(chat.Message{Role: chat.RoleUser, Parts: []chat.Part{chat.Text("q")}}, size.Draw(t, "n"))
			}
			m := chat.Message{Role: chat.RoleAssistant}
			calls := rapid.IntRange(0, 3).Draw(t, "calls")
			for i := range calls {
				m.Parts = append(m.Parts, chat.Part{Type: chat.PartCall, Call: &chat.ToolCall{ID: fmt.Sprint(len(msgs), "-", i), Name: "t"}})
			}
			add(m, size.Draw(t, "n"))
			at := len(msgs) - 1
			for i := range calls {
				n := size.Draw(t, "n")
				add(chat.Message{Role: chat.RoleTool, Result: &chat.ToolResult{CallID: fmt.Sprint(at, "-", i), Text: strings.Repeat("word ", n)}}, n)
			}
		}
		b := newBudget(rapid.IntRange(500, 4000).Draw(t, "window"), rapid.IntRange(0, 150).Draw(t, "fixed"), .6)
		c, ok := cutPoint(msgs, tokens, 0, 0, b)
		if !ok {
			return
		}
		if c.at >= len(msgs) || msgs[c.at].Role == chat.RoleTool {
			t.Fatalf("the tail begins with a result or is empty: %+v", c)
		}
		v := chat.View{Marks: []chat.CompactionMark{{ID: "s", Before: msgs[c.at].ID, Summary: "sum"}}}
		for _, i := range c.carry {
			v.Marks[0].Carry = append(v.Marks[0].Carry, msgs[i].ID)
		}
		view, first := modelView(msgs, v)
		if !chat.Paired(view) {
			t.Fatal("the view is not paired")
		}
		last := lastUserIndex(msgs)
		if last >= 0 && lastUserIndex(view) < 0 {
			t.Fatal("the user's last words are gone")
		}
		if view[first].ID != msgs[c.at].ID {
			t.Fatal("the tail is not where the view says")
		}
		// A second cut of the view stays behind the first.
		vt := make([]int, len(view))
		for i := range view {
			vt[i] = 10
		}
		if c2, ok := cutPoint(view, vt, first, 0, b); ok && (c2.at < first || view[c2.at].Role == chat.RoleTool) {
			t.Fatalf("second cut %+v before %d", c2, first)
		}
	})
}

func TestPinnedMessagesSurviveWithTheirRound(t *testing.T) {
	msgs, _ := log(t, "u A r a u A r a u a")
	v := chat.View{Marks: []chat.CompactionMark{{ID: "s", Before: "m8", Summary: "sum"}}, Pinned: []string{"m2", "m4"}}
	view, first := modelView(msgs, v)
	var ids []string
	for _, m := range view {
		ids = append(ids, m.ID)
	}
	if got := strings.Join(ids, " "); got != "s m1 m2 m4 m8 m9" || first != 4 {
		t.Errorf("view %s, tail from %d", got, first)
	}
	if !chat.Paired(view) {
		t.Error("not paired")
	}
}

func TestSmallWindowsShareWhatTheyLeave(t *testing.T) {
	b := newBudget(8000, 1000, .6)
	if b.trigger != 4800 || b.target != 3200 || b.tail != 1600 {
		t.Errorf("normal window: %+v", b)
	}
	b = newBudget(8000, 3000, .6)
	if b.trigger != 3000+3000 || b.target != 3000+2000 || b.tail != 1000 {
		t.Errorf("small window: %+v", b)
	}
}

func TestShorteningIsIdempotentAndNamesWhatIsGone(t *testing.T) {
	s := strings.Repeat("日本語", 2000)
	short := shortenText(s)
	if !strings.Contains(short, "5100 characters removed") || len(short) >= len(s) {
		t.Errorf("shortened to %d bytes: %.80s", len(short), short)
	}
	if shortenText(short) != short {
		t.Error("shortening again changes it")
	}
	if shortenText("short") != "short" {
		t.Error("a short text was shortened")
	}
}

func TestTranscriptStepsTakeEverything(t *testing.T) {
	msgs, _ := log(t, "u A r a u A r400 a u a")
	count := func(s string) int { return (len(s) + 3) / 4 }
	for room := 10; room < 2000; room += 150 {
		for rest, steps := msgs, 0; len(rest) > 0; steps++ {
			text, n := transcript("old summary", rest, room, count)
			if n == 0 || steps > len(msgs) {
				t.Fatalf("room %d: no progress", room)
			}
			if got := count(text); got > room+minReply+200 && room > 500 {
				t.Fatalf("room %d: request of %d tokens", room, got)
			}
			rest = rest[n:]
		}
	}
}

func TestSystemPromptIsStable(t *testing.T) {
	d := promptData{OS: "Linux", Dir: "/home/a", Date: "2026-01-02", Memory: "# Memory\n- likes tea", Tools: true}
	a, b := systemPrompt(d), systemPrompt(d)
	if a != b {
		t.Error("the same data give another prompt")
	}
	for _, want := range []string{"likes tea", "/home/a", "2026-01-02", "# Tools"} {
		if !strings.Contains(a, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	d.Memory, d.Tools = "", false
	if s := systemPrompt(d); strings.Contains(s, "# Tools") || strings.Contains(s, "\n\n\n") {
		t.Errorf("empty sections leave traces:\n%s", s)
	}
}

func TestTitleFromQuestion(t *testing.T) {
	for in, want := range map[string]string{
		"hello":               "hello",
		"  two\nlines  here ": "two lines here",
		"":                    "",
		"Please explain the difference between goroutines and threads": "Please explain the difference between…",
		strings.Repeat("長", 60):                                        strings.Repeat("長", 47) + "…",
	} {
		if got := TitleFrom(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
