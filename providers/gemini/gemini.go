// Package gemini speaks Google's Gemini API.
//
// The wire has no closing event. The end of the body closes an answer, provided
// that a finish reason or a block reason has come; without one the stream was
// cut off.
package gemini

import (
	"net/http"
	"net/url"
	"strings"

	"perch/providers"
)

type wire struct{ ep providers.Endpoint }

// New makes a provider of an endpoint. Its base URL has no path.
func New(ep providers.Endpoint) *providers.Server {
	return providers.NewServer(ep, &wire{ep})
}

func (w *wire) url(path string) string {
	return strings.TrimSuffix(strings.TrimRight(w.ep.BaseURL, "/"), "/v1beta") + "/v1beta" + path
}

func (w *wire) modelURL(model, method string) string {
	return w.url("/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + method)
}

// Authorize sends a key in the vendor's header, so that it is in no address, and
// a sign-in as a bearer token.
func (w *wire) Authorize(h http.Header, c providers.Credential) {
	if c.OAuth {
		h.Set("Authorization", "Bearer "+c.Token.Reveal())
		return
	}
	h.Set("X-Goog-Api-Key", c.Token.Reveal())
}

// Check asks for one entry of the model list.
func (w *wire) Check() providers.Call {
	return providers.Call{Method: http.MethodGet, URL: w.url("/models?pageSize=1")}
}
