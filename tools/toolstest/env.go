// Package toolstest helps to test tools, as net/http/httptest helps with HTTP:
// it has an environment that records what a tool does with it.
package toolstest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"perch/chat"
)

// Env is a [chat.Env] for tests. Fields may be set before it is used.
type Env struct {
	WorkDir, Spool string
	Variables      []string
	// Allowed are granted needs, as "kind subject".
	Allowed map[string]bool

	mu        sync.Mutex
	progress  []string
	written   []string
	facts     map[string]string
	addresses map[string]bool
}

var _ chat.Env = (*Env)(nil)

// NewEnv returns an environment with temporary folders.
func NewEnv(t testing.TB) *Env {
	t.Helper()
	return &Env{WorkDir: t.TempDir(), Spool: t.TempDir(), Allowed: map[string]bool{}}
}

// Allow grants a need.
func (e *Env) Allow(kind chat.NeedKind, subject string) { e.Allowed[string(kind)+" "+subject] = true }

// Session is "session".
func (e *Env) Session() string { return "session" }

// Run is "run".
func (e *Env) Run() string { return "run" }

// Dir is WorkDir.
func (e *Env) Dir() string { return e.WorkDir }

// SpoolDir is Spool.
func (e *Env) SpoolDir() string { return e.Spool }

// Environ is Variables.
func (e *Env) Environ() []string { return e.Variables }

// Progress records a text.
func (e *Env) Progress(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.progress = append(e.progress, text)
}

// ProgressTexts returns what was reported.
func (e *Env) ProgressTexts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.progress...)
}

// Granted looks into Allowed.
func (e *Env) Granted(kind chat.NeedKind, subject string) bool {
	return e.Allowed[string(kind)+" "+subject]
}

// Grants lists the subjects of Allowed that have this kind.
func (e *Env) Grants(kind chat.NeedKind) []string {
	var out []string
	for k, ok := range e.Allowed {
		if rest, is := strings.CutPrefix(k, string(kind)+" "); is && ok {
			out = append(out, rest)
		}
	}
	return out
}

// BeforeWrite records a path.
func (e *Env) BeforeWrite(path string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written = append(e.written, path)
	return nil
}

// Written returns the paths that BeforeWrite was told.
func (e *Env) Written() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.written...)
}

// Remember keeps a fact.
func (e *Env) Remember(key, value string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.facts == nil {
		e.facts = map[string]string{}
	}
	e.facts[key] = value
}

// Recall returns a fact.
func (e *Env) Recall(key string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := e.facts[key]
	return v, ok
}

// KnownAddress reports whether AddAddress was told of it.
func (e *Env) KnownAddress(url string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.addresses[url]
}

// AddAddress records an address.
func (e *Env) AddAddress(url string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.addresses == nil {
		e.addresses = map[string]bool{}
	}
	e.addresses[url] = true
}

// Addresses returns what AddAddress was told.
func (e *Env) Addresses() map[string]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]bool{}
	for a := range e.addresses {
		out[a] = true
	}
	return out
}

// Needs returns what a call needs; the test fails where the tool does not know.
func Needs(t testing.TB, tool chat.Tool, input string, env chat.Env) []chat.Need {
	t.Helper()
	n, ok := tool.(chat.Needer)
	if !ok {
		t.Fatalf("%s does not say what it needs", tool.Definition().Name)
	}
	needs, err := n.Needs(context.Background(), json.RawMessage(input), env)
	if err != nil {
		t.Fatalf("%s needs: %v", tool.Definition().Name, err)
	}
	return needs
}

// Run executes a call and fails the test on an error.
func Run(t testing.TB, tool chat.Tool, input string, env chat.Env) chat.ToolResult {
	t.Helper()
	r, err := tool.Execute(context.Background(), json.RawMessage(input), env)
	if err != nil {
		t.Fatalf("%s: %v", tool.Definition().Name, err)
	}
	return r
}
