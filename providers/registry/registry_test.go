package registry

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"perch/chat"
	"perch/config"
	"perch/providers"
	"perch/providers/providertest"
)

// nowhere is a network on which nothing answers.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("connection refused")
}

func made(t *testing.T, cfg config.Config, env map[string]string, rt http.RoundTripper) *Registry {
	t.Helper()
	if rt == nil {
		rt = nowhere{}
	}
	r, err := New(Options{
		Config: func() config.Config { return cfg }, HTTPClient: &http.Client{Transport: rt},
		Getenv: func(n string) string { return env[n] },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNamesFindTheirProvider(t *testing.T) {
	yes := true
	cfg := config.Default()
	cfg.Providers = map[string]config.Provider{
		"local": {Wire: "openai-chat", BaseURL: "http://127.0.0.1:9/v1", Models: []config.Model{{ID: "tiny", ContextWindow: 8192, MaxOutput: 1024, Vision: &yes}}},
	}
	r := made(t, cfg, map[string]string{"GROQ_API_KEY": "k"}, nil)
	for name, want := range map[string]string{
		"anthropic/claude-sonnet-4-6":      "anthropic/claude-sonnet-4-6",
		"openrouter/meta-llama/llama-3:x":  "openrouter/meta-llama/llama-3:x",
		"claude-sonnet-4-6":                "anthropic/claude-sonnet-4-6",
		"gpt-5":                            "openai/gpt-5",
		"o3":                               "openai/o3",
		"gemini-2.5-pro":                   "gemini/gemini-2.5-pro",
		"kimi-k3":                          "moonshot/kimi-k3",
		"tiny":                             "local/tiny",
		"local/unheard-of":                 "local/unheard-of",
		"local":                            "local/tiny",
		"anthropic":                        "anthropic/claude-sonnet-4-6",
		"moonshotai/kimi-k2-instruct-0905": "groq/moonshotai/kimi-k2-instruct-0905", // the slash is the model's
		"  gpt-5 ":                         "openai/gpt-5",
	} {
		p, m, err := r.Resolve(context.Background(), name)
		if err != nil || m.String() != want || p.ID() != m.Provider {
			t.Errorf("%q: %s %v, want %s", name, m, err, want)
		}
	}
}

func TestAWrongNameGetsTheNearestCandidates(t *testing.T) {
	r := made(t, config.Default(), map[string]string{"ANTHROPIC_API_KEY": "k"}, nil)
	for name, near := range map[string]string{"antropic/claude-x": "anthropic", "opnai/gpt-5": "openai", "devstrall": "devstral"} {
		_, _, err := r.Resolve(context.Background(), name)
		if chat.ClassOf(err) != chat.ClassUnknownModel || !strings.Contains(err.Error(), near) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFactsComeFromTheSettingsThenTheCatalogueThenDefaults(t *testing.T) {
	no, price := false, 7.5
	cfg := config.Default()
	cfg.Providers = map[string]config.Provider{
		"anthropic": {Models: []config.Model{{ID: "claude-sonnet-4-6", ContextWindow: 1234, Vision: &no, CostIn: &price}}},
		"local":     {BaseURL: "http://10.1.2.3/v1"},
	}
	r := made(t, cfg, nil, nil)
	_, m, err := r.Resolve(context.Background(), "anthropic/claude-sonnet-4-6")
	if err != nil || m.ContextWindow != 1234 || m.Vision || m.CostIn != 7.5 || !m.Reasoning || m.CostOut <= 0 || !m.Known {
		t.Errorf("%+v %v", m, err)
	}
	if m.CostCacheRead >= m.CostOut || m.CostCacheRead <= 0 || m.CostCacheWrite <= m.CostCacheRead {
		t.Errorf("prices of the cache: %+v", m)
	}
	_, m, err = r.Resolve(context.Background(), "local/anything/at:all")
	if err != nil || m.ContextWindow != providers.UnknownContextWindow || m.MaxOutput != providers.UnknownMaxOutput || !m.Tools || m.Vision || m.Known || !m.Local {
		t.Errorf("%+v %v", m, err)
	}
	if _, m, _ := r.Resolve(context.Background(), "openai/gpt-5-2025-08-07"); !m.Known || m.ContextWindow < 100_000 {
		t.Errorf("a name with a date is not known: %+v", m)
	}
}

func TestServersAreAskedForTheirWindow(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"qwen3:8b"}]}`)
		case "/api/show":
			fmt.Fprint(w, `{"capabilities":["completion","tools","thinking"],"model_info":{"qwen3.context_length":40960,"general.x":"y"}}`)
		case "/vllm/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"llama","max_model_len":16384}]}`)
		case "/cpp/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"gemma","meta":{"n_ctx_train":131072}}]}`)
		case "/cpp/props":
			fmt.Fprint(w, `{"default_generation_settings":{"n_ctx":4096},"modalities":{"vision":true}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer srv.Close()
	cfg := config.Default()
	cfg.Providers = map[string]config.Provider{
		"ollama": {BaseURL: srv.URL}, "vllm": {BaseURL: srv.URL + "/vllm/v1"}, "llamacpp": {BaseURL: srv.URL + "/cpp/v1"},
	}
	r := made(t, cfg, nil, srv.Client().Transport)
	for name, window := range map[string]int{"ollama/qwen3:8b": ollamaWindow, "vllm/llama": 16384, "llamacpp/gemma": 4096} {
		_, m, err := r.Resolve(context.Background(), name)
		if err != nil || m.ContextWindow != window || !m.Known {
			t.Errorf("%s: %+v %v", name, m, err)
		}
	}
	if _, m, _ := r.Resolve(context.Background(), "ollama/qwen3:8b"); !m.Tools || !m.Reasoning || m.Vision {
		t.Errorf("%+v", m)
	}
	found := map[string]bool{}
	for _, m := range r.Models(context.Background()) {
		found[m.String()] = m.Ready
	}
	if !found["ollama/qwen3:8b"] || !found["vllm/llama"] || found["anthropic/claude-sonnet-4-6"] {
		t.Error("the list of models")
	}
	servers := 0
	for _, f := range r.Discover(context.Background()) {
		if f.Kind == "server" {
			servers++
		}
	}
	if servers != 3 {
		t.Errorf("%d servers", servers)
	}
	// Nothing is configured: the first local server is taken.
	if _, m, err := r.Resolve(context.Background(), ""); err != nil || m.String() != "ollama/qwen3:8b" {
		t.Error(m, err)
	}
}

func TestOpenRoutersListHasPricesAndModalities(t *testing.T) {
	p := &providertest.Player{Body: []byte(`{"data":[{"id":"new/model","name":"New","context_length":262144,"architecture":{"input_modalities":["text","image"]},"pricing":{"prompt":"0.0000012","completion":"0.000003","input_cache_read":"0.0000001"},"top_provider":{"max_completion_tokens":32000},"supported_parameters":["tools","reasoning"]}]}`)}
	r := made(t, config.Default(), map[string]string{"OPENROUTER_API_KEY": "k"}, p)
	_, m, err := r.Resolve(context.Background(), "openrouter/new/model")
	if err != nil || m.ContextWindow != 262144 || m.MaxOutput != 32000 || !m.Vision || !m.Tools || !m.Reasoning || m.CostIn < 1.19 || m.CostIn > 1.21 {
		t.Errorf("%+v %v", m, err)
	}
}

func TestTheFirstStartTakesAKeyThenTheStandIn(t *testing.T) {
	r := made(t, config.Default(), map[string]string{"MISTRAL_API_KEY": "k"}, nil)
	if _, m, err := r.Resolve(context.Background(), ""); err != nil || m.Provider != "mistral" {
		t.Error(m, err)
	}
	if f := r.Keys(context.Background()); len(f) != 1 || f[0].Detail != "MISTRAL_API_KEY" {
		t.Errorf("%+v", f)
	}
	r = made(t, config.Default(), nil, nil)
	if _, _, err := r.Resolve(context.Background(), ""); chat.ClassOf(err) != chat.ClassUnknownModel {
		t.Error(err)
	}
	r.Register(standIn{}, []providers.ModelInfo{{Provider: "builtin", ID: "standin"}})
	if _, m, err := r.Resolve(context.Background(), ""); err != nil || m.String() != "builtin/standin" {
		t.Error(m, err)
	}
	if _, m, err := r.Resolve(context.Background(), "builtin"); err != nil || m.String() != "builtin/standin" {
		t.Error(m, err)
	}
}

type standIn struct{ providers.Provider }

func (standIn) ID() string { return "builtin" }

func TestEachProviderSpeaksItsWire(t *testing.T) {
	for name, want := range map[string]string{
		"anthropic/claude-x": "https://api.anthropic.com/v1/messages", "openai/gpt-5": "https://api.openai.com/v1/responses",
		"gemini/gemini-3": "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
		"deepseek/x":      "https://api.deepseek.com/v1/chat/completions", "ollama/x": "http://127.0.0.1:11434/api/chat",
	} {
		p := &providertest.Player{}
		r := made(t, config.Default(), map[string]string{"ANTHROPIC_API_KEY": "k-a", "OPENAI_API_KEY": "k-o", "GEMINI_API_KEY": "k-g", "DEEPSEEK_API_KEY": "k-d"}, p)
		prov, m, err := r.Resolve(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		p.Requests = nil
		providertest.Drain(context.Background(), prov, providers.Request{Model: m, Messages: []chat.Message{chat.UserText("x")}})
		if len(p.Requests) != 1 || p.Requests[0].URL.String() != want {
			t.Errorf("%s: %v", name, p.Requests)
		}
	}
}

func TestACatalogueEntryIsAProvider(t *testing.T) {
	r := made(t, config.Default(), nil, nil)
	if _, m, err := r.Resolve(context.Background(), "minimax/MiniMax-M2.7"); err != nil || !m.Known {
		t.Error(m, err)
	}
}
