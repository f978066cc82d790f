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
	"sync/atomic"

	"perch/providers"
)

type wire struct {
	ep providers.Endpoint
	// noSummary is set when the vendor refuses summaries of thinking, which it
	// gives to verified organisations only. noEncrypted is the same for thinking
	// that comes back, which small servers do not know.
	noSummary, noEncrypted, noCacheKey atomic.Bool
}

// Adapt leaves out what a server refused.
func (w *wire) Adapt(f providers.Failure) bool {
	text := strings.ToLower(f.Message + " " + f.Param)
	switch {
	case strings.Contains(text, "summar"):
		return w.noSummary.CompareAndSwap(false, true)
	case strings.Contains(text, "encrypted") && strings.Contains(text, "include"):
		return w.noEncrypted.CompareAndSwap(false, true)
	case strings.Contains(text, "prompt_cache_key"):
		return w.noCacheKey.CompareAndSwap(false, true)
	}
	return false
}

// New makes a provider of an endpoint.
func New(ep providers.Endpoint) *providers.Server {
	return providers.NewServer(ep, &wire{ep: ep})
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
