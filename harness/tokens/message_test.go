package tokens

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/chat"
)

func TestEverythingThatIsSentIsCounted(t *testing.T) {
	e := ForModel("openai/gpt-4o")
	long := strings.Repeat("word and more ", 50)
	base := e.Message(&chat.Message{Role: chat.RoleUser, Parts: []chat.Part{chat.Text("hi")}})
	for name, c := range map[string]struct {
		part chat.Part
		more bool
	}{
		"text":                       {chat.Text(long), true},
		"call":                       {chat.Part{Type: chat.PartCall, Call: &chat.ToolCall{Name: "f", Input: long}}, true},
		"thinking that goes back":    {chat.Part{Type: chat.PartThinking, Text: long, Signature: "s"}, true},
		"thinking that does not":     {chat.Part{Type: chat.PartThinking, Text: long}, false},
		"encrypted thinking":         {chat.Part{Type: chat.PartThinking, Encrypted: long}, true},
		"image":                      {chat.Part{Type: chat.PartImage, Image: &chat.Image{Width: 512, Height: 512}}, true},
		"a call without its content": {chat.Part{Type: chat.PartCall}, false},
	} {
		n := e.Message(&chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("hi"), c.part}})
		if (n > base+50) != c.more {
			t.Errorf("%s: %d beside %d", name, n, base)
		}
	}
	r := &chat.Message{Role: chat.RoleTool, Result: &chat.ToolResult{Name: "f", Text: long, Images: []chat.Image{{Width: 512, Height: 512}}}}
	if n := e.Message(r); n < e.Text(long)+200 {
		t.Errorf("a result with an image is %d", n)
	}
}

func TestToolDefinitionsAreCountedWithTheirSchemas(t *testing.T) {
	e := ForModel("anthropic/claude-sonnet-4-6")
	if e.Tools(nil) != 0 {
		t.Error("no tools cost something")
	}
	def := chat.ToolDef{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
	one, two := e.Tools([]chat.ToolDef{def}), e.Tools([]chat.ToolDef{def, def})
	if two-one < e.Text(string(def.Schema)) {
		t.Errorf("one is %d, two are %d", one, two)
	}
}

// Sizes and figures as the vendors' documentation gives them.
func TestImagesCostWhatTheVendorsSay(t *testing.T) {
	for _, c := range []struct {
		model      string
		w, h, want int
	}{
		{"openai/gpt-4o", 1024, 1024, 765},
		{"openai/gpt-4o", 2048, 4096, 1105},
		{"openai/gpt-4o", 512, 512, 255},
		{"openai/gpt-4o-mini", 1024, 1024, 25501},
		{"openai/gpt-4.1-mini", 1024, 1024, 1659},
		{"openai/gpt-4.1-mini", 1800, 2400, 2353},
		{"anthropic/claude-sonnet-4-6", 200, 200, 54},
		{"anthropic/claude-sonnet-4-6", 1000, 1000, 1334},
		{"anthropic/claude-sonnet-4-6", 4000, 3000, 1600},
		{"gemini/gemini-2.5-pro", 384, 384, 258},
		{"gemini/gemini-2.5-pro", 960, 540, 6 * 258},
		{"ollama/gemma3", 3000, 2000, 258},
		{"qwen/qwen2.5-vl", 280, 280, 102},
	} {
		if got := ForModel(c.model).Image(c.w, c.h); got != c.want {
			t.Errorf("%s, %d × %d: %d, want %d", c.model, c.w, c.h, got, c.want)
		}
	}
	if n := ForModel("openai/gpt-4o").Image(0, 0); n < 500 {
		t.Errorf("an image of unknown size costs %d", n)
	}
	big := chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Type: chat.PartImage, Image: &chat.Image{Width: 512, Height: 512, Data: make([]byte, 8<<20)}}}}
	if n := ForModel("openai/gpt-4o").Message(&big); n > 300 {
		t.Errorf("8 MB of bytes made an image cost %d", n)
	}
}

func TestAHistoryIsCountedOnce(t *testing.T) {
	e := ForModel("openai/gpt-4o")
	msgs := []chat.Message{
		{Parts: []chat.Part{chat.Text("one two three")}, Tokens: 1000, TokensBy: e.Name()},
		{Parts: []chat.Part{chat.Text("one two three")}, Tokens: 1000, TokensBy: "other weights"},
	}
	want := 1000 + e.Message(&msgs[1])
	if got := e.History(msgs); got != want {
		t.Errorf("%d, want %d", got, want)
	}
}

func TestTheUsersOwnWeightsWin(t *testing.T) {
	t.Cleanup(func() { _ = LoadUser(t.TempDir()) })
	dir := t.TempDir()
	w := &Weights{Format: Format, Family: Default, Models: []string{"local/tiny"}, Flat: map[string]float64{"latin": 2}, HanSplit: 1}
	path, err := Save(dir, "local/tiny", w)
	if err != nil {
		t.Fatal(err)
	}
	if err := LoadUser(dir); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"local/tiny", "Local/Tiny", "tiny", "other/tiny"} {
		if n := ForModel(model).Text("abcd"); n != 8 {
			t.Errorf("%s: %d tokens, want 8", model, n)
		}
	}
	if ForModel("local/tiny2").Text("abcd") == 8 {
		t.Error("another model has them too")
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := LoadUser(dir); err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("a broken file gave %v", err)
	}
	if ForModel("local/tiny").Text("abcd") != 8 {
		t.Error("a broken file cost the others")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the weights' mode is %v, %v", info.Mode(), err)
	}
	if err := LoadUser(filepath.Join(dir, "missing")); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestWeightsOutOfRangeAreRefused(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON": "x", "another format": `{"format":99}`, "negative": `{"format":1,"flat":{"han":-1}}`,
		"a table cut short": `{"format":1,"text":"H4sIAAAAAAAA/w=="}`, "no base64": `{"format":1,"cjk":"***"}`, "too large": `{"format":1,"han_split":100}`,
	} {
		if _, err := parse([]byte(data)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestAnyBytesCanBeCounted(t *testing.T) {
	e := ForModel("x")
	for _, s := range []string{"", "\x00", "\xff\xfe", "\xe4\xbd", strings.Repeat(" ", 5000), strings.Repeat("-", 5000), "\U0010ffff", "ሀለሐ", "👩‍👩‍👧"} {
		if n := e.Text(s); n < 0 || s != "" && n > 4*len(s) {
			t.Errorf("%q: %d", s, n)
		}
	}
	if n := e.Text("አማርኛ ጽሑፍ"); n < 5 {
		t.Errorf("an unknown script is %d tokens", n)
	}
}

func FuzzText(f *testing.F) {
	f.Add("Hello 你好 \n\t 12345 ----- 🙂")
	e := ForFamily(Default)
	f.Fuzz(func(t *testing.T, s string) {
		if n := e.Text(s); n < 0 || n > 5*len(s)+1 {
			t.Errorf("%d tokens for %d bytes", n, len(s))
		}
	})
}

func BenchmarkText(b *testing.B) {
	for _, name := range []string{"english", "chinese", "go", "mixed", "russian"} {
		data, err := os.ReadFile("testdata/golden/" + name + ".txt")
		if err != nil {
			b.Fatal(err)
		}
		s := strings.Repeat(string(data), 1+200_000/len(data))
		e := ForFamily(O200k)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				e.Text(s)
			}
		})
	}
}

func BenchmarkHistory10000(b *testing.B) {
	e := ForFamily(O200k)
	msgs := make([]chat.Message, 10_000)
	for i := range msgs {
		msgs[i] = chat.Message{Role: chat.RoleUser, Parts: []chat.Part{chat.Text("Some words of a message.")}, Tokens: 9, TokensBy: e.Name()}
	}
	for b.Loop() {
		e.History(msgs)
	}
}
