package service

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"perch/chat"
	"perch/config"
	"perch/control"
)

// Settings are config.toml, watched. The last good settings stay when a change
// has a mistake.
type Settings struct {
	path    string
	current atomic.Pointer[config.Config]

	mu       sync.Mutex // protects the rest
	watchers []func(config.Config)
	mistake  error
}

// NewSettings reads the file. A mistake in it is kept for [Settings.Mistake], and
// the defaults hold.
func NewSettings(path string) *Settings {
	s := &Settings{path: path}
	c, err := config.Load(path)
	if err != nil {
		s.mistake = err
		c = config.Default()
	}
	s.current.Store(&c)
	return s
}

// Get returns the settings of now.
func (s *Settings) Get() config.Config { return *s.current.Load() }

// Mistake is what is wrong with the file, nil when all is well.
func (s *Settings) Mistake() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mistake
}

// OnChange calls f after each change.
func (s *Settings) OnChange(f func(config.Config)) {
	s.mu.Lock()
	s.watchers = append(s.watchers, f)
	s.mu.Unlock()
}

// Watch follows the file until ctx ends.
func (s *Settings) Watch(ctx context.Context) {
	config.Watch(ctx, s.path, func(c config.Config, err error) {
		s.mu.Lock()
		s.mistake = err
		watchers := append([]func(config.Config){}, s.watchers...)
		s.mu.Unlock()
		if err == nil {
			s.current.Store(&c)
		}
		for _, f := range watchers {
			f(s.Get())
		}
	})
}

// Settings returns the effective settings as JSON.
func (s *Settings) Settings(context.Context) (json.RawMessage, error) { return config.JSON(s.Get()) }

// Set writes one key. The change counts at once, also where the file's watch is
// slow.
func (s *Settings) Set(_ context.Context, key string, value any) error {
	if err := config.Set(s.path, key, value); err != nil {
		return err
	}
	c, err := config.Load(s.path)
	if err != nil {
		return chat.NewError(chat.ClassMisuse, "err.settings", "The setting was written, but the file has a mistake: %v", err).Wrap(err)
	}
	s.current.Store(&c)
	s.mu.Lock()
	watchers := append([]func(config.Config){}, s.watchers...)
	s.mu.Unlock()
	for _, f := range watchers {
		f(c)
	}
	return nil
}

var _ control.Settings = (*Settings)(nil)
