package service

import (
	"strings"

	"perch/providers/embed"
)

// Embedder makes vectors by the setting embedding; nil where none is set. The
// error says why a set one cannot be used.
func (m *Models) Embedder() (*embed.Embedder, error) {
	set := m.config().Embedding
	if set.Provider == "" || set.Model == "" {
		return nil, nil
	}
	return m.embedder(set.Provider, set.Model)
}

// EmbedderNamed makes vectors with another model, "provider/model".
func (m *Models) EmbedderNamed(name string) (*embed.Embedder, error) {
	provider, model, _ := strings.Cut(name, "/")
	return m.embedder(provider, model)
}

func (m *Models) embedder(provider, model string) (*embed.Embedder, error) {
	ep, wire, err := m.reg.Endpoint(provider)
	if err != nil {
		return nil, err
	}
	return embed.New(ep, wire, model)
}
