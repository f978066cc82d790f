package registry

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"perch/providers"
)

const (
	// liveFor is how long a live list counts as fresh.
	liveFor = 10 * time.Minute
	// failedFor is how long a server that did not answer is left alone.
	failedFor = 30 * time.Second
	// liveWait bounds asking a hosted vendor, localWait a local server: nobody
	// waits longer for a list.
	liveWait  = 5 * time.Second
	localWait = 1500 * time.Millisecond
	// maxList bounds a list, in bytes; OpenRouter's has 1 MB.
	maxList = 16 << 20
	// ollamaWindow is the window asked of Ollama where the user sets none:
	// models claim 128k and more, which no ordinary machine has memory for.
	ollamaWindow = 32768
)

// liveList is a vendor's list as it was last seen.
type liveList struct {
	mu     sync.Mutex // held while asking, so that many callers ask once
	models map[string]providers.ModelInfo
	err    error
	until  time.Time
	source string
}

func (r *Registry) list(name string) *liveList {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.live[name]
	if l == nil {
		l = &liveList{}
		r.live[name] = l
	}
	return l
}

// liveModels asks a provider for its models, at most once in a while.
func (r *Registry) liveModels(ctx context.Context, s spec) (map[string]providers.ModelInfo, error) {
	l := r.list(s.name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == s.baseURL && r.o.Now().Before(l.until) {
		return l.models, l.err
	}
	wait := liveWait
	if s.local {
		wait = localWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l.models, l.err = r.ask(ctx, s)
	l.source = s.baseURL
	l.until = r.o.Now().Add(liveFor)
	if l.err != nil {
		l.until = r.o.Now().Add(failedFor)
	}
	return l.models, l.err
}

// fromLive returns what a live list says of a model. Hosted vendors are only
// asked where their list has facts that the catalogue has not.
func (r *Registry) fromLive(ctx context.Context, s spec, id string) (providers.ModelInfo, bool) {
	if !s.local && s.name != "openrouter" && s.compat != "openrouter" && s.wire != WireOllama {
		return providers.ModelInfo{}, false
	}
	if _, ok := fromCatalog(s.catalog, id); ok && !s.local {
		return providers.ModelInfo{}, false
	}
	for i := range s.set.Models {
		if m := &s.set.Models[i]; m.ID == id && m.ContextWindow > 0 {
			return providers.ModelInfo{}, false // the user has said it: nothing to ask
		}
	}
	if s.wire == WireOllama {
		return r.ollamaModel(ctx, s, id)
	}
	models, err := r.liveModels(ctx, s)
	m, ok := models[id]
	return m, err == nil && ok && m.Known
}

var errNoList = errors.New("the server has no list of models")

func (r *Registry) ask(ctx context.Context, s spec) (map[string]providers.ModelInfo, error) {
	base := strings.TrimRight(s.baseURL, "/")
	switch s.wire {
	case WireOllama:
		var tags struct {
			Models []struct {
				Name string `json:"name"`
			} `json:"models"`
		}
		if err := r.get(ctx, s, strings.TrimSuffix(base, "/api")+"/api/tags", &tags); err != nil {
			return nil, err
		}
		out := map[string]providers.ModelInfo{}
		for _, m := range tags.Models {
			out[m.Name] = providers.ModelInfo{Tools: true, ContextWindow: ollamaWindow}
		}
		return out, nil
	case WireGemini:
		var l struct {
			Models []struct {
				Name   string   `json:"name"`
				Title  string   `json:"displayName"`
				Input  int      `json:"inputTokenLimit"`
				Output int      `json:"outputTokenLimit"`
				Think  bool     `json:"thinking"`
				Can    []string `json:"supportedGenerationMethods"`
			} `json:"models"`
		}
		if err := r.get(ctx, s, strings.TrimSuffix(base, "/v1beta")+"/v1beta/models?pageSize=1000", &l); err != nil {
			return nil, err
		}
		out := map[string]providers.ModelInfo{}
		for _, m := range l.Models {
			if strings.Contains(strings.Join(m.Can, " "), "generateContent") {
				out[strings.TrimPrefix(m.Name, "models/")] = providers.ModelInfo{Name: m.Title, ContextWindow: m.Input, MaxOutput: m.Output, Reasoning: m.Think, Vision: true, Tools: true, Known: m.Input > 0}
			}
		}
		return out, nil
	case WireAnthropic:
		base = strings.TrimSuffix(base, "/v1") + "/v1"
	}
	var l modelList
	if err := r.get(ctx, s, base+"/models", &l); err != nil {
		return nil, err
	}
	if l.Data == nil && l.Models == nil {
		return nil, errNoList
	}
	out := map[string]providers.ModelInfo{}
	for _, m := range append(l.Data, l.Models...) {
		if m.ID != "" {
			out[m.ID] = m.info()
		}
	}
	if s.compat == "llamacpp" {
		r.llamacpp(ctx, s, base, out)
	}
	return out, nil
}

// llamacpp takes the window that the server was started with, which is what a
// request really has, not what the model was trained for.
func (r *Registry) llamacpp(ctx context.Context, s spec, base string, out map[string]providers.ModelInfo) {
	var props struct {
		Settings struct {
			Window int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if r.get(ctx, s, strings.TrimSuffix(base, "/v1")+"/props", &props) != nil || props.Settings.Window <= 0 {
		return
	}
	for id, m := range out {
		m.ContextWindow, m.Vision, m.Known = props.Settings.Window, props.Modalities.Vision, true
		out[id] = m
	}
}

// ollamaModel asks Ollama what an installed model can do.
func (r *Registry) ollamaModel(ctx context.Context, s spec, id string) (providers.ModelInfo, bool) {
	l := r.list(s.name + "\x00" + id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source != s.baseURL || !r.o.Now().Before(l.until) {
		ctx, cancel := context.WithTimeout(ctx, localWait)
		defer cancel()
		m, err := r.ollamaShow(ctx, s, id)
		l.models, l.err, l.source, l.until = map[string]providers.ModelInfo{id: m}, err, s.baseURL, r.o.Now().Add(liveFor)
		if err != nil {
			l.until = r.o.Now().Add(failedFor)
		}
	}
	return l.models[id], l.err == nil
}

func (r *Registry) ollamaShow(ctx context.Context, s spec, id string) (providers.ModelInfo, error) {
	var show struct {
		Capabilities []string                   `json:"capabilities"`
		Info         map[string]json.RawMessage `json:"model_info"`
	}
	body, _ := json.Marshal(map[string]string{"model": id})
	url := strings.TrimSuffix(strings.TrimRight(s.baseURL, "/"), "/api") + "/api/show"
	if err := r.do(ctx, s, http.MethodPost, url, body, &show); err != nil {
		return providers.ModelInfo{}, err
	}
	m := providers.ModelInfo{ContextWindow: ollamaWindow, MaxOutput: providers.UnknownMaxOutput, Tools: len(show.Capabilities) == 0, Known: true}
	for k, v := range show.Info {
		if n, err := strconv.Atoi(string(v)); err == nil && strings.HasSuffix(k, ".context_length") {
			m.ContextWindow = min(n, ollamaWindow)
		}
	}
	for _, c := range show.Capabilities {
		switch c {
		case "vision":
			m.Vision = true
		case "tools":
			m.Tools = true
		case "thinking":
			m.Reasoning = true
		}
	}
	return m, nil
}

func (r *Registry) get(ctx context.Context, s spec, url string, to any) error {
	return r.do(ctx, s, http.MethodGet, url, nil, to)
}

func (r *Registry) do(ctx context.Context, s spec, method, url string, body []byte, to any) error {
	data, err := providers.Fetch(ctx, r.endpoint(s), s.wire, method, url, body, maxList)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// modelList is the answer of /v1/models with what servers add to it.
type modelList struct {
	Data   []modelEntry `json:"data"`
	Models []modelEntry `json:"models"`
}

type modelEntry struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	DisplayName   string `json:"display_name"`
	Type          string `json:"type"`
	ContextLength int    `json:"context_length"`     // OpenRouter, Together, Moonshot
	ContextWindow int    `json:"context_window"`     // Groq
	MaxModelLen   int    `json:"max_model_len"`      // vLLM
	MaxContext    int    `json:"max_context_length"` // LM Studio, Mistral
	MaxOutput     int    `json:"max_completion_tokens"`
	Top           struct {
		MaxOutput int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
	Pricing json.RawMessage `json:"pricing"`
	Params  []string        `json:"supported_parameters"`
	Meta    struct {
		Trained int `json:"n_ctx_train"`
	} `json:"meta"`
}

func (m *modelEntry) info() providers.ModelInfo {
	out := providers.ModelInfo{
		Name:          firstOf(m.Name, m.DisplayName),
		ContextWindow: max(m.ContextLength, m.ContextWindow, m.MaxModelLen, m.MaxContext, m.Meta.Trained),
		MaxOutput:     max(m.MaxOutput, m.Top.MaxOutput),
		Tools:         len(m.Params) == 0 || contains(m.Params, "tools"),
		Reasoning:     contains(m.Params, "reasoning"),
		Vision:        contains(m.Architecture.Input, "image") || m.Type == "vlm",
	}
	out.Known = out.ContextWindow > 0
	var p struct { // dollars a token, as texts
		Prompt, Completion string
		Read               string `json:"input_cache_read"`
		Write              string `json:"input_cache_write"`
	}
	if json.Unmarshal(m.Pricing, &p) == nil {
		price := func(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return max(f, 0) * 1e6 }
		out.CostIn, out.CostOut, out.CostCacheRead, out.CostCacheWrite = price(p.Prompt), price(p.Completion), price(p.Read), price(p.Write)
	}
	return out
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
