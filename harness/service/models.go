package service

import (
	"context"
	"strings"

	"perch/chat"
	"perch/control"
	"perch/harness/tokens"
	"perch/providers"
)

// Registry finds providers and models. The provider layer fulfils it.
type Registry interface {
	Resolve(ctx context.Context, name string) (providers.Provider, providers.ModelInfo, error)
	Models(ctx context.Context) ([]providers.ModelInfo, error)
	// Ready reports whether credentials for a provider are there, or none needed.
	Ready(provider string) bool
	// Discover looks for local servers and keys in the environment.
	Discover(ctx context.Context) ([]control.Found, error)
}

// Models fulfils the control socket's model service.
type Models struct {
	Registry
}

// ListModels lists the models that can be chosen.
func (m Models) ListModels(ctx context.Context) ([]control.Model, error) {
	infos, err := m.Models(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]control.Model, 0, len(infos))
	for _, i := range infos {
		out = append(out, control.Model{
			ID: i.String(), Name: i.Name, ContextWindow: i.ContextWindow, MaxOutput: i.MaxOutput,
			Vision: i.Vision, Reasoning: i.Reasoning, Local: i.Local, Ready: m.Ready(i.Provider),
			CostIn: i.CostIn, CostOut: i.CostOut,
		})
	}
	return out, nil
}

// CheckModel tries the connection to a model's provider.
func (m Models) CheckModel(ctx context.Context, model string) (control.ModelCheck, error) {
	p, info, err := m.Resolve(ctx, model)
	if err == nil {
		err = p.ValidateAuth(ctx)
	}
	c := control.ModelCheck{Model: model, OK: err == nil, Error: chat.AsError(err)}
	if info.ID != "" {
		c.Model = info.String()
	}
	return c, nil
}

// EstimateTokens counts a text for a model.
func (m Models) EstimateTokens(ctx context.Context, model, text string) (int, error) {
	if model == "" || !strings.Contains(model, "/") {
		if _, info, err := m.Resolve(ctx, model); err == nil {
			model = info.String()
		}
	}
	return tokens.ForModel(model).Text(text), nil
}
