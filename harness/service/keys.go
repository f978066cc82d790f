package service

import (
	"context"
	"slices"

	"perch/providers/auth"
	"perch/providers/registry"
)

// WithKeys gives the runs below ctx the credentials that a client sent, by
// variable name. They live in memory only.
func (m *Models) WithKeys(ctx context.Context, keys map[string]string) context.Context {
	cfg := m.config()
	for _, provider := range registry.Names(cfg) {
		for _, name := range registry.KeyVariables(cfg, provider) {
			if keys[name] != "" {
				ctx = auth.WithKey(ctx, provider, keys[name])
				break
			}
		}
	}
	return ctx
}

// NeedKey names the variable whose value the owner lacks for a model's provider
// and the client holds; "" for none.
func (m *Models) NeedKey(model string, holds []string) string {
	if len(holds) == 0 {
		return ""
	}
	cfg := m.config()
	if model == "" {
		model = cfg.Model
	}
	if model == "" {
		return "" // the first start's order decides; the window asks
	}
	p, info, err := m.reg.Resolve(context.Background(), model)
	if err != nil || m.reg.Ready(context.Background(), p.ID()) {
		return ""
	}
	for _, name := range registry.KeyVariables(cfg, info.Provider) {
		if slices.Contains(holds, name) {
			return name
		}
	}
	return ""
}
