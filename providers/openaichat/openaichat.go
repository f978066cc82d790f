// Package openaichat speaks OpenAI's Chat Completions, and with a table of
// deviations the same format as other vendors and local servers have it.
//
// The closing event is "[DONE]": a stream that ends without it was cut off.
package openaichat

import (
	"net/http"
	"strings"
	"sync"

	"perch/providers"
)

// wire is the format spoken to one server.
type wire struct {
	ep     providers.Endpoint
	vendor string

	mu     sync.Mutex // protects the rest
	compat compat     // changes when the server refuses a member
}

func (w *wire) row() compat {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.compat
}

// Adapt changes the row when a server refuses a member that the row would have
// it understand, or wants another one in its place.
func (w *wire) Adapt(f providers.Failure) bool {
	text := strings.ToLower(f.Message + " " + f.Param)
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.compat
	c := &w.compat
	switch {
	case strings.Contains(text, "max_tokens") && strings.Contains(text, "max_completion_tokens"):
		// The one that is refused is named first.
		c.completionTokens = strings.Index(text, "max_tokens") < strings.Index(text, "max_completion_tokens")
	case !refusesMember(text):
		return false
	case strings.Contains(text, "max_completion_tokens"):
		c.completionTokens = false
	case strings.Contains(text, "stream_options"):
		c.noStreamOptions = true
	case strings.Contains(text, "developer"):
		c.developerRole = false
	case strings.Contains(text, "reasoning_effort"), strings.Contains(text, "'thinking'"), strings.Contains(text, "enable_thinking"):
		c.effort = noEffort
	case strings.Contains(text, "prompt_cache_key"):
		c.cacheKey = false
	case strings.Contains(text, "reasoning"):
		c.thinking = noThinking
	}
	return w.compat != before
}

// refusesMember reports whether a message speaks of a member that the server
// does not know or take, not of its value.
func refusesMember(text string) bool {
	for _, s := range []string{"unsupported", "not supported", "does not support", "unrecognized", "unknown", "unexpected", "extra inputs", "not permitted", "extra_forbidden", "not allowed"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
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
