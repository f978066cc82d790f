package transcript

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"perch/chat"
	"perch/control"
)

// show writes rows in a form that is easy to compare.
func show(rows []*Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.Repeat("> ", r.Quote) + strings.Repeat("  ", r.Indent))
		switch r.Marker.Kind {
		case Bullet:
			b.WriteString("• ")
		case Number:
			fmt.Fprintf(&b, "%d. ", r.Marker.N)
		case Unchecked:
			b.WriteString("☐ ")
		case Checked:
			b.WriteString("☑ ")
		}
		switch r.Kind {
		case User:
			fmt.Fprintf(&b, "user %q", r.Text)
		case Paragraph:
			b.WriteString("p " + showRuns(r.Runs))
		case Heading:
			fmt.Fprintf(&b, "h%d %s", r.Level, showRuns(r.Runs))
		case Code:
			fmt.Fprintf(&b, "code %s %q first=%t last=%t", r.Lang, r.Text, r.First, r.Last)
		case Math:
			fmt.Fprintf(&b, "math %q", r.Text)
		case Table:
			fmt.Fprintf(&b, "table %d×%d", len(r.Table.Head), len(r.Table.Rows))
		case Rule:
			b.WriteString("rule")
		case Picture:
			b.WriteString("picture " + r.Image.Hash)
		case Thinking:
			fmt.Fprintf(&b, "thinking words=%d open=%t", r.Line.Words, r.Line.Open)
		case Tool:
			fmt.Fprintf(&b, "tool %s %q state=%d", r.Tool.Name, r.Tool.Gist, r.Tool.State)
		case Output:
			fmt.Fprintf(&b, "output %q", r.Text)
		case Line:
			fmt.Fprintf(&b, "line %d", r.Line.Kind)
		case Footer:
			fmt.Fprintf(&b, "footer %q", r.Foot.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func showRuns(runs []Run) string {
	var parts []string
	for _, r := range runs {
		s := fmt.Sprintf("%q", r.Text)
		for _, f := range []struct {
			on   bool
			name string
		}{{r.Bold, "b"}, {r.Italic, "i"}, {r.Code, "c"}, {r.Strike, "s"}} {
			if f.on {
				s += f.name
			}
		}
		if r.Link != "" {
			s += "→" + r.Link
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// rowsOf parses a finished text.
func rowsOf(s string) []*Row {
	it := &item{kind: itemText}
	it.write(s)
	it.close()
	return it.done
}

func TestMarkdownBecomesRows(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "p \"one\\ntwo\"\np \"three\"\n"},
		{"styles", "a **b** *c* ~~d~~ `e`", "p \"a \" \"b\"b \" \" \"c\"i \" \" \"d\"s \" \" \"e\"c\n"},
		{"heading after text", "text\n# Title\nmore", "p \"text\"\nh1 \"Title\"\np \"more\"\n"},
		{"link and autolink", "[x](http://a/) https://b.example/c", "p \"x\"→http://a/ \" \" \"https://b.example/c\"→https://b.example/c\n"},
		{"image is words and a link", "![chart](http://evil/?q=1)", "p \"🖼 chart\"→http://evil/?q=1\n"},
		{"image without words", "![](http://evil/?q=1)", "p \"🖼 http://evil/?q=1\"→http://evil/?q=1\n"},
		{"list", "- a\n- b\n  - c\n", "  • p \"a\"\n  • p \"b\"\n    • p \"c\"\n"},
		{"ordered list keeps counting over blank lines", "1. a\n\n2. b\n\n   more\n\n3. c", "  1. p \"a\"\n  2. p \"b\"\n  p \"more\"\n  3. p \"c\"\n"},
		{"ordered list of ones", "1. a\n\n1. b\n\n1. c", "  1. p \"a\"\n  2. p \"b\"\n  3. p \"c\"\n"},
		{"tasks", "- [ ] a\n- [x] b", "  ☐ p \"a\"\n  ☑ p \"b\"\n"},
		{"quote", "> a\n>\n> - b", "> p \"a\"\n>   • p \"b\"\n"},
		{"table", "| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |", "table 2×2\n"},
		{"code", "x\n```go\nfunc f() {\n\n}\n```\ny", "p \"x\"\ncode go \"func f() {\\n\\n}\" first=true last=true\np \"y\"\n"},
		{"code that nobody closed", "```\na\nb", "code  \"a\\nb\" first=true last=true\n"},
		{"code in a list", "- a\n\n  ```sh\n  ls\n\n  pwd\n  ```\n- b", "  • p \"a\"\n  code sh \"ls\\n\\npwd\" first=true last=true\n  • p \"b\"\n"},
		{"a fence of four holds one of three", "````\n```\nx\n```\n````", "code  \"```\\nx\\n```\" first=true last=true\n"},
		{"rule", "a\n\n---\n\nb", "p \"a\"\nrule\np \"b\"\n"},
		{"html is shown, not read", "<script>alert(1)</script>\n", "code html \"<script>alert(1)</script>\" first=true last=true\n"},
		{"break tag", "a<br>b", "p \"a\\nb\"\n"},
		{"escapes and entities", `\*a\* &amp; &lt;b&gt;`, "p \"*a* & <b>\"\n"},
		{"displayed mathematics", "$$\n\\frac{a}{b} + x^2\n$$\nthen", "math \"a/b + x²\"\np \"then\"\n"},
		{"inline mathematics", `so $E = mc^2$ and \(\alpha \leq \beta\)`, "p \"so \" \"E = mc²\"i \" and \" \"α ≤ β\"i\n"},
		{"money is no mathematics", "between $5 and $10, or $3 to $4", "p \"between $5 and $10, or $3 to $4\"\n"},
		{"chinese bold", "**你好**世界", "p \"你好\"b \"世界\"\n"},
		{"empty", "\n \n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := show(rowsOf(c.in)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

const sample = "# Title\n\nSome **bold** text with `code`\nand a second line.\n\n1. one\n2. two\n   - deep\n\n" +
	"```go\nfunc main() {\n\tprintln(\"hi\")\n\n}\n```\n\n> quoted\n> more\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" +
	"$$\nx^2\n$$\n\n- [x] done\n- [ ] open\n\n你好，**世界**。\n\n---\n\nlast ![i](http://x/y) https://e.org/ ok\n"

func TestStreamingInAnyPiecesGivesTheSameRows(t *testing.T) {
	want := show(rowsOf(sample))
	rnd := rand.New(rand.NewSource(1))
	for round := range 200 {
		tr := New()
		rest := []byte(sample)
		seq := int64(0)
		for len(rest) > 0 {
			n := min(1+rnd.Intn(12), len(rest))
			seq++
			tr.Apply(chat.Stamp(&chat.TextDelta{Text: string(rest[:n])}, "r", seq))
			rest = rest[n:]
		}
		tr.closeOpen()
		tr.rebuild(0)
		if got := show(tr.Rows()); got != want {
			t.Fatalf("round %d: got\n%swant\n%s", round, got, want)
		}
	}
}

func TestFinishedRowsKeepTheirIdentity(t *testing.T) {
	tr := New()
	var seen []*Row
	seq := int64(0)
	for i := 0; i < len(sample); i += 7 {
		seq++
		change := tr.Apply(chat.Stamp(&chat.TextDelta{Text: sample[i:min(i+7, len(sample))]}, "r", seq))
		rows := tr.Rows()
		if change.From > len(rows) {
			t.Fatalf("change from %d of %d rows", change.From, len(rows))
		}
		for k := 0; k < change.From && k < len(seen); k++ {
			if seen[k] != rows[k] {
				t.Fatalf("row %d changed although the change began at %d", k, change.From)
			}
		}
		seen = append(seen[:0], rows...)
	}
}

func TestLongBlocksAreCut(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := 1\n", 200) + "```\n"
	rows := rowsOf(code)
	if len(rows) < 200/codeRows {
		t.Fatalf("a block of 200 lines became %d rows", len(rows))
	}
	if !rows[0].First || rows[0].Last || !rows[len(rows)-1].Last {
		t.Error("ends of the block are not marked")
	}
	if got := rows[0].Block.Text(); got != strings.TrimSuffix(strings.Repeat("x := 1\n", 200), "\n") {
		t.Errorf("the block to copy has %d bytes", len(got))
	}
	for name, text := range map[string]string{
		"one line":       strings.Repeat("A sentence of words. ", 5000),
		"one line, Han":  strings.Repeat("这是一个很长的句子。", 5000),
		"no space":       strings.Repeat("é", 50000),
		"lines":          strings.Repeat("A line of words\n", 5000),
		"tight list":     strings.Repeat("- an item of a list\n", 5000),
		"code, one line": "```\n" + strings.Repeat("abc ", 10000) + "\n```",
	} {
		t.Run(name, func(t *testing.T) {
			tr := New()
			seq := int64(0)
			for rest := text; rest != ""; {
				n := min(333, len(rest))
				seq++
				tr.Apply(chat.Stamp(&chat.TextDelta{Text: rest[:n]}, "r", seq))
				rest = rest[n:]
			}
			all := ""
			for _, r := range tr.Rows() {
				if r.Kind == Paragraph {
					for _, run := range r.Runs {
						all += run.Text
					}
				}
				if size := len(showRuns(r.Runs)); size > 2*hardBlock {
					t.Errorf("a row of %d bytes", size)
				}
				if strings.Contains(r.Text, "\ufffd") {
					t.Error("a character was cut")
				}
			}
		})
	}
}

func delta(text string) chat.Event { return &chat.TextDelta{Text: text} }

// run feeds events of one run.
func run(tr *Transcript, events ...chat.Event) {
	for _, e := range events {
		tr.Apply(chat.Stamp(e, "r1", tr.seq+1))
	}
}

func TestEventsBecomeRows(t *testing.T) {
	tool := &chat.ToolStart{ID: "c1", Name: "run_command", Input: json.RawMessage(`{"command":"ls  -la"}`)}
	cases := []struct {
		name   string
		events []chat.Event
		want   string
	}{
		{"text", []chat.Event{delta("a"), delta("b")}, "p \"ab\"\n"},
		{"text around a tool", []chat.Event{delta("a"), tool, &chat.ToolEnd{ID: "c1", Result: "x"}, delta("b")},
			"p \"a\"\ntool run_command \"ls -la\" state=2\np \"b\"\n"},
		{"failed tool", []chat.Event{tool, &chat.ToolEnd{ID: "c1", IsError: true}}, "tool run_command \"ls -la\" state=3\n"},
		{"tool that asks", []chat.Event{tool, &chat.Permission{ID: "c1"}}, "tool run_command \"ls -la\" state=1\n"},
		{"tool with an image", []chat.Event{tool, &chat.ToolEnd{ID: "c1", Images: []chat.Image{{Hash: "h"}}}},
			"tool run_command \"ls -la\" state=2\npicture h\n"},
		{"thinking is folded", []chat.Event{&chat.ThinkingDelta{Text: "two words"}, delta("a")}, "thinking words=2 open=false\np \"a\"\n"},
		{"retry withdraws exactly what the attempt had streamed",
			[]chat.Event{delta("kept "), delta("void"), &chat.Retry{Attempt: 1, Withdrawn: chat.Withdrawn{TextBytes: 4}}, delta("new")},
			"p \"kept\"\nline 1\np \"new\"\n"},
		{"retry that withdraws all", []chat.Event{delta("# void"), &chat.Retry{Withdrawn: chat.Withdrawn{TextBytes: 6}}, delta("new")},
			"line 1\np \"new\"\n"},
		{"retry withdraws thinking too", []chat.Event{&chat.ThinkingDelta{Text: "hm"}, delta("void"),
			&chat.Retry{Withdrawn: chat.Withdrawn{TextBytes: 4, ThinkingBytes: 2}}}, "line 1\n"},
		{"withdrawing reaches over a notice", []chat.Event{delta("ab"), &chat.Notice{Text: "n"}, delta("cd"),
			&chat.Retry{Withdrawn: chat.Withdrawn{TextBytes: 3}}}, "p \"a\"\nline 0\nline 1\n"},
		{"compaction", []chat.Event{&chat.Compaction{TokensBefore: 5, TokensAfter: 1}, delta("a")}, "line 2\np \"a\"\n"},
		{"end", []chat.Event{delta("a"), &chat.Done{Result: chat.Result{StopReason: chat.StopEnd}}}, "p \"a\"\nfooter \"a\"\n"},
		{"stopped", []chat.Event{delta("a"), tool, &chat.Done{Result: chat.Result{StopReason: chat.StopAborted, Error: chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.")}}},
			"p \"a\"\ntool run_command \"ls -la\" state=5\nline 3\nfooter \"a\"\n"},
		{"refused", []chat.Event{&chat.Done{Result: chat.Result{StopReason: chat.StopRefusal}}}, "line 4\n"},
		{"failed", []chat.Event{&chat.Done{Result: chat.Result{StopReason: chat.StopError, Error: chat.NewError(chat.ClassAuth, "err.key", "No key.")}}}, "line 6\n"},
		{"cut off", []chat.Event{delta("a"), &chat.Done{Result: chat.Result{StopReason: chat.StopOutputLimit}}}, "p \"a\"\nline 5\nfooter \"a\"\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := New()
			run(tr, c.events...)
			if got := show(tr.Rows()); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestEventsThatASnapshotHoldsAreSkipped(t *testing.T) {
	tr := New()
	tr.Reset(control.Snapshot{View: control.SessionView{SessionInfo: control.SessionInfo{ID: "s"}}, Live: &control.Live{Run: "r1", Seq: 5, Text: "ab"}})
	tr.Apply(chat.Stamp(delta("b"), "r1", 5))
	tr.Apply(chat.Stamp(delta("c"), "r1", 6))
	if got, want := show(tr.Rows()), "p \"abc\"\n"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

// history is a session with everything in it.
func history() control.SessionView {
	return control.SessionView{
		SessionInfo: control.SessionInfo{ID: "s"},
		History: []chat.Message{
			{ID: "m1", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("question"), {Type: chat.PartImage, Image: &chat.Image{Hash: "pic"}}}},
			{ID: "m2", Role: chat.RoleAssistant, Provider: "p", Model: "m", Parts: []chat.Part{
				{Type: chat.PartThinking, Text: "let me see"}, chat.Text("looking"),
				{Type: chat.PartCall, Call: &chat.ToolCall{ID: "c1", Name: "read_file", Input: `{"path":"/a"}`}},
				{Type: chat.PartCall, Call: &chat.ToolCall{ID: "c2", Name: "run_command", Input: `{"command":"x"}`}}}},
			{ID: "m3", Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "c1", Text: "content", Duration: time.Second}},
			{ID: "m4", Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "c2", IsError: true, Failure: chat.FailRefused}},
			{ID: "m5", Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("The answer is")}, Stop: chat.StopOutputLimit},
			{ID: "m6", Role: chat.RoleUser, Kind: chat.KindHarness, Parts: []chat.Part{chat.Text("go on")}},
			{ID: "m7", Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text(" long.")}},
			{ID: "m8", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("again")}},
			{ID: "m9", Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("half")}, Interrupted: true},
		},
		Marks: []chat.CompactionMark{{ID: "k", Before: "m8", TokensBefore: 9, TokensAfter: 2, Summary: "what was"}},
	}
}

func TestHistoryBecomesRows(t *testing.T) {
	tr := New()
	tr.Reset(control.Snapshot{View: history()})
	want := `user "question"
picture pic
thinking words=3 open=false
p "looking"
tool read_file "/a" state=2
tool run_command "x" state=4
p "The answer is long."
footer "lookingThe answer is long."
line 2
user "again"
p "half"
line 3
footer "half"
`
	if got := show(tr.Rows()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestResetKeepsWhatDidNotChange(t *testing.T) {
	tr := New()
	tr.Reset(control.Snapshot{View: history()})
	before := append([]*Row(nil), tr.Rows()...)
	v := history()
	v.History = append(v.History, chat.Message{ID: "m10", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("more")}})
	change := tr.Reset(control.Snapshot{View: v})
	if want := len(before) - 1; change.From != want { // the footer is no longer the newest
		t.Errorf("change from %d, want %d", change.From, want)
	}
	if !reflect.DeepEqual(before[:change.From], tr.Rows()[:change.From]) {
		t.Error("rows before the change differ")
	}
}

func TestErrorsStayUntilTheUserWritesAgain(t *testing.T) {
	tr := New()
	tr.Reset(control.Snapshot{View: history()})
	run(tr, &chat.Done{Result: chat.Result{StopReason: chat.StopError, Error: chat.NewError(chat.ClassAuth, "err.key", "No key.")}})
	tr.Reset(control.Snapshot{View: history()})
	if got := show(tr.Rows()); !strings.HasSuffix(got, "line 6\n") {
		t.Errorf("the error is gone:\n%s", got)
	}
	if tr.Drained() {
		t.Error("the view would ask for the session for ever")
	}
	tr.AddUser("again", nil)
	tr.Reset(control.Snapshot{View: history()})
	if got := show(tr.Rows()); strings.Contains(got, "line 6\n") {
		t.Errorf("the error is still there:\n%s", got)
	}
}

func TestWhatTheUserSentIsShownOnceThroughout(t *testing.T) {
	tr := New()
	tr.AddUser("hello", nil)
	count := func(when string) {
		t.Helper()
		if got := strings.Count(show(tr.Rows()), "user \"hello\""); got != 1 {
			t.Errorf("%s it is shown %d times", when, got)
		}
	}
	view := control.SessionView{SessionInfo: control.SessionInfo{ID: "s"}}
	tr.Reset(control.Snapshot{View: view})
	count("before the owner has it")
	view.History = []chat.Message{{ID: "m", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("hello")}}}
	tr.Reset(control.Snapshot{View: view, Live: &control.Live{Run: "r1"}})
	count("while the run works")
	run(tr, delta("hi"), &chat.Done{})
	view.History = append(view.History, chat.Message{ID: "a", Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("hi")}})
	tr.Reset(control.Snapshot{View: view})
	count("at the end")
	tr.AddUser("not sent", nil)
	tr.TakeBack()
	if strings.Contains(show(tr.Rows()), "not sent") {
		t.Error("what was taken back is still shown")
	}
}

func TestFoldsOpenAndCloseInPlace(t *testing.T) {
	tr := New()
	tr.Reset(control.Snapshot{View: history()})
	closed := show(tr.Rows())
	tr.Toggle("c1")
	if got := show(tr.Rows()); !strings.Contains(got, "tool read_file \"/a\" state=2\noutput \"path: /a\"\noutput \"content\"\n") {
		t.Errorf("got\n%s", got)
	}
	tr.Toggle("c1")
	if got := show(tr.Rows()); got != closed {
		t.Errorf("folding back gave\n%s", got)
	}
	tr.Toggle("m2-thought-0")
	if got := show(tr.Rows()); !strings.Contains(got, "thinking words=3 open=true\np \"let me see\"\n") {
		t.Errorf("got\n%s", got)
	}
	tr.Toggle("mark-k")
	if got := show(tr.Rows()); !strings.Contains(got, "line 2\noutput \"what was\"\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestCallsOfTheRunAtWorkAreShownOnce(t *testing.T) {
	v := control.SessionView{SessionInfo: control.SessionInfo{ID: "s"}, History: []chat.Message{
		{ID: "u", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("q")}},
		{ID: "a", Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("look"), {Type: chat.PartCall, Call: &chat.ToolCall{ID: "c1", Name: "x", Input: "{}"}}}},
	}}
	start := chat.ToolStart{ID: "c1", Name: "x", Input: json.RawMessage(`{}`)}
	tr := New()
	tr.Reset(control.Snapshot{View: v, Live: &control.Live{Run: "r1", Seq: 3, Calls: []control.LiveCall{{Start: start}}, Question: &chat.Permission{ID: "c1"}}})
	const head = "user \"q\"\np \"look\"\n"
	if got, want := show(tr.Rows()), head+"tool x \"\" state=1\n"; got != want {
		t.Errorf("while it asks: got\n%swant\n%s", got, want)
	}
	run(tr, &chat.ToolEnd{ID: "c1", Result: "done"})
	if got := show(tr.Rows()); !strings.Contains(got, "state=2") || strings.Count(got, "tool x") != 1 {
		t.Errorf("after its end: got\n%s", got)
	}
	tr.Reset(control.Snapshot{View: v})
	if got := show(tr.Rows()); !strings.Contains(got, "state=5") {
		t.Errorf("without a run: got\n%s", got)
	}
}

func TestFoldsStayOpenWhileTheRunGoesOn(t *testing.T) {
	tr := New()
	run(tr, &chat.ToolStart{ID: "c1", Name: "x", Input: json.RawMessage(`{"a":"b"}`)})
	tr.Toggle("c1")
	run(tr, &chat.ToolProgress{ID: "c1", Message: "working"}, &chat.ToolEnd{ID: "c1", Result: "done"}, delta("text"))
	want := "tool x \"b\" state=2\noutput \"a: b\"\noutput \"done\"\np \"text\"\n"
	if got := show(tr.Rows()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestQuestionWaitsForItsAnswer(t *testing.T) {
	tr := New()
	run(tr, &chat.ToolStart{ID: "c1", Name: "x", Input: json.RawMessage(`{}`)}, &chat.Permission{ID: "c1", Detail: "rm x"})
	if q := tr.Question(); q == nil || q.Detail != "rm x" {
		t.Fatalf("question is %v", q)
	}
	tr.Answered("c1", control.No)
	if tr.Question() != nil {
		t.Error("the question is still there")
	}
	run(tr, &chat.ToolEnd{ID: "c1", IsError: true})
	if got, want := show(tr.Rows()), "tool x \"\" state=4\n"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestLastAnswerIsThatOfTheNewestTurn(t *testing.T) {
	tr := New()
	tr.Reset(control.Snapshot{View: history()})
	if got := tr.LastAnswer(); got != "half" {
		t.Errorf("got %q", got)
	}
	tr.AddUser("next", nil)
	if got := tr.LastAnswer(); got != "" {
		t.Errorf("before the next answer: %q", got)
	}
	run(tr, delta("a"), &chat.ToolStart{ID: "c", Input: json.RawMessage(`{}`)}, delta("b"))
	if got := tr.LastAnswer(); got != "a\n\nb" {
		t.Errorf("got %q", got)
	}
}

func TestGistSaysWhatMatters(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"ls -la\n  /tmp","timeout":3}`: "ls -la /tmp",
		`{"path":"/a/b","start":3}`:                "/a/b",
		`{"zebra":"z","count":2}`:                  "count: 2",
		`{}`:                                       "",
		`not json`:                                 "not json",
		`{"query":"` + strings.Repeat("字", 200) + `"}`: strings.Repeat("字", gistLength-1) + "…",
	} {
		if got := Gist(json.RawMessage(in)); got != want {
			t.Errorf("Gist(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestHighlightKeepsEveryCharacter(t *testing.T) {
	for _, lang := range []string{"go", "python", "sh", "json", "html", "no-such-language", ""} {
		code := "a = 'x' # c\n\n\tfunc f() { return 1 }\n"
		var b strings.Builder
		for i, line := range Highlight(lang, code) {
			if i > 0 {
				b.WriteByte('\n')
			}
			for _, tok := range line {
				b.WriteString(tok.Text)
			}
		}
		if b.String() != code {
			t.Errorf("%s: got %q", lang, b.String())
		}
	}
}

func BenchmarkPiece(b *testing.B) {
	for _, kb := range []int{2, 50, 200} {
		b.Run(fmt.Sprintf("%dkB", kb), func(b *testing.B) {
			tr := New()
			seq := int64(0)
			for n := 0; n < kb<<10; n += len(sample) {
				seq++
				tr.Apply(chat.Stamp(delta(sample), "r", seq))
			}
			piece := strings.Repeat("Ein Satz aus Worten. ", 16)[:333]
			b.ResetTimer()
			for b.Loop() {
				seq++
				tr.Apply(chat.Stamp(delta(piece), "r", seq))
				if seq%8 == 0 {
					tr.Apply(chat.Stamp(delta("\n\n"), "r", seq))
				}
			}
		})
	}
}
