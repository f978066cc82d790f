package service

import (
	"context"
	"encoding/base64"
	"fmt"

	"perch/control"
)

// connectorPrefix keeps the sign-ins of connectors apart from providers' keys.
const connectorPrefix = "connector:"

// Connectors signs in at connectors. The connector layer fulfils it.
type Connectors interface {
	SignIn(ctx context.Context, name string, open func(url string) error) error
	SignOut(name string) error
}

// SetConnectors says who signs in at connectors and which names are theirs.
func (a *Auth) SetConnectors(c Connectors, known func(name string) bool) {
	a.connectors, a.isConnector = c, known
}

// Token returns a connector's sign-in, nil for none.
func (a *Auth) Token(connector string) ([]byte, error) {
	c, err := a.Credential(context.Background(), connectorPrefix+connector)
	if err != nil || c.Token.Reveal() == "" {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(c.Token.Reveal())
	if err != nil {
		return nil, fmt.Errorf("read the sign-in of %s: %w", connector, err)
	}
	return b, nil
}

// SaveToken keeps a connector's sign-in where keys are kept; nil forgets it.
func (a *Auth) SaveToken(connector string, data []byte) error {
	if len(data) == 0 {
		return a.Store.Logout(context.Background(), connectorPrefix+connector)
	}
	_, err := a.Store.SetKey(context.Background(), connectorPrefix+connector, base64.StdEncoding.EncodeToString(data))
	return err
}

// connectorLogin signs in at a connector in the browser.
func (a *Auth) connectorLogin(ctx context.Context, name string, step func(control.LoginStep) error) error {
	if err := a.connectors.SignIn(ctx, name, func(url string) error { return step(control.LoginStep{URL: url}) }); err != nil {
		return err
	}
	return step(control.LoginStep{Done: true})
}
