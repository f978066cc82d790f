package providertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/anthropic"
	"perch/providers/gemini"
	"perch/providers/ollama"
	"perch/providers/openaichat"
	"perch/providers/openairesponses"
	"perch/providers/providertest"
)

type expected struct {
	API      string `json:"api"`
	Expected struct {
		Text      string  `json:"text"`
		Reasoning string  `json:"reasoning"`
		Refusal   string  `json:"refusal"`
		Stop      *string `json:"stop"`
		Calls     []struct {
			Args string `json:"args"`
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"tool_calls"`
		Usage    map[string]any  `json:"usage"`
		Error    json.RawMessage `json:"error"`
		Feedback struct {
			Block string `json:"blockReason"`
		} `json:"promptFeedback"`
		SigLens   []int `json:"thinking_signature_chars"`
		Thought   int   `json:"thought_signature_chars"`
		Encrypted int   `json:"reasoning_encrypted_chars"`
	} `json:"expected"`
}

var makers = map[string]func(providers.Endpoint) *providers.Server{
	"anthropic": anthropic.New, "chat": openaichat.New, "responses": openairesponses.New, "gemini": gemini.New, "ollama": ollama.New,
}

func codec(api, vendor string, p *providertest.Player) providers.Provider {
	make, ok := makers[api]
	if !ok {
		return nil
	}
	return make(providertest.Endpoint(vendor, "http://vendor.test/v1", p))
}

var stops = map[string]chat.StopReason{
	"end_turn": chat.StopEnd, "tool_use": chat.StopTools, "max_tokens": chat.StopOutputLimit,
	"stop": chat.StopEnd, "tool_calls": chat.StopTools, "length": chat.StopOutputLimit, "completed": chat.StopEnd,
	"STOP": chat.StopEnd, "SAFETY": chat.StopContentFilter, "RECITATION": chat.StopContentFilter, "FAKE_ENUM": chat.StopUnknown,
	"MAX_TOKENS": chat.StopOutputLimit, "incomplete": chat.StopOutputLimit, "content_filter": chat.StopContentFilter,
	"refusal": chat.StopRefusal,
}

func recordings(t testing.TB) (dir string, files []string) {
	dir = providertest.Shared(t, "wire")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.sse"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	return dir, files
}

func load(t testing.TB, file string) (body []byte, want expected) {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(strings.TrimSuffix(file, ".sse") + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	return body, want
}

func TestEveryRecordedStreamDecodesToWhatItSays(t *testing.T) {
	dir, files := recordings(t)
	for _, file := range files {
		name, _ := filepath.Rel(dir, file)
		t.Run(name, func(t *testing.T) {
			body, want := load(t, file)
			sizes := []func() int{nil, func() int { return 1 }, providertest.RandomPieces(1, 7), providertest.RandomPieces(2, 300)}
			for _, size := range sizes {
				p := codec(want.API, filepath.Dir(name), &providertest.Player{Body: body, Piece: size})
				if p == nil {
					t.Skipf("no wire %s", want.API)
				}
				check(t, want, providertest.Drain(context.Background(), p, providertest.Request(filepath.Dir(name), "m")))
			}
		})
	}
}

func check(t *testing.T, want expected, got providertest.Streamed) {
	t.Helper()
	e := want.Expected
	if len(e.Error) > 0 {
		if got.Err == nil || got.Response != nil {
			t.Fatalf("an error in the stream gave %+v", got)
		}
		if chat.ClassOf(got.Err) != chat.ClassOverflow {
			t.Errorf("class %s of %v", chat.ClassOf(got.Err), got.Err)
		}
		if got.Thinking != e.Reasoning || got.Text != e.Text {
			t.Errorf("streamed %q %q", got.Text, got.Thinking)
		}
		return
	}
	if e.Stop == nil && e.Feedback.Block == "" {
		if chat.ClassOf(got.Err) != chat.ClassTransient {
			t.Errorf("a stream without an end gave %+v", got)
		}
		return
	}
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	m := got.Response.Message
	var text, thinking, sigs, enc strings.Builder
	lens := []int{}
	for _, p := range m.Parts {
		sigs.WriteString(p.Signature)
		switch p.Type {
		case chat.PartText:
			text.WriteString(p.Text)
		case chat.PartThinking:
			thinking.WriteString(p.Text)
			enc.WriteString(p.Encrypted)
			lens = append(lens, len(p.Signature))
		}
	}
	if e.Refusal != "" {
		e.Text += e.Refusal
	}
	if text.String() != e.Text || thinking.String() != e.Reasoning {
		t.Errorf("text %q\nwant %q\nthinking %q\nwant %q", text.String(), e.Text, thinking.String(), e.Reasoning)
	}
	if want.API != "anthropic" && (got.Text != e.Text || got.Thinking != e.Reasoning) {
		t.Errorf("streamed %q %q", got.Text, got.Thinking)
	}
	calls := m.Calls()
	if len(calls) != len(e.Calls) {
		t.Fatalf("%d calls, want %d", len(calls), len(e.Calls))
	}
	for i, c := range calls {
		if c.Name != e.Calls[i].Name || c.VendorID != e.Calls[i].ID || !sameJSON(c.Input, e.Calls[i].Args) {
			t.Errorf("call %+v, want %+v", c, e.Calls[i])
		}
	}
	if len(e.SigLens) > 0 {
		for i, n := range e.SigLens {
			if i >= len(lens) || lens[i] != n {
				t.Errorf("signatures %v, want %v", lens, e.SigLens)
			}
		}
	}
	if want.API == "gemini" && sigs.Len() != e.Thought {
		t.Errorf("signatures of %d characters, want %d", sigs.Len(), e.Thought)
	}
	if enc.Len() != e.Encrypted {
		t.Errorf("encrypted %d, want %d", enc.Len(), e.Encrypted)
	}
	wantStop := chat.StopContentFilter
	if e.Stop != nil {
		wantStop = stops[*e.Stop]
	}
	if e.Refusal != "" {
		wantStop = chat.StopRefusal
	}
	if wantStop == chat.StopEnd && len(calls) > 0 {
		wantStop = chat.StopTools
	}
	if m.Stop != wantStop {
		t.Errorf("stop %s, want %s", m.Stop, wantStop)
	}
	usage(t, want, *m.Usage)
}

func num(m map[string]any, path ...string) int {
	for i, k := range path {
		if i == len(path)-1 {
			f, _ := m[k].(float64)
			return int(f)
		}
		m, _ = m[k].(map[string]any)
	}
	return 0
}

func usage(t *testing.T, want expected, got chat.Usage) {
	t.Helper()
	u := want.Expected.Usage
	if u == nil {
		return
	}
	var in, out int
	switch want.API {
	case "anthropic":
		in = num(u, "input_tokens") + num(u, "cache_read_input_tokens") + num(u, "cache_creation_input_tokens")
		out = num(u, "output_tokens")
	case "chat":
		in, out = num(u, "prompt_tokens"), num(u, "completion_tokens")
		if total := num(u, "total_tokens"); total == in+out+num(u, "completion_tokens_details", "reasoning_tokens") {
			out = total - in
		}
		if c := max(num(u, "prompt_tokens_details", "cached_tokens"), num(u, "prompt_cache_hit_tokens")); got.CacheRead != c {
			t.Errorf("cached %d, want %d", got.CacheRead, c)
		}
	case "responses":
		in, out = num(u, "input_tokens"), num(u, "output_tokens")
		if c := num(u, "input_tokens_details", "cached_tokens"); got.CacheRead != c {
			t.Errorf("cached %d, want %d", got.CacheRead, c)
		}
	case "gemini":
		in, out = num(u, "promptTokenCount")+num(u, "toolUsePromptTokenCount"), num(u, "candidatesTokenCount")+num(u, "thoughtsTokenCount")
	case "ollama":
		in, out = num(u, "prompt_eval_count"), num(u, "eval_count")
	}
	if got.TotalInput() != in || got.Output != out {
		t.Errorf("usage %+v, want %d in and %d out", got, in, out)
	}
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// events splits a recording after each event.
func events(api string, body []byte) []int {
	sep := []byte("\n\n")
	if api == "ollama" {
		sep = []byte("\n")
	} else if bytes.Contains(body, []byte("\r\n\r\n")) {
		sep = []byte("\r\n\r\n")
	}
	var cuts []int
	for at := 0; ; {
		i := bytes.Index(body[at:], sep)
		if i < 0 {
			return cuts
		}
		at += i + len(sep)
		cuts = append(cuts, at)
	}
}

// closing finds the event that ends a recording: the last with content for the
// decoder, and for Gemini the first with a reason.
func closing(api string, body []byte, cuts []int) int {
	from := 0
	for i, c := range cuts {
		ev := string(body[from:c])
		from = c
		switch api {
		case "anthropic":
			if strings.Contains(ev, `"message_stop"`) {
				return i
			}
		case "chat":
			if strings.Contains(ev, "[DONE]") {
				return i
			}
		case "responses":
			if strings.Contains(ev, `"response.completed"`) || strings.Contains(ev, `"response.incomplete"`) {
				return i
			}
		case "gemini":
			if strings.Contains(ev, `"finishReason"`) || strings.Contains(ev, `"blockReason"`) {
				return i
			}
		case "ollama":
			if strings.Contains(strings.ReplaceAll(ev, " ", ""), `"done":true`) {
				return i
			}
		}
	}
	return len(cuts)
}

func TestAStreamCutAtAnyEventIsAnInterruptedConnection(t *testing.T) {
	dir, files := recordings(t)
	for _, file := range files {
		name, _ := filepath.Rel(dir, file)
		t.Run(name, func(t *testing.T) {
			body, want := load(t, file)
			cuts := events(want.API, body)
			last := closing(want.API, body, cuts)
			for i := 0; i < last; i++ {
				for _, cut := range []int{cuts[i], cuts[i] - 1, max(0, cuts[i]-7)} {
					p := codec(want.API, filepath.Dir(name), &providertest.Player{Body: body[:cut]})
					if p == nil {
						t.Skipf("no wire %s", want.API)
					}
					got := providertest.Drain(context.Background(), p, providertest.Request(filepath.Dir(name), "m"))
					if got.Response != nil {
						t.Fatalf("cut at event %d of %d gave an answer", i, len(cuts))
					}
					if c := chat.ClassOf(got.Err); c != chat.ClassTransient && !(len(want.Expected.Error) > 0 && c == chat.ClassOverflow) {
						t.Fatalf("cut at event %d: %v (%s)", i, got.Err, c)
					}
				}
			}
		})
	}
}
