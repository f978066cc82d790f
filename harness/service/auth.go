package service

import (
	"context"
	"path/filepath"
	"strings"

	"perch/config"
	"perch/control"
	"perch/providers/auth"
	"perch/providers/registry"
)

// Auth fulfils the control socket's sign-in service.
type Auth struct {
	*auth.Store
	changed func()

	// Set once before the first request.
	connectors  Connectors
	isConnector func(name string) bool
}

// NewAuth returns the credentials of this machine: in the keyring, else in a file
// below the data folder. changed is called when one was added or taken away.
func NewAuth(cfg func() config.Config, paths config.Paths, changed func()) *Auth {
	return &Auth{changed: changed, Store: auth.NewStore(auth.Options{
		File: filepath.Join(paths.Data, "credentials.json"),
		Spec: func(provider string) auth.Spec {
			c := cfg()
			return auth.Spec{Env: registry.KeyVariables(c, provider), OAuth: c.Providers[provider].OAuth}
		},
		Known: func() []string { return registry.Names(cfg()) },
	})}
}

// AuthStatus lists where each provider's credential lies.
func (a *Auth) AuthStatus(ctx context.Context) ([]control.AuthStatus, error) {
	list, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]control.AuthStatus, 0, len(list))
	for _, s := range list {
		if strings.HasPrefix(s.Provider, connectorPrefix) {
			s.Kind = "oauth"
		}
		out = append(out, control.AuthStatus{Provider: s.Provider, Kind: s.Kind, Place: s.Place, Detail: s.Detail, Expires: s.Expires})
	}
	return out, nil
}

// SetKey stores a key and says where.
func (a *Auth) SetKey(ctx context.Context, provider, key string) (string, error) {
	defer a.changed()
	return a.Store.SetKey(ctx, provider, key)
}

// Login signs in.
func (a *Auth) Login(ctx context.Context, provider string, device bool, step func(control.LoginStep) error) error {
	defer a.changed()
	if a.isConnector != nil && a.isConnector(provider) {
		return a.connectorLogin(ctx, provider, step)
	}
	return a.Store.Login(ctx, provider, device, func(s auth.Step) error {
		return step(control.LoginStep{URL: s.URL, Code: s.Code, Text: s.Text, Done: s.Done})
	})
}

// Logout forgets a provider's credential.
func (a *Auth) Logout(ctx context.Context, provider string) error {
	defer a.changed()
	if a.isConnector != nil && a.isConnector(provider) {
		return a.connectors.SignOut(provider)
	}
	return a.Store.Logout(ctx, provider)
}

var _ control.Auth = (*Auth)(nil)
