// Package openaichat speaks OpenAI's Chat Completions, and with a table of
// deviations the same format as other vendors and local servers have it.
//
// The closing event is "[DONE]": a stream that ends without it was cut off.
package openaichat

import (
	"net/http"
	"strings"

	"perch/providers"
)

// wire is the format spoken to one server.
type wire struct {
	ep     providers.Endpoint
	vendor string
	compat compat
}

// New makes a provider of an endpoint.
func New(ep providers.Endpoint) *providers.Server {
	v := vendorOf(ep.Compat, ep.Name, ep.BaseURL)
	ep.Compat = v
	return providers.NewServer(ep, &wire{ep: ep, vendor: v, compat: vendors[v]})
}

func (w *wire) url(path string) string { return strings.TrimRight(w.ep.BaseURL, "/") + path }

// Authorize sends the key as a bearer token, Azure's in a header of its own.
func (w *wire) Authorize(h http.Header, c providers.Credential) {
	if w.vendor == "azure" && !c.OAuth {
		h.Set("api-key", c.Token.Reveal())
		return
	}
	h.Set("Authorization", "Bearer "+c.Token.Reveal())
}

// Check asks for the list of models; OpenRouter's is public, its key has an
// address of its own.
func (w *wire) Check() providers.Call {
	path := "/models"
	if w.vendor == "openrouter" {
		path = "/key"
	}
	return providers.Call{Method: http.MethodGet, URL: w.url(path)}
}
