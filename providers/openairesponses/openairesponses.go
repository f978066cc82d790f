// Package openairesponses speaks OpenAI's Responses API, without state at the
// vendor: every request carries the whole history, thinking comes back
// encrypted.
//
// The closing event is response.completed or response.incomplete: a stream that
// ends without one was cut off.
package openairesponses

import (
	"net/http"
	"strings"

	"perch/providers"
)

type wire struct{ ep providers.Endpoint }

// New makes a provider of an endpoint.
func New(ep providers.Endpoint) *providers.Server {
	return providers.NewServer(ep, &wire{ep})
}

func (w *wire) url(path string) string { return strings.TrimRight(w.ep.BaseURL, "/") + path }

// Authorize sends the key as a bearer token.
func (w *wire) Authorize(h http.Header, c providers.Credential) {
	h.Set("Authorization", "Bearer "+c.Token.Reveal())
}

// Check asks for the list of models.
func (w *wire) Check() providers.Call {
	return providers.Call{Method: http.MethodGet, URL: w.url("/models")}
}
