package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"perch/chat"
	"perch/providers"
)

var allTools = []chat.ToolDef{
	{Name: "knowledge_search"}, {Name: "list_files"}, {Name: "memory"}, {Name: "read_clipboard"},
	{Name: "read_file"}, {Name: "run_command"}, {Name: "search_files"}, {Name: "take_screenshot"}, {Name: "web_fetch"}, {Name: "web_search"},
}

func ask(text string) providers.Request {
	return providers.Request{Model: Models()[0], Tools: allTools, Messages: []chat.Message{chat.UserText(text)}}
}

// withResult adds the call of an answer and its result to a request.
func withResult(req providers.Request, m chat.Message, r chat.ToolResult) providers.Request {
	c := *m.Calls()[0]
	c.ID = "c_1"
	r.CallID, r.Name = c.ID, c.Name
	req.Messages = append(slices.Clone(req.Messages),
		chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{{Type: chat.PartCall, Call: &c}}},
		chat.Message{Role: chat.RoleTool, Result: &r})
	return req
}

func complete(t *testing.T, req providers.Request) chat.Message {
	t.Helper()
	res, err := New().Complete(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Message
}

// say is the text of the answer.
func say(t *testing.T, req providers.Request) string {
	t.Helper()
	m := complete(t, req)
	return m.PlainText()
}

func TestStreamIsTheAnswerInSmallPieces(t *testing.T) {
	for _, text := range []string{"who are you?", "你是谁", "кто ты", "/help"} {
		var streamed strings.Builder
		ends, pieces := 0, 0
		var last chat.Message
		for ev, err := range New().Stream(context.Background(), ask(text)) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev.Type {
			case providers.StreamText:
				if n := utf8.RuneCountInString(ev.Text); n == 0 || n > pieceRunes || !utf8.ValidString(ev.Text) {
					t.Errorf("%s: a piece of %d runes: %q", text, n, ev.Text)
				}
				pieces++
				streamed.WriteString(ev.Text)
			case providers.StreamEnd:
				ends++
				last = ev.Response.Message
			}
		}
		if ends != 1 || pieces < 5 || last.PlainText() != streamed.String() {
			t.Errorf("%s: %d ends, %d pieces, text differs: %v", text, ends, pieces, last.PlainText() != streamed.String())
		}
		if last.Stop != chat.StopEnd || last.Usage == nil || *last.Usage != (chat.Usage{}) || last.Provider != ID || last.Model != Model {
			t.Errorf("%s: %+v", text, last)
		}
	}
}

func TestAbortEndsTheStreamBetweenPieces(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var failed error
	for _, err := range New().Stream(ctx, ask("/help")) {
		if err != nil {
			failed = err
			break
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if n != 3 || chat.ClassOf(failed) != chat.ClassAborted || !errors.Is(failed, context.Canceled) {
		t.Errorf("%d pieces, error %v", n, failed)
	}
	for range New().Stream(context.Background(), ask("/help")) {
		break // a consumer that stops ranging must do no harm
	}
	if err := New().ValidateAuth(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestSlashCommandsBecomeCalls(t *testing.T) {
	for _, c := range []struct{ text, tool, input string }{
		{"/clip", "read_clipboard", `{}`},
		{"/CLIP", "read_clipboard", `{}`},
		{"  /shot  ", "take_screenshot", `{}`},
		{"/run ls -la \"a b\"", "run_command", `{"command":"ls -la \"a b\""}`},
		{"/run\nprintf 'a\nb'", "run_command", `{"command":"printf 'a\nb'"}`},
		{"/find notice period", "knowledge_search", `{"query":"notice period"}`},
		{"/remember I like tea", "memory", `{"action":"add","part":"notes","text":"I like tea"}`},
		{"/read notes.md", "read_file", `{"path":"notes.md"}`},
		{"/list", "list_files", `{}`},
		{"/fetch https://example.org", "web_fetch", `{"url":"https://example.org"}`},
		{"/search func main(", "search_files", `{"literal":true,"pattern":"func main("}`},
		{"/web perch", "web_search", `{"query":"perch"}`},
	} {
		m := complete(t, ask(c.text))
		calls := m.Calls()
		if m.Stop != chat.StopTools || len(calls) != 1 || calls[0].Name != c.tool || calls[0].ID != "" || calls[0].VendorID == "" {
			t.Errorf("%q: %+v", c.text, m)
			continue
		}
		var got, want map[string]any
		if json.Unmarshal([]byte(calls[0].Input), &got) != nil || json.Unmarshal([]byte(strings.ReplaceAll(c.input, "\n", `\n`)), &want) != nil || !maps.Equal(got, want) {
			t.Errorf("%q: input %s, want %s", c.text, calls[0].Input, c.input)
		}
	}
	for text, want := range map[string]string{
		"/run":      "needs something after it",
		"/frob x":   "do not know the command",
		"/":         "What works without a model",
		"/help":     "What works without a model",
		"/help key": "Connect a model",
	} {
		if m := complete(t, ask(text)); m.HasCalls() || !strings.Contains(m.PlainText(), want) {
			t.Errorf("%q: %q", text, m.PlainText())
		}
	}
	req := ask("/shot")
	req.Tools = nil
	if m := complete(t, req); m.HasCalls() || !strings.Contains(m.PlainText(), "not available") {
		t.Errorf("a tool that is not offered: %q", m.PlainText())
	}
}

func TestSlashCommandsAskForDesktopThings(t *testing.T) {
	for text, want := range map[string]string{
		"/clip": "clipboard.read", " /Clip please": "clipboard.read", "/shot": "screenshot",
		"/run ls": "", "what does /clip do": "", "/clipboard": "", "": "", "/": "", "clip": "",
	} {
		if got := strings.Join(Asked(text), ","); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestResultsAreReported(t *testing.T) {
	for _, c := range []struct {
		name, text string
		result     chat.ToolResult
		want       []string
		not        []string
	}{
		{"clipboard text", "/clip", chat.ToolResult{Text: "<outside source=\"clipboard\">\nhello ``` world\n</outside>"},
			[]string{"clipboard holds this text", "hello ``` world", "````"}, []string{"<outside"}},
		{"clipboard image", "/clip", chat.ToolResult{Text: "The clipboard holds an image (3 bytes of PNG).", Images: []chat.Image{{MIME: "image/png"}}},
			[]string{"holds an image; it is shown above"}, nil},
		{"empty clipboard", "/clip", chat.ToolResult{Text: "The clipboard is empty."}, []string{"is empty"}, nil},
		{"command", "/run echo hi", chat.ToolResult{Text: "hi\n"}, []string{"`echo hi`", "```\nhi\n```"}, nil},
		{"failed", "/shot", chat.ToolResult{Text: "no display", IsError: true, Failure: chat.FailTool}, []string{"failed", "> no display"}, nil},
		{"refused", "/run rm x", chat.ToolResult{Text: "The user said no.", IsError: true, Failure: chat.FailRefused}, []string{"was not allowed"}, nil},
		{"remembered", "/remember x", chat.ToolResult{Text: "1 of 3000 characters used."}, []string{"Noted."}, nil},
		{"nothing found", "/find x", chat.ToolResult{Text: "No passage matches."}, []string{"found nothing"}, []string{"language model"}},
		{"huge output", "/run yes", chat.ToolResult{Text: strings.Repeat("ж", 100_000)}, []string{"[… "}, nil},
	} {
		req := ask(c.text)
		got := complete(t, withResult(req, complete(t, req), c.result))
		if got.HasCalls() || !utf8.ValidString(got.PlainText()) || len(got.PlainText()) > 3*maxShown {
			t.Errorf("%s: %d bytes, calls %v", c.name, len(got.PlainText()), got.HasCalls())
		}
		for _, w := range c.want {
			if !strings.Contains(got.PlainText(), w) {
				t.Errorf("%s: %q misses %q", c.name, got.PlainText(), w)
			}
		}
		for _, w := range c.not {
			if strings.Contains(got.PlainText(), w) {
				t.Errorf("%s: %q has %q", c.name, got.PlainText(), w)
			}
		}
	}
}

func TestQuestionsAreLookedUpAndQuoted(t *testing.T) {
	req := ask("When does the lease of the workshop end?")
	m := complete(t, req)
	if len(m.Calls()) != 1 || m.Calls()[0].Name != "knowledge_search" || !strings.Contains(m.Calls()[0].Input, "lease") {
		t.Fatalf("%+v", m)
	}
	r := chat.ToolResult{
		Text: "1 …\n<outside source=\"lease.md:3-5\">\nThe lease ends on 31 May.\nNotice: 3 months.\n</outside>\n",
		Sources: []chat.Source{
			{Title: "Lease *2024*", Path: "/home/u/lease.md", StartLine: 3, EndLine: 5},
		},
	}
	got := say(t, withResult(req, m, r))
	for _, w := range []string{"> The lease ends on 31 May.\n> Notice: 3 months.", "**Lease 2024**, lines 3–5 (`/home/u/lease.md`)", "no conclusions"} {
		if !strings.Contains(got, w) {
			t.Errorf("%q misses %q", got, w)
		}
	}
	got = say(t, withResult(req, m, chat.ToolResult{Text: "Nothing matches."}))
	if !strings.Contains(got, "found nothing") || !strings.Contains(got, "not a language model") || !strings.Contains(got, "perch auth login") {
		t.Errorf("nothing found: %q", got)
	}
	req.Tools = nil
	if got := say(t, req); !strings.Contains(got, "not a language model") {
		t.Errorf("without a search: %q", got)
	}
}

func TestHelpAnswersInTheQuestionsLanguage(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"How do I change the hotkey in Perch?", "**The hotkey**"},
		{"hotkey?", "**The hotkey**"},
		{"how can I connect a model?", "**Connect a model**"},
		{"What is Perch?", "**What Perch is**"},
		{"hello", "**What Perch is**"},
		{"Wie ändere ich das Tastenkürzel von Perch?", "**Das Tastenkürzel**"},
		{"Wie kann ich ein Modell verbinden?", "**Ein Modell verbinden**"},
		{"Как подключить модель?", "**Как подключить модель**"},
		{"Привет", "**Что такое Perch**"},
		{"как сделать снимок экрана?", "**Буфер обмена и снимки экрана**"},
		{"怎么连接模型？", "**连接模型**"},
		{"你好", "**Perch 是什么**"},
		{"如何修改快捷键？", "**快捷键**"},
		{"does perch send telemetry data?", "**Privacy**"},
		{"", "**What works without a model**"},
		{" \n\t", "**What works without a model**"},
	} {
		if got := say(t, ask(c.text)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %.60q", c.text, got)
		}
	}
	for _, text := range []string{"Which data did we collect in the 2019 survey of the lake?", "Wann endet der Mietvertrag der Werkstatt?", "什么时候合同到期？"} {
		if m := complete(t, ask(text)); !m.HasCalls() {
			t.Errorf("%q was not looked up: %.60q", text, m.PlainText())
		}
	}
}

func TestEveryLanguageHasEveryWordAndTopic(t *testing.T) {
	for _, l := range languages {
		for name := range words[english] {
			if words[l][name] == "" {
				t.Errorf("%s has no %q", l, name)
			}
			for _, arg := range []string{"{0}", "{1}", "{2}", "{3}"} {
				if strings.Contains(words[english][name], arg) != strings.Contains(words[l][name], arg) {
					t.Errorf("%s: %q and the English one differ in %s", l, name, arg)
				}
			}
		}
		if len(words[l]) != len(words[english]) {
			t.Errorf("%s has %d words, English %d", l, len(words[l]), len(words[english]))
		}
		for i, topic := range help[english] {
			if i >= len(help[l]) || help[l][i].name != topic.name || help[l][i].body == "" || len(help[l][i].keywords) < 3 {
				t.Errorf("%s: topic %d is not %q", l, i, topic.name)
			}
		}
	}
}

func TestImagesAreNotSeenAndThatIsSaid(t *testing.T) {
	img := chat.Part{Type: chat.PartImage, Image: &chat.Image{MIME: "image/png", Data: []byte("x")}}
	req := ask("")
	req.Messages[0].Parts = []chat.Part{img}
	if got := say(t, req); !strings.Contains(got, "cannot see images") || !strings.Contains(got, "perch auth login") {
		t.Errorf("%q", got)
	}
	req.Messages[0].Parts = []chat.Part{chat.Text("2+2"), img}
	if got := say(t, req); !strings.Contains(got, "cannot see images") || !strings.Contains(got, "**4**") {
		t.Errorf("%q", got)
	}
}

func TestAttachedFilesAreShown(t *testing.T) {
	for _, text := range []string{"what is in here?", ""} {
		m := complete(t, ask(text+"\n\n"+attachedMark+"\n- /home/u/a b.txt\n- /home/u/c.md\n- 3\n- 4"))
		var got []string
		for _, c := range m.Calls() {
			got = append(got, c.Name+" "+c.Input)
		}
		if want := `read_file {"path":"/home/u/a b.txt"} read_file {"path":"/home/u/c.md"} read_file {"path":"3"}`; strings.Join(got, " ") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	req := ask("2+2\n\n" + attachedMark + "\n- a")
	if got := say(t, req); !strings.Contains(got, "**4**") {
		t.Errorf("%q", got)
	}
}

func TestNewestQuestionCountsAndHarnessWordsDoNot(t *testing.T) {
	req := ask("1+1")
	req.Messages = append(req.Messages,
		chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("2")}},
		chat.UserText("2+3"),
		chat.Message{Role: chat.RoleUser, Kind: chat.KindHarness, Parts: []chat.Part{chat.Text("Go on.")}})
	if got := say(t, req); !strings.Contains(got, "**5**") {
		t.Errorf("%q", got)
	}
}

func TestHistoryOfAnotherModelIsContinued(t *testing.T) {
	req := ask("look at the weather")
	req = withResult(req, chat.Message{Parts: []chat.Part{{Type: chat.PartCall, Call: &chat.ToolCall{Name: "weather__now", Input: "{}"}}}},
		chat.ToolResult{Text: "sunny"})
	if got := say(t, req); !strings.Contains(got, "`weather__now` returned") || !strings.Contains(got, "sunny") {
		t.Errorf("%q", got)
	}
}

func TestAnswersFitTheOutputLimit(t *testing.T) {
	for _, limit := range []int{1, 20, 100, 1000} {
		for _, text := range []string{"/help", "/help 模型", "Как подключить модель?"} {
			req := ask(text)
			req.MaxOutput = limit
			m := complete(t, req)
			if len(m.PlainText()) > max(limit*bytesPerToken, utf8.UTFMax) || m.PlainText() == "" || !utf8.ValidString(m.PlainText()) {
				t.Errorf("limit %d: %d bytes", limit, len(m.PlainText()))
			}
		}
	}
}

func TestSameRequestSameAnswer(t *testing.T) {
	for _, text := range []string{"/help", "what is perch", "5 km in mi", "/find x"} {
		a, _ := json.Marshal(complete(t, ask(text)))
		b, _ := json.Marshal(complete(t, ask(text)))
		if string(a) != string(b) {
			t.Errorf("%q: two answers differ", text)
		}
	}
}

func TestSummaryIsAnExtract(t *testing.T) {
	text := "Summary of what came before:\n\nExtract:\n- The user said: first things\n\nThe conversation to summarise:\n" +
		"\n## User\nShow me the lease\n\n## Assistant\n[calls knowledge_search {\"query\":\"lease\"}]\n\n[result of knowledge_search]\nlong text\n" +
		"\n[error of run_command]\nexit 1\n\nNow write the summary."
	req := providers.Request{Model: Models()[0], MaxOutput: 500, Messages: []chat.Message{chat.UserText(text)}}
	got := say(t, req)
	for _, w := range []string{"first things", "Show me the lease", "knowledge_search", "Failed: error of run_command"} {
		if !strings.Contains(got, w) {
			t.Errorf("%q misses %q", got, w)
		}
	}
	req.MaxOutput = 60
	if got := say(t, req); len(got) > 60*bytesPerToken || !strings.Contains(got, "run_command") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestNastyQuestionsGetAnAnswer(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("word ", 300_000), "\x00", "\xff\xfe", "</outside>", "/etc/hosts", "//", "/ run", "\u202e/run rm",
		strings.Repeat("(", 100_000), "🐟", "{\"role\":\"system\"}", "/run " + strings.Repeat("x", 100_000), "**", "`", "<|im_start|>",
	} {
		m := complete(t, ask(text))
		if m.PlainText() == "" && !m.HasCalls() {
			t.Errorf("%.20q got nothing", text)
		}
		for _, c := range m.Calls() {
			if _, ok := c.ValidInput(); !ok {
				t.Errorf("%.20q: input is no JSON", text)
			}
		}
	}
	if say(t, providers.Request{}) == "" {
		t.Error("an empty request got nothing")
	}
}
