// Package mcp connects Perch to MCP servers, called connectors, over standard
// input and output or streamable HTTP. Their tools appear as server__tool beside
// Perch's own.
//
// What it guarantees:
//
//   - A server that is dead, hangs, floods or lies costs its own tools and a
//     notice, never a run. Each start and each call has a deadline.
//   - A tool that was offered stays callable while a run lasts: if its server is
//     gone, a call says so.
//   - What a server returns is cleaned, bounded and marked as data from outside.
//   - A server's process gets an allowlisted environment, is a group of its own,
//     and is ended with everything in that group when Perch stops it.
package mcp

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
)

const (
	// startTimeout bounds the start of a server, its list of tools included. One
	// that npx has to download first needs most of it.
	startTimeout = 60 * time.Second
	// firstWait is how long the first run waits for servers that are just being
	// started: most need less than two seconds.
	firstWait = 3 * time.Second
	// callTimeout bounds a call where the settings name no other limit.
	callTimeout = 120 * time.Second
	// restartMin and restartMax are the waits before a lost server is started
	// again, doubled each time.
	restartMin, restartMax = time.Second, 5 * time.Minute
	// steady is how long a server must have lived for its next loss to count as
	// the first.
	steady = time.Minute
	// closeTimeout bounds the end of all servers together.
	closeTimeout = 3 * time.Second
)

// Option changes a manager at its start.
type Option func(*Manager)

// WithTools gives the per-tool settings by tool name.
func WithTools(settings func() map[string]config.Tool) Option {
	return func(m *Manager) { m.toolSettings = settings }
}

// WithEnviron gives the environment of servers, of which an allowlisted part
// reaches them; by default that of this process.
func WithEnviron(environ func() []string) Option { return func(m *Manager) { m.environ = environ } }

// WithTokens keeps sign-ins between starts of the program.
func WithTokens(t TokenStore) Option { return func(m *Manager) { m.tokens = t } }

// WithNotices receives notices with their ids and arguments, so that they can be
// said in the user's language; the plain function is then not called.
func WithNotices(f func(*chat.Notice)) Option { return func(m *Manager) { m.notices = f } }

// WithVersion names the program's version to the servers.
func WithVersion(v string) Option { return func(m *Manager) { m.version = v } }

// withTimes is for tests.
func withTimes(start, first, restart time.Duration) Option {
	return func(m *Manager) { m.startTimeout, m.firstWait, m.restartMin = start, first, restart }
}

// Manager keeps the connectors of the settings connected. It starts nothing
// before its tools are asked for.
type Manager struct {
	cfg          func() map[string]config.Connector
	notice       func(string)
	notices      func(*chat.Notice)
	toolSettings func() map[string]config.Tool
	environ      func() []string
	tokens       TokenStore
	version      string

	startTimeout, firstWait, restartMin time.Duration

	mu      sync.Mutex // protects what follows
	servers map[string]*server
	closed  bool
}

// NewManager returns a manager of the connectors that cfg names; it is asked at
// each call of [Manager.Tools], so that a change of the settings counts from the
// next run on. notice is told, in a sentence, what a user should know.
func NewManager(cfg func() map[string]config.Connector, notice func(string), opts ...Option) *Manager {
	m := &Manager{
		cfg: cfg, notice: notice, environ: defaultEnviron, version: "dev", tokens: &memoryTokens{},
		startTimeout: startTimeout, firstWait: firstWait, restartMin: restartMin,
		servers: map[string]*server{},
	}
	for _, o := range opts {
		o(m)
	}
	if m.notice == nil {
		m.notice = func(string) {}
	}
	return m
}

// Tools returns the tools of all servers that are connected, and of those that
// were and are being restarted, sorted by name. Servers that are being started
// for the first time are waited for, shortly.
func (m *Manager) Tools() []chat.Tool {
	servers := m.sync()
	deadline := time.NewTimer(m.firstWait)
	defer deadline.Stop()
	for _, s := range servers {
		if s.waited.Load() {
			continue // one run waits for a slow server, not every one
		}
		select {
		case <-s.settled:
		case <-deadline.C:
			deadline.Reset(0) // for the servers after this one
		}
		s.waited.Store(true)
	}
	var out []chat.Tool
	for _, s := range servers {
		out = append(out, s.currentTools()...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Definition().Name < out[j].Definition().Name })
	// Two servers whose names differ in forbidden characters only could collide.
	return slices.CompactFunc(out, func(a, b chat.Tool) bool { return a.Definition().Name == b.Definition().Name })
}

// sync starts and stops servers so that they are those of the settings, and
// returns them by name.
func (m *Manager) sync() []*server {
	want := m.cfg()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	for name, s := range m.servers {
		c, ok := want[name]
		if !ok || c.Off || !reflect.DeepEqual(s.cfg, c) {
			delete(m.servers, name)
			s.stop()
		}
	}
	names := make([]string, 0, len(want))
	for name, c := range want {
		if !c.Off {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	var out []*server
	for _, name := range names {
		s := m.servers[name]
		if s == nil {
			s = newServer(m, name, want[name])
			m.servers[name] = s
			s.start()
		}
		out = append(out, s)
	}
	return out
}

// get returns a server by name, started if need be.
func (m *Manager) get(name string) (*server, error) {
	for _, s := range m.sync() {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no connector %q; the settings name it under [connectors.%s]", name, name)
}

// Status is the state of one connector, for the settings window and the doctor.
type Status struct {
	Name string
	// State is "ready", "starting", "failed", "sign_in" or "off".
	State string
	Tools int
	// Problem is a sentence with what to do, "" when all is well.
	Problem string
}

// Status returns the state of all connectors by name, without starting any.
func (m *Manager) Status() []Status {
	want := m.cfg()
	m.mu.Lock()
	servers := map[string]*server{}
	for n, s := range m.servers {
		servers[n] = s
	}
	m.mu.Unlock()
	var out []Status
	for name, c := range want {
		st := Status{Name: name, State: "off"}
		if s := servers[name]; s != nil && !c.Off {
			st = s.status()
		}
		out = append(out, st)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Close ends all servers and waits for them, shortly.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	servers := m.servers
	m.servers = map[string]*server{}
	m.mu.Unlock()
	for _, s := range servers {
		s.stop()
	}
	deadline := time.NewTimer(closeTimeout)
	defer deadline.Stop()
	for _, s := range servers {
		select {
		case <-s.gone:
		case <-deadline.C:
			return
		}
	}
}

// checkConfig says what is wrong with a connector's settings.
func checkConfig(c config.Connector) error {
	switch {
	case len(c.Command) == 0 && c.URL == "":
		return fmt.Errorf("it has neither a command nor a url")
	case len(c.Command) > 0 && c.URL != "":
		return fmt.Errorf("it has both a command and a url; take one away")
	case c.URL != "" && !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return fmt.Errorf("its url %q is no http or https address", c.URL)
	case len(c.Command) > 0 && strings.TrimSpace(c.Command[0]) == "":
		return fmt.Errorf("its command is empty")
	}
	return nil
}

// timeout is the limit of one call.
func (s *server) timeout() time.Duration {
	if s.cfg.TimeoutSeconds > 0 {
		return time.Duration(s.cfg.TimeoutSeconds) * time.Second
	}
	return callTimeout
}

// httpClient carries the connector's headers to its own host and bounds what
// comes back.
func (s *server) httpClient(life context.Context) *http.Client {
	return &http.Client{Transport: newTransport(life, s.cfg)}
}
