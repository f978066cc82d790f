package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// Ranges of settings. Outside them Perch could not keep what it promises.
const (
	minCompactAt = 0.1  // below, every turn would compact
	maxCompactAt = 0.95 // above, an answer would not fit any more
	minTextScale = 0.5
	maxTextScale = 3
	maxRetries   = 20
	maxResults   = 50 // of a knowledge search: more would fill the window
	maxSessions  = 32 // at once
)

// Values that a setting may have.
var (
	wires     = []string{"anthropic", "openai-responses", "openai-chat", "gemini", "ollama", "builtin"}
	languages = []string{"", "en", "de", "ru", "zh"}
	themes    = []string{"", "light", "dark"}
	searches  = []string{"", "duckduckgo", "searxng", "brave", "tavily"}
	backends  = []string{"bolt", "postgres"}
	reasoning = []string{"", "none", "low", "medium", "high"}
)

// badValue is a setting whose value cannot be used.
type badValue struct {
	key  []string
	what string
}

// checker keeps the first bad value.
type checker struct{ bad *badValue }

func (c *checker) fail(key []string, format string, args ...any) {
	if c.bad == nil {
		c.bad = &badValue{key, strings.Join(key, ".") + " " + fmt.Sprintf(format, args...)}
	}
}

func number[T int | float64](c *checker, key string, v, low, high T) {
	if !(v >= low && v <= high) { // written so that NaN fails
		c.fail(strings.Split(key, "."), "is %v; it must be between %v and %v", v, low, high)
	}
}

func (c *checker) atLeast(v float64, low float64, key ...string) {
	if !(v >= low) {
		c.fail(key, "is %v; it must be at least %v", v, low)
	}
}

func (c *checker) oneOf(v string, allowed []string, key ...string) {
	if !slices.Contains(allowed, v) {
		c.fail(key, "is %q; it must be one of %s", v, quoted(allowed))
	}
}

func (c *checker) address(v string, schemes []string, key ...string) {
	if v == "" {
		return
	}
	u, err := url.Parse(v)
	if err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme) {
		return
	}
	// An address may hold a password, and a mistake is shown and logged.
	shown := "no address"
	if err == nil && u.User == nil && !strings.Contains(v, "@") {
		shown = fmt.Sprintf("%q", v)
	}
	c.fail(key, "is %s; it must be an address that begins with %s://", shown, strings.Join(schemes, ":// or "))
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}

var http = []string{"http", "https"}

// check returns the first setting whose value cannot be used, or nil.
func check(s Config) *badValue {
	c := &checker{}
	c.oneOf(s.Language, languages, "language")
	number(c, "context.compact_at", s.Context.CompactAt, minCompactAt, maxCompactAt)
	number(c, "limits.retries", s.Limits.Retries, 0, maxRetries)
	c.atLeast(float64(s.Limits.Rounds), 1, "limits", "rounds")
	c.atLeast(s.Limits.CostPerRun, 0, "limits", "cost_per_run")
	c.atLeast(s.Limits.CostPerDay, 0, "limits", "cost_per_day")
	number(c, "limits.concurrency", s.Limits.Concurrency, 1, maxSessions)
	c.atLeast(float64(s.Popup.ResumeMinutes), 0, "popup", "resume_minutes")
	c.oneOf(s.Popup.Theme, themes, "popup", "theme")
	number(c, "popup.text_scale", s.Popup.TextScale, minTextScale, maxTextScale)
	c.atLeast(float64(s.Notify.AfterSeconds), 0, "notify", "after_seconds")
	for _, name := range sortedKeys(s.Providers) {
		c.provider(name, s.Providers[name])
	}
	c.oneOf(s.KB.Backend, backends, "kb", "backend")
	if s.KB.Backend == "postgres" && s.KB.PostgresURL == "" {
		c.fail([]string{"kb", "backend"}, "is \"postgres\", which needs kb.postgres_url")
	}
	c.address(s.KB.PostgresURL, []string{"postgres", "postgresql"}, "kb", "postgres_url")
	c.atLeast(s.KB.VectorWeight, 0, "kb", "vector_weight")
	c.atLeast(s.KB.KeywordWeight, 0, "kb", "keyword_weight")
	if s.KB.VectorWeight+s.KB.KeywordWeight == 0 {
		c.fail([]string{"kb", "keyword_weight"}, "and kb.vector_weight are both 0; one must be more")
	}
	number(c, "kb.threshold", s.KB.Threshold, 0, 1)
	number(c, "kb.results", s.KB.Results, 1, maxResults)
	c.atLeast(float64(s.KB.MaxFileMB), 1, "kb", "max_file_mb")
	c.oneOf(s.Web.Search, searches, "web", "search")
	c.address(s.Web.SearchURL, http, "web", "search_url")
	if s.Web.Search == "searxng" && s.Web.SearchURL == "" {
		c.fail([]string{"web", "search"}, "is \"searxng\", which needs web.search_url")
	}
	c.atLeast(float64(s.Sandbox.TimeoutSeconds), 1, "sandbox", "timeout_seconds")
	for _, name := range sortedKeys(s.Connectors) {
		c.connector(name, s.Connectors[name])
	}
	for _, p := range s.Prompts {
		if p.Name == "" || p.Text == "" {
			c.fail([]string{"prompts"}, "has an entry without a name or a text")
		}
	}
	return c.bad
}

func (c *checker) provider(name string, p Provider) {
	at := func(key string) []string { return []string{"providers", name, key} }
	if name == "" || strings.ContainsAny(name, "/ \t") {
		c.fail([]string{"providers", name}, "is no name for a provider; it must have no slash and no blank")
	}
	if p.Wire != "" {
		c.oneOf(p.Wire, wires, at("wire")...)
	}
	c.address(p.BaseURL, http, at("base_url")...)
	c.oneOf(p.Reasoning, reasoning, at("reasoning")...)
	c.atLeast(float64(p.FirstEventSeconds), 0, at("first_event_seconds")...)
	c.atLeast(float64(p.IdleSeconds), 0, at("idle_seconds")...)
	for _, m := range p.Models {
		if m.ID == "" {
			c.fail(at("models"), "has an entry without an id")
		}
		c.atLeast(float64(m.ContextWindow), 0, append(at("models"), "context_window")...)
		c.atLeast(float64(m.MaxOutput), 0, append(at("models"), "max_output")...)
	}
}

func (c *checker) connector(name string, n Connector) {
	at := []string{"connectors", name}
	if (len(n.Command) == 0) == (n.URL == "") {
		c.fail(at, "needs either a command or a url")
	}
	c.address(n.URL, http, append(at, "url")...)
	c.atLeast(float64(n.TimeoutSeconds), 0, append(at, "timeout_seconds")...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// allNames are the keys that a settings file can have, at any depth.
func allNames() map[string]bool {
	names := map[string]bool{}
	collectNames(reflect.TypeFor[Config](), names)
	return names
}

func collectNames(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collectNames(t.Elem(), names)
	case reflect.Struct:
		for f := range t.Fields() {
			names[f.Tag.Get("toml")] = true
			collectNames(f.Type, names)
		}
	}
}
