// Package anthropic speaks Anthropic's Messages API.
//
// The closing event is message_stop: a stream that ends without it was cut off.
package anthropic

import (
	"net/http"
	"strings"
	"sync/atomic"

	"perch/providers"
)

// apiVersion is the only version of the Messages API.
const apiVersion = "2023-06-01"

type wire struct {
	ep providers.Endpoint
	// noThinking is set when the server refuses to be told how much to think:
	// models differ in what they take, and other servers speak this wire, too.
	noThinking atomic.Bool
}

// Adapt leaves the thinking settings out once they were refused.
func (w *wire) Adapt(f providers.Failure) bool {
	text := strings.ToLower(f.Message + " " + f.Param)
	for _, s := range []string{"thinking.type", "adaptive", "budget_tokens", "output_config", "effort"} {
		if strings.Contains(text, s) {
			return w.noThinking.CompareAndSwap(false, true)
		}
	}
	return false
}

// New makes a provider of an endpoint. Its base URL has no path.
func New(ep providers.Endpoint) *providers.Server {
	return providers.NewServer(ep, &wire{ep: ep})
}

func (w *wire) url(path string) string {
	return strings.TrimSuffix(strings.TrimRight(w.ep.BaseURL, "/"), "/v1") + "/v1" + path
}

func (w *wire) header() http.Header {
	return http.Header{"Anthropic-Version": {apiVersion}}
}

// Authorize sends a key in the vendor's header, a sign-in as a bearer token.
func (w *wire) Authorize(h http.Header, c providers.Credential) {
	if c.OAuth {
		h.Set("Authorization", "Bearer "+c.Token.Reveal())
		return
	}
	h.Set("X-Api-Key", c.Token.Reveal())
}

// Check asks for one entry of the model list.
func (w *wire) Check() providers.Call {
	return providers.Call{Method: http.MethodGet, URL: w.url("/models?limit=1"), Header: w.header()}
}
