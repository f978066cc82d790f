package service

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/providers"
	"perch/providers/builtin"
	"perch/providers/openaichat"
)

type interim struct{ s *Settings }

func (r interim) Resolve(_ context.Context, name string) (providers.Provider, providers.ModelInfo, error) {
	prov, id, _ := strings.Cut(name, "/")
	if p, ok := r.s.Get().Providers[prov]; ok {
		info := providers.ModelInfo{Provider: prov, ID: id, ContextWindow: 32768, MaxOutput: 4096, Tools: true}
		for _, m := range p.Models {
			if m.ID == id {
				info.ContextWindow, info.MaxOutput = m.ContextWindow, m.MaxOutput
			}
		}
		return openaichat.New(providers.Endpoint{Name: prov, BaseURL: p.BaseURL, NoKey: true, Credentials: providers.StaticCredentials{}, Client: http.DefaultClient}), info, nil
	}
	if name != "" && prov != "builtin" {
		return nil, providers.ModelInfo{}, chat.NewError(chat.ClassUnknownModel, "err.unknown", "unknown model %s", name)
	}
	return builtin.New(), builtin.Models()[0], nil
}
func (r interim) Models(context.Context) ([]providers.ModelInfo, error) { return builtin.Models(), nil }
func (r interim) Ready(string) bool                                     { return true }
func (r interim) Discover(context.Context) ([]control.Found, error)     { return nil, nil }

// NewInterim is replaced.
func NewInterim(s *Settings, _ config.Paths, _ *slog.Logger) Models { return Models{interim{s}} }
