package providers

import (
	"context"
	"net/http"
	"time"
)

// Endpoint is one server as a codec sees it: where it is, how it is called by
// the user, and what it is known to deviate in.
type Endpoint struct {
	Name    string // the part before the slash in "provider/model"
	BaseURL string // as the vendor's documentation gives it
	// Compat names a row of the wire's compatibility table; empty means the row
	// of the wire's inventor.
	Compat  string
	Headers map[string]string
	Local   bool
	// FirstEvent and Idle override the silence limits; 0 keeps the defaults.
	FirstEvent time.Duration
	Idle       time.Duration
	// Reasoning is the effort where a request asks for none in particular.
	Reasoning string
	// NoKey says that the server works without credentials.
	NoKey       bool
	Credentials Credentials
	Client      *http.Client
	// Now is the wall clock; nil is the system's.
	Now func() time.Time
}

// Credential is what authorises a request.
type Credential struct {
	Token Secret
	// OAuth tells a sign-in's access token from an API key.
	OAuth bool
}

// Credentials is where codecs get their keys from.
type Credentials interface {
	// Credential returns the credential of a provider, refreshed if it is about
	// to expire. Without one it returns an empty token and no error.
	Credential(ctx context.Context, provider string) (Credential, error)
	// Renew is called with an OAuth credential that the server refused, once a
	// request.
	Renew(ctx context.Context, provider string, refused Credential) (Credential, error)
}

// effort is the reasoning effort to ask for: the request's own, else the
// provider's setting.
func (e *Endpoint) effort(req *Request) string {
	if req.Reasoning != "" {
		return req.Reasoning
	}
	return e.Reasoning
}

// Effort returns the reasoning effort to ask for, "" for the vendor's default
// and for models that do not reason.
func (e *Endpoint) Effort(req *Request) string {
	if !req.Model.Reasoning {
		return ""
	}
	return e.effort(req)
}

// StaticCredentials serves one credential for every provider.
type StaticCredentials Credential

// Credential returns the credential.
func (s StaticCredentials) Credential(context.Context, string) (Credential, error) {
	return Credential(s), nil
}

// Renew returns the same credential: a key cannot be renewed.
func (s StaticCredentials) Renew(context.Context, string, Credential) (Credential, error) {
	return Credential(s), nil
}
