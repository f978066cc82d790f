package service

import (
	"context"
	"os"
	"slices"

	"perch/config"
	"perch/providers"
	"perch/providers/registry"
)

// keysKey is the context key of the credentials that a client sent for one run.
type keysKey struct{}

// WithKeys gives the runs below ctx credentials by variable name. They live in
// memory only.
func WithKeys(ctx context.Context, keys map[string]string) context.Context {
	return context.WithValue(ctx, keysKey{}, keys)
}

// credentials serve what a client sent for its run, then what is kept here.
type credentials struct {
	config func() config.Config
	kept   providers.Credentials
}

// Credential returns the credential of a provider.
func (c credentials) Credential(ctx context.Context, provider string) (providers.Credential, error) {
	if keys, ok := ctx.Value(keysKey{}).(map[string]string); ok {
		for _, name := range registry.KeyVariables(c.config(), provider) {
			if keys[name] != "" {
				return providers.Credential{Token: providers.Secret(keys[name])}, nil
			}
		}
	}
	if c.kept != nil {
		return c.kept.Credential(ctx, provider)
	}
	for _, name := range registry.KeyVariables(c.config(), provider) {
		if key := os.Getenv(name); key != "" {
			return providers.Credential{Token: providers.Secret(key)}, nil
		}
	}
	return providers.Credential{}, nil
}

// Renew renews a sign-in that the server refused.
func (c credentials) Renew(ctx context.Context, provider string, refused providers.Credential) (providers.Credential, error) {
	if c.kept != nil {
		return c.kept.Renew(ctx, provider, refused)
	}
	return refused, nil
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
