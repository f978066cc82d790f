package registry

import (
	"context"
	"sort"
	"strings"

	"perch/chat"
	"perch/config"
	"perch/providers"
)

// prefixes send a bare model name to its maker.
var prefixes = []struct{ prefix, provider string }{
	{"claude-", "anthropic"},
	{"gpt-oss", ""}, // open weights: whoever lists it
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"codex-", "openai"},
	{"gemini-", "gemini"}, {"gemma-", ""},
	{"grok-", "xai"}, {"deepseek-", "deepseek"},
	{"mistral-", "mistral"}, {"ministral-", "mistral"}, {"magistral-", "mistral"}, {"codestral-", "mistral"}, {"devstral-", "mistral"}, {"pixtral-", "mistral"},
	{"kimi-", "moonshot"}, {"moonshot-", "moonshot"}, {"glm-", "zai"}, {"qwen-", "qwen"}, {"qwen3-max", "qwen"},
	{"sonar", "perplexity"},
}

// maker is the provider of a bare name by its prefix, "" for none.
func maker(name string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.provider
		}
	}
	return ""
}

// Resolve finds the provider and the facts for "provider/model", a bare model
// name, a provider's name alone, or "", which is the configured model or else
// the first start's order: a key, a local server, the built-in stand-in.
func (r *Registry) Resolve(ctx context.Context, name string) (providers.Provider, providers.ModelInfo, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		name = strings.TrimSpace(r.o.Config().Model)
	}
	if name == "" {
		found, ok := r.first(ctx)
		if !ok {
			return nil, providers.ModelInfo{}, chat.NewError(chat.ClassUnknownModel, "err.model.none", "No model is connected. Enter a key in the settings, or start a local server such as Ollama.")
		}
		name = found
	}
	provider, id, err := r.route(ctx, name)
	if err != nil {
		return nil, providers.ModelInfo{}, err
	}
	p, err := r.Provider(provider)
	if err != nil {
		return nil, providers.ModelInfo{}, err
	}
	if m, ok := r.registeredModel(provider, id); ok {
		return p, m, nil
	}
	return p, r.info(ctx, provider, id), nil
}

func (r *Registry) registeredModel(provider, id string) (providers.ModelInfo, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.registered[provider].models {
		if m.ID == id || id == "" {
			return m, true
		}
	}
	return providers.ModelInfo{}, false
}

// route decides who serves a name.
func (r *Registry) route(ctx context.Context, name string) (provider, id string, err error) {
	if before, after, ok := strings.Cut(name, "/"); ok && after != "" {
		if r.has(before) {
			return before, after, nil
		}
		if p := r.listedBy(ctx, name); p != "" { // the slash belongs to the model's name
			return p, name, nil
		}
		return "", "", r.unknownProvider(before)
	}
	name = strings.TrimSuffix(name, "/")
	if p := maker(name); p != "" {
		return p, name, nil
	}
	if p := r.listedBy(ctx, name); p != "" {
		return p, name, nil
	}
	if r.has(name) {
		if m := r.defaultModel(ctx, name); m != "" {
			return name, m, nil
		}
	}
	return "", "", r.unknownModel(ctx, name)
}

func (r *Registry) has(provider string) bool {
	r.mu.Lock()
	_, ok := r.registered[provider]
	r.mu.Unlock()
	if ok {
		return true
	}
	_, ok = specOf(r.o.Config(), provider)
	return ok
}

// listedBy finds the provider that lists a model: first what the user
// configured, then who is ready, then the catalogue.
func (r *Registry) listedBy(ctx context.Context, id string) string {
	cfg := r.o.Config()
	names := Names(cfg)
	for _, p := range names {
		for _, m := range cfg.Providers[p].Models {
			if m.ID == id {
				return p
			}
		}
	}
	r.mu.Lock()
	for p, reg := range r.registered {
		for _, m := range reg.models {
			if m.ID == id {
				r.mu.Unlock()
				return p
			}
		}
	}
	r.mu.Unlock()
	fallback := ""
	for _, p := range names {
		s, ok := specOf(cfg, p)
		if !ok {
			continue
		}
		_, listed := catalog()[s.catalog].models[id]
		ready := r.Ready(ctx, p)
		if !listed && ready {
			_, listed = r.fromLive(ctx, s, id)
		}
		switch {
		case listed && ready:
			return p
		case listed && fallback == "":
			fallback = p
		}
	}
	return fallback
}

// defaultModel is what is taken where only a provider is named.
func (r *Registry) defaultModel(ctx context.Context, provider string) string {
	if m, ok := r.registeredModel(provider, ""); ok {
		return m.ID
	}
	s, ok := specOf(r.o.Config(), provider)
	if !ok {
		return ""
	}
	if len(s.set.Models) > 0 {
		return s.set.Models[0].ID
	}
	if s.model != "" {
		return s.model
	}
	if m := catalog()[s.catalog].model; m != "" {
		return m
	}
	live, err := r.liveModels(ctx, s)
	if err != nil || len(live) == 0 {
		return ""
	}
	ids := make([]string, 0, len(live))
	for id := range live {
		if !strings.Contains(id, "embed") {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	sort.Strings(ids)
	return ids[0]
}

func (r *Registry) unknownProvider(name string) error {
	cfg := r.o.Config()
	names := Names(cfg)
	r.mu.Lock()
	for n := range r.registered {
		names = append(names, n)
	}
	r.mu.Unlock()
	for n := range catalog() {
		names = append(names, n)
	}
	return chat.NewError(chat.ClassUnknownModel, "err.model.unknown_provider",
		"There is no provider %q. Near: %s. A server of your own needs a [providers.%s] section with base_url in the settings.", name, join(near(name, names)), name)
}

func (r *Registry) unknownModel(ctx context.Context, name string) error {
	var names []string
	for _, m := range r.Models(ctx) {
		names = append(names, m.String())
	}
	return chat.NewError(chat.ClassUnknownModel, "err.model.unknown",
		"No provider lists the model %q. Near: %s. Write it as provider/model to use it all the same.", name, join(near(name, names)))
}

func join(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// nearest is how many candidates an error names.
const nearest = 3

// near returns the candidates that are closest to a name: those that contain
// it, then by the letters to change, of the model's name alone where that is
// closer. Words that have nothing in common are left out.
func near(name string, candidates []string) []string {
	type scored struct {
		name string
		d    int
	}
	low := strings.ToLower(name)
	var list []scored
	seen := map[string]bool{}
	for _, c := range candidates {
		if seen[c] {
			continue
		}
		seen[c] = true
		lc := strings.ToLower(c)
		d := config.Distance(low, lc)
		if _, model, ok := strings.Cut(lc, "/"); ok {
			d = min(d, config.Distance(low, model))
		}
		if strings.Contains(lc, low) && low != "" {
			d = min(d, 1)
		}
		if d <= max(2, len(low)/2) {
			list = append(list, scored{c, d})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].d != list[j].d {
			return list[i].d < list[j].d
		}
		return list[i].name < list[j].name
	})
	var out []string
	for _, s := range list[:min(nearest, len(list))] {
		out = append(out, s.name)
	}
	return out
}
