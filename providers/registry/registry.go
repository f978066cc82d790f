package registry

import (
	"context"
	"net/http"
	"os"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/providers"
	"perch/providers/anthropic"
	"perch/providers/gemini"
	"perch/providers/ollama"
	"perch/providers/openaichat"
	"perch/providers/openairesponses"
)

// Options are what a registry works with.
type Options struct {
	// Config returns the settings of the moment.
	Config func() config.Config
	// Credentials serves keys; nil reads the environment only.
	Credentials providers.Credentials
	// HTTPClient is shared by all providers; nil makes one.
	HTTPClient *http.Client
	// Getenv reads the environment; nil is the process's own.
	Getenv func(string) string
	Now    func() time.Time
}

// Registry finds providers and models by name.
type Registry struct {
	o Options

	mu         sync.Mutex // protects the rest
	registered map[string]registered
	live       map[string]*liveList
	// made keeps providers while their settings are the same: each remembers
	// what its server refused.
	made map[string]kept
}

type kept struct {
	spec     spec
	provider providers.Provider
}

type registered struct {
	provider providers.Provider
	models   []providers.ModelInfo
}

// New makes a registry. It reads and asks nothing yet.
func New(o Options) (*Registry, error) {
	if o.Config == nil {
		o.Config = config.Default
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTPClient == nil {
		c, err := providers.NewHTTPClient()
		if err != nil {
			return nil, err
		}
		o.HTTPClient = c
	}
	r := &Registry{o: o, registered: map[string]registered{}, live: map[string]*liveList{}, made: map[string]kept{}}
	if o.Credentials == nil {
		r.o.Credentials = envCredentials{r}
	}
	return r, nil
}

// Register adds a provider made elsewhere, such as the built-in stand-in.
func (r *Registry) Register(p providers.Provider, models []providers.ModelInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.registered[p.ID()] = registered{p, models}
}

// envCredentials reads keys from the environment.
type envCredentials struct{ r *Registry }

func (e envCredentials) Credential(_ context.Context, provider string) (providers.Credential, error) {
	_, v := e.r.envKey(provider)
	return providers.Credential{Token: providers.Secret(v)}, nil
}

func (e envCredentials) Renew(_ context.Context, _ string, c providers.Credential) (providers.Credential, error) {
	return c, nil
}

func (r *Registry) envKey(provider string) (name, value string) {
	for _, n := range KeyVariables(r.o.Config(), provider) {
		if v := strings.TrimSpace(r.o.Getenv(n)); v != "" {
			return n, v
		}
	}
	return "", ""
}

// Endpoint returns what a provider's requests need, for the services beside
// chat: embeddings and images. wire is its wire format.
func (r *Registry) Endpoint(name string) (ep providers.Endpoint, wire string, err error) {
	s, ok := specOf(r.o.Config(), name)
	if !ok {
		return ep, "", r.unknownProvider(name)
	}
	return r.endpoint(s), s.wire, nil
}

func (r *Registry) endpoint(s spec) providers.Endpoint {
	return providers.Endpoint{
		Name: s.name, BaseURL: s.baseURL, Compat: s.compat, Headers: s.set.Headers, Local: s.local, NoKey: s.noKey,
		FirstEvent: time.Duration(s.set.FirstEventSeconds) * time.Second, Idle: time.Duration(s.set.IdleSeconds) * time.Second,
		Reasoning: s.set.Reasoning, Credentials: r.o.Credentials, Client: r.o.HTTPClient, Now: r.o.Now,
	}
}

// Provider returns a provider by its name.
func (r *Registry) Provider(name string) (providers.Provider, error) {
	r.mu.Lock()
	reg, ok := r.registered[name]
	r.mu.Unlock()
	if ok {
		return reg.provider, nil
	}
	s, ok := specOf(r.o.Config(), name)
	if !ok {
		return nil, r.unknownProvider(name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.made[name]; ok && reflect.DeepEqual(old.spec, s) {
		return old.provider, nil
	}
	makers := map[string]func(providers.Endpoint) *providers.Server{
		WireAnthropic: anthropic.New, WireResponses: openairesponses.New, WireChat: openaichat.New, WireGemini: gemini.New, WireOllama: ollama.New,
	}
	if make, ok := makers[s.wire]; ok {
		p := make(r.endpoint(s))
		r.made[name] = kept{s, p}
		return p, nil
	}
	return nil, chat.NewError(chat.ClassMisuse, "err.model.wire", "The provider %s has the unknown wire %q. Set one of anthropic, openai-responses, openai-chat, gemini, ollama.", name, s.wire)
}

// Ready reports whether a provider has credentials or needs none.
func (r *Registry) Ready(ctx context.Context, name string) bool {
	r.mu.Lock()
	_, ok := r.registered[name]
	r.mu.Unlock()
	if ok {
		return true
	}
	s, ok := specOf(r.o.Config(), name)
	if !ok {
		return false
	}
	if c, err := r.o.Credentials.Credential(ctx, name); err == nil && c.Token != "" {
		return true
	}
	_, configured := r.o.Config().Providers[name]
	return s.noKey && configured
}

// info returns a model's facts; an unknown one gets defaults.
func (r *Registry) info(ctx context.Context, provider, id string) providers.ModelInfo {
	s, _ := specOf(r.o.Config(), provider)
	m, ok := r.fromLive(ctx, s, id)
	if !ok {
		m, ok = fromCatalog(s.catalog, id)
	}
	if !ok {
		m = providers.ModelInfo{ContextWindow: providers.UnknownContextWindow, MaxOutput: providers.UnknownMaxOutput, Tools: true}
	}
	m.Provider, m.ID, m.Local = provider, id, s.local
	return overlay(m, s.set.Models)
}

// overlay lays the user's facts over those found.
func overlay(m providers.ModelInfo, set []config.Model) providers.ModelInfo {
	for i := range set {
		u := &set[i]
		if u.ID != m.ID {
			continue
		}
		m.Known = true
		if u.ContextWindow > 0 {
			m.ContextWindow = u.ContextWindow
		}
		if u.MaxOutput > 0 {
			m.MaxOutput = u.MaxOutput
		}
		for _, b := range []struct {
			to   *bool
			from *bool
		}{{&m.Vision, u.Vision}, {&m.Reasoning, u.Reasoning}, {&m.Tools, u.Tools}} {
			if b.from != nil {
				*b.to = *b.from
			}
		}
		if u.CostIn != nil {
			m.CostIn = *u.CostIn
		}
		if u.CostOut != nil {
			m.CostOut = *u.CostOut
		}
	}
	if m.MaxOutput <= 0 {
		m.MaxOutput = providers.UnknownMaxOutput
	}
	if m.ContextWindow <= 0 {
		m.ContextWindow = providers.UnknownContextWindow
	}
	return m
}

// Listed is a model that can be chosen.
type Listed struct {
	providers.ModelInfo
	Ready bool // credentials are there, or none are needed
}

// Models lists what can be chosen: registered models, and those of every
// provider that is configured or has a key, from its live list where it has one.
// Providers without credentials are listed from the catalogue, not ready.
func (r *Registry) Models(ctx context.Context) []Listed {
	var out []Listed
	r.mu.Lock()
	for _, reg := range r.registered {
		for _, m := range reg.models {
			out = append(out, Listed{m, true})
		}
	}
	r.mu.Unlock()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, name := range Names(r.o.Config()) {
		wg.Go(func() {
			list := r.modelsOf(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			out = append(out, list...)
		})
	}
	wg.Wait()
	sort.Slice(out, func(i, j int) bool {
		if out[i].Ready != out[j].Ready {
			return out[i].Ready
		}
		return out[i].String() < out[j].String()
	})
	return out
}

func (r *Registry) modelsOf(ctx context.Context, name string) []Listed {
	s, ok := specOf(r.o.Config(), name)
	if !ok {
		return nil
	}
	ready := r.Ready(ctx, name)
	ids := map[string]providers.ModelInfo{}
	for id, m := range catalog()[s.catalog].models {
		ids[id] = m
	}
	if ready || s.local {
		if live, err := r.liveModels(ctx, s); err == nil {
			ready = true
			if len(live) > 0 && s.local {
				ids = map[string]providers.ModelInfo{}
			}
			for id, m := range live {
				if c, ok := ids[id]; ok && !m.Known {
					m = c
				}
				ids[id] = m
			}
		} else if s.local && len(s.set.Models) == 0 {
			return nil // no server there
		}
	}
	for _, m := range s.set.Models {
		if _, ok := ids[m.ID]; !ok {
			ids[m.ID] = providers.ModelInfo{Tools: true}
		}
	}
	var out []Listed
	for id, m := range ids {
		m.Provider, m.ID, m.Local = name, id, s.local
		out = append(out, Listed{overlay(m, s.set.Models), ready})
	}
	return out
}
