package registry

import (
	"context"
	"sync"
)

// Found is a way to connect a model that was found on this machine.
type Found struct {
	Kind     string // "key" or "server"
	Provider string
	Model    string // a good default, without the provider
	Detail   string // the variable's name or the server's address
}

// keyOrder is the order in which keys in the environment are offered.
var keyOrder = []string{"anthropic", "openai", "gemini", "openrouter", "deepseek", "mistral", "groq", "xai", "moonshot", "zai", "zhipu", "qwen", "together", "fireworks", "cerebras", "perplexity", "vercel"}

// serverOrder is the order in which local servers are offered.
var serverOrder = []string{"ollama", "lmstudio", "llamacpp", "vllm"}

// Discover looks for keys in the environment and for local servers.
func (r *Registry) Discover(ctx context.Context) []Found {
	out := r.Keys(ctx)
	servers := make([]*Found, len(serverOrder))
	var wg sync.WaitGroup
	for i, name := range serverOrder {
		wg.Go(func() {
			s, ok := specOf(r.o.Config(), name)
			if !ok {
				return
			}
			if live, err := r.liveModels(ctx, s); err != nil || len(live) == 0 {
				return
			}
			if m := r.defaultModel(ctx, name); m != "" {
				servers[i] = &Found{"server", name, m, s.baseURL}
			}
		})
	}
	wg.Wait()
	for _, f := range servers {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// Keys looks for keys in the environment only.
func (r *Registry) Keys(ctx context.Context) []Found {
	var out []Found
	for _, name := range keyOrder {
		if v, _ := r.envKey(name); v != "" {
			if m := r.defaultModel(ctx, name); m != "" {
				out = append(out, Found{"key", name, m, v})
			}
		}
	}
	return out
}

// first is the first start's order: a stored or given key, a local server, the
// built-in stand-in.
func (r *Registry) first(ctx context.Context) (string, bool) {
	for _, name := range keyOrder {
		if c, err := r.o.Credentials.Credential(ctx, name); err == nil && c.Token != "" {
			if m := r.defaultModel(ctx, name); m != "" {
				return name + "/" + m, true
			}
		}
	}
	for _, f := range r.Discover(ctx) {
		return f.Provider + "/" + f.Model, true
	}
	if m, ok := r.registeredModel("builtin", ""); ok {
		return m.String(), true
	}
	return "", false
}
