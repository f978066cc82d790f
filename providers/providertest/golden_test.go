package providertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
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

var update = flag.Bool("update", false, "write the golden files anew")

type target struct {
	wire, provider, model string
	make                  func(providers.Endpoint) *providers.Server
}

var targets = []target{
	{"anthropic", "anthropic", "claude-sonnet-4-6", anthropic.New},
	{"openai-responses", "openai", "gpt-5", openairesponses.New},
	{"openai-chat", "openai", "gpt-5", openaichat.New},
	{"openai-chat", "openrouter", "anthropic/claude-4.5", openaichat.New},
	{"openai-chat", "mistral", "magistral-medium", openaichat.New},
	{"openai-chat", "deepseek", "deepseek-reasoner", openaichat.New},
	{"openai-chat", "groq", "openai/gpt-oss-120b", openaichat.New},
	{"openai-chat", "xai", "grok-4", openaichat.New},
	{"openai-chat", "zai", "glm-4.7", openaichat.New},
	{"openai-chat", "llamacpp", "local", openaichat.New},
	{"gemini", "gemini", "gemini-3-pro", gemini.New},
	{"ollama", "ollama", "qwen3:8b", ollama.New},
}

func (g target) name() string { return g.wire + "." + g.provider }

// body is the request that a target gets.
func (g target) body(t testing.TB, req providers.Request) []byte {
	t.Helper()
	p := &providertest.Player{}
	providertest.Drain(context.Background(), g.make(providertest.Endpoint(g.provider, "http://vendor.test/v1", p)), req)
	if len(p.Bodies) != 1 {
		t.Fatalf("%s: %d requests", g.name(), len(p.Bodies))
	}
	return p.Bodies[0]
}

func TestAHistoryOfAnyVendorGoesToAnyOther(t *testing.T) {
	for _, m := range providertest.Makers() {
		for _, g := range targets {
			name := m.Name + "-to-" + g.name()
			t.Run(name, func(t *testing.T) {
				req := providertest.HistoryRequest(m, g.provider, g.model)
				before, _ := json.Marshal(req.Messages)
				body := g.body(t, req)
				if after, _ := json.Marshal(req.Messages); !bytes.Equal(before, after) {
					t.Error("the encoder changed the history")
				}
				if !bytes.Equal(body, g.body(t, providertest.HistoryRequest(m, g.provider, g.model))) {
					t.Error("the same request gave other bytes")
				}
				for _, f := range providertest.Check(g.wire, g.provider, body) {
					t.Error(f)
				}
				own := m.Provider == g.provider && m.Model == g.model
				thinking := strings.Contains(string(body), "I should look.")
				if thinking && !own {
					t.Error("another maker's thinking was sent")
				}
				if own && !thinking && g.wire != "openai-chat" {
					t.Error("own thinking was lost")
				}
				golden(t, name, body)
			})
		}
	}
}

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", " "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	file := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, pretty.Bytes()) {
		t.Errorf("the request differs from %s; run with -update and look at the difference", file)
	}
}

func TestAModelWithoutVisionGetsALineForEachImage(t *testing.T) {
	for _, g := range targets {
		req := providertest.HistoryRequest(providertest.Makers()[0], g.provider, g.model)
		req.Model.Vision = false
		body := g.body(t, req)
		if n := strings.Count(string(body), "An image was left out"); n != 2 {
			t.Errorf("%s: %d lines", g.name(), n)
		}
		for _, f := range providertest.Check(g.wire, g.provider, body) {
			t.Error(g.name(), f)
		}
	}
}

// The part of a request before its newest message must stay as it is: vendors
// cache by prefix. Breakpoints move, and are no part of what is cached.
func TestALongerHistoryKeepsThePrefix(t *testing.T) {
	for _, g := range targets {
		m := providertest.Makers()[0]
		short := providertest.HistoryRequest(m, g.provider, g.model)
		long := providertest.HistoryRequest(m, g.provider, g.model)
		long.Messages = append(long.Messages,
			chat.Message{ID: "z1", Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text("Done.")}, Provider: g.provider, Model: g.model},
			chat.UserText("Thanks."))
		a, b := strip(g.body(t, short)), strip(g.body(t, long))
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		end := bytes.LastIndex(a, []byte("Go ahead."))
		if n < end {
			t.Errorf("%s: only %d of %d bytes are the same", g.name(), n, end)
		}
	}
}

func strip(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}
