// Package ollama speaks Ollama's own chat API, which alone lets the window be
// set and truncation be turned off.
//
// The closing event is the line with done: a stream that ends without it was
// cut off.
package ollama

import (
	"net/http"
	"strings"

	"perch/providers"
)

type wire struct{ ep providers.Endpoint }

// New makes a provider of an endpoint. Its base URL has no path.
func New(ep providers.Endpoint) *providers.Server {
	ep.NoKey = true
	return providers.NewServer(ep, &wire{ep})
}

func (w *wire) url(path string) string {
	return strings.TrimSuffix(strings.TrimRight(w.ep.BaseURL, "/"), "/api") + "/api" + path
}

// Authorize sends a key as a bearer token, for servers behind a proxy and for
// Ollama's hosted models.
func (w *wire) Authorize(h http.Header, c providers.Credential) {
	h.Set("Authorization", "Bearer "+c.Token.Reveal())
}

// Check asks for the installed models.
func (w *wire) Check() providers.Call {
	return providers.Call{Method: http.MethodGet, URL: w.url("/tags")}
}
