package service

import (
	"context"
	"strings"
	"sync"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/harness/tokens"
	"perch/providers"
	"perch/providers/builtin"
	"perch/providers/registry"
)

// Models fulfils the control socket's model service and finds the model of a
// run.
type Models struct {
	config func() config.Config
	reg    *registry.Registry

	mu       sync.Mutex // protects the rest
	fallback string     // what "" resolves to, found in the background
	looking  bool
	changed  func()
}

// NewModels returns the models of the settings, with the built-in stand-in. kept
// serves the credentials that are kept on this machine. changed is called when
// the default model became known.
func NewModels(cfg func() config.Config, kept providers.Credentials, changed func()) (*Models, error) {
	client, err := providers.NewHTTPClient()
	if err != nil {
		return nil, err
	}
	reg, err := registry.New(registry.Options{Config: cfg, Credentials: kept, HTTPClient: client})
	if err != nil {
		return nil, err
	}
	reg.Register(builtin.New(), builtin.Models())
	return &Models{config: cfg, reg: reg, changed: changed}, nil
}

// Registry is what the services beside chat (embeddings, images) ask for
// endpoints.
func (m *Models) Registry() *registry.Registry { return m.reg }

// Resolve finds the provider and the facts of a model.
func (m *Models) Resolve(ctx context.Context, name string) (providers.Provider, providers.ModelInfo, error) {
	return m.reg.Resolve(ctx, name)
}

// Default is the model of new sessions. Where the settings name none, it is found
// in the background, and "" until then.
func (m *Models) Default() string {
	if name := m.config().Model; name != "" {
		return name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fallback == "" && !m.looking {
		m.looking = true
		go m.look()
	}
	return m.fallback
}

func (m *Models) look() {
	defer func() {
		if recover() != nil { // the model stays unknown; the next look finds it
			m.mu.Lock()
			m.looking = false
			m.mu.Unlock()
		}
	}()
	_, info, err := m.reg.Resolve(context.Background(), "")
	m.mu.Lock()
	m.looking = false
	known := err == nil && m.fallback != info.String()
	if known {
		m.fallback = info.String()
	}
	m.mu.Unlock()
	if known && m.changed != nil {
		m.changed()
	}
}

// Reload forgets what was found, after the settings have changed.
func (m *Models) Reload() {
	m.mu.Lock()
	m.fallback = ""
	m.mu.Unlock()
}

// FirstStart reports whether no model is connected: the window then shows how.
func (m *Models) FirstStart() bool { return strings.HasPrefix(m.Default(), builtin.ID+"/") }

// ListModels lists the models that can be chosen.
func (m *Models) ListModels(ctx context.Context) ([]control.Model, error) {
	list := m.reg.Models(ctx)
	out := make([]control.Model, 0, len(list))
	for _, i := range list {
		out = append(out, control.Model{
			ID: i.String(), Name: i.Name, ContextWindow: i.ContextWindow, MaxOutput: i.MaxOutput,
			Vision: i.Vision, Reasoning: i.Reasoning, Local: i.Local, Ready: i.Ready,
			CostIn: i.CostIn, CostOut: i.CostOut,
		})
	}
	return out, nil
}

// CheckModel tries the connection to a model's provider.
func (m *Models) CheckModel(ctx context.Context, model string) (control.ModelCheck, error) {
	p, info, err := m.reg.Resolve(ctx, model)
	c := control.ModelCheck{Model: model}
	if err == nil {
		c.Model = info.String()
		err = p.ValidateAuth(ctx)
	}
	c.OK, c.Error = err == nil, chat.AsError(err)
	return c, nil
}

// Discover looks for local servers and keys in the environment.
func (m *Models) Discover(ctx context.Context) ([]control.Found, error) {
	var out []control.Found
	for _, f := range m.reg.Discover(ctx) {
		out = append(out, control.Found{Kind: f.Kind, Provider: f.Provider, Model: f.Provider + "/" + f.Model, Detail: f.Detail})
	}
	return out, nil
}

// EstimateTokens counts a text for a model.
func (m *Models) EstimateTokens(ctx context.Context, model, text string) (int, error) {
	if model == "" || !strings.Contains(model, "/") {
		if _, info, err := m.reg.Resolve(ctx, model); err == nil {
			model = info.String()
		}
	}
	return tokens.ForModel(model).Text(text), nil
}

// Check is what the doctor finds out about the default model.
func (m *Models) Check(ctx context.Context) control.Check {
	c := control.Check{Name: "model"}
	p, info, err := m.reg.Resolve(ctx, "")
	if err == nil {
		c.Detail = info.String()
		err = p.ValidateAuth(ctx)
	}
	switch {
	case err != nil:
		c.Detail = strings.TrimSpace(c.Detail + " " + chat.AsError(err).Message)
		c.Advice = "Enter a key with `perch auth login`, or name a server in config.toml."
	case p.ID() == builtin.ID:
		c.Warn = true
		c.Detail = "no model is connected; the built-in offline assistant answers"
		c.Advice = "Enter a key with `perch auth login PROVIDER`, start a local server such as Ollama, or name one in config.toml."
	default:
		c.OK = true
	}
	return c
}
