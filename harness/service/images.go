package service

import (
	"perch/config"
	"perch/providers/images"
)

// Images returns what makes pictures by the setting image.
func (m *Models) Images() *images.Generator {
	return images.New(func() (images.Target, error) {
		set := m.config().Image
		ep, wire, err := m.reg.Endpoint(set.Provider)
		if err != nil {
			return images.Target{}, err
		}
		return images.Target{Endpoint: ep, Wire: wire, Model: set.Model}, nil
	})
}

// ImagesReady reports whether a model for pictures is set.
func ImagesReady(cfg func() config.Config) func() bool {
	return func() bool { c := cfg().Image; return c.Provider != "" && c.Model != "" }
}
