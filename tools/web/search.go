package web

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"perch/chat"
	"perch/config"
	"perch/tools/outside"
)

//go:embed web_search.md
var searchText string

const (
	// defaultResults and maxResults are how many hits a search returns.
	defaultResults, maxResults = 8, 20
	// maxQuery is the longest query, in bytes; the services cut at less.
	maxQuery = 1000
	// searchTimeout bounds one request to a service.
	searchTimeout = 20 * time.Second
	// maxAnswer is the most that is read of a service's answer, in bytes.
	maxAnswer = 4 << 20
	// maxExcerpt bounds the excerpt of one hit, in runes.
	maxExcerpt = 500
)

// hit is one result of a web search.
type hit struct{ title, url, excerpt string }

// engine is a search service.
type engine interface {
	// request builds the request for a query.
	request(ctx context.Context, query string, n int) (*http.Request, error)
	// parse reads the answer. status is the HTTP status.
	parse(status int, body []byte) ([]hit, error)
}

type search struct {
	o      Options
	client *http.Client
}

// Search returns the tool web_search.
func Search(o Options) chat.Tool {
	o.defaults()
	return &search{o: o, client: &http.Client{
		Timeout: searchTimeout,
		Transport: &http.Transport{
			Proxy:             http.ProxyFromEnvironment, // the services are the user's own choice
			DisableKeepAlives: true, ForceAttemptHTTP2: true,
		},
	}}
}

type searchInput struct {
	Query   string `json:"query"`
	Results int    `json:"results"`
}

// Definition describes the tool.
func (*search) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "web_search", Description: searchText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"query":{"type":"string","minLength":1},
"results":{"type":"integer","minimum":1,"maximum":20,"description":"default 8"}},
"required":["query"],
"additionalProperties":false}`)}
}

// Needs names the query, which is free; after the run has read something from
// outside the runner asks about it once, since a query can carry words out.
func (*search) Needs(_ context.Context, raw json.RawMessage, _ chat.Env) ([]chat.Need, error) {
	var in searchInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	return []chat.Need{{Kind: chat.NeedNetwork, Subject: "web_search", Detail: in.Query, Free: true}}, nil
}

// Execute searches.
func (t *search) Execute(ctx context.Context, raw json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in searchInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return chat.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	in.Query = strings.TrimSpace(in.Query)
	switch {
	case in.Query == "":
		return chat.ToolResult{}, errors.New("the query is empty; say what to look for")
	case len(in.Query) > maxQuery:
		return chat.ToolResult{}, fmt.Errorf("the query has %d bytes, at most %d can be sent; use fewer words", len(in.Query), maxQuery)
	}
	n := in.Results
	if n <= 0 {
		n = defaultResults
	}
	n = min(n, maxResults)
	name, e, err := t.engine(t.o.Config())
	if err != nil {
		return chat.ToolResult{}, err
	}
	env.Progress("searching with " + name)
	hits, err := t.ask(ctx, e, in.Query, n)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("search with %s: %w", name, err)
	}
	return hitsResult(hits, n, env), nil
}

// engine is the service that the settings choose.
func (t *search) engine(c config.Web) (string, engine, error) {
	endpoint := func(name, standard string) string {
		if c.SearchURL != "" {
			return strings.TrimRight(c.SearchURL, "/")
		}
		if e := t.o.Endpoints[name]; e != "" {
			return e
		}
		return standard
	}
	key := func(standard string) (string, error) {
		name := c.SearchKeyEnv
		if name == "" {
			name = standard
		}
		if k := t.o.Key(name); k != "" {
			return k, nil
		}
		return "", fmt.Errorf("web search is set to %q, but there is no key in %s; set that variable, or choose another service with search under [web] in config.toml (duckduckgo needs no key)", c.Search, name)
	}
	switch c.Search {
	case "", "duckduckgo":
		return "DuckDuckGo", duckduckgo{endpoint("duckduckgo", "https://html.duckduckgo.com")}, nil
	case "searxng":
		u := endpoint("searxng", "")
		if u == "" {
			return "", nil, errors.New(`web search is set to "searxng", but there is no address; set search_url under [web] in config.toml`)
		}
		return "SearXNG", searxng{u}, nil
	case "brave":
		k, err := key("BRAVE_API_KEY")
		return "Brave", brave{endpoint("brave", "https://api.search.brave.com"), k}, err
	case "tavily":
		k, err := key("TAVILY_API_KEY")
		return "Tavily", tavily{endpoint("tavily", "https://api.tavily.com"), k}, err
	}
	return "", nil, fmt.Errorf("%q is no search service that is known; set search under [web] in config.toml to duckduckgo, searxng, brave or tavily", c.Search)
}

// ask sends one query.
func (t *search) ask(ctx context.Context, e engine, query string, n int) ([]hit, error) {
	req, err := e.request(ctx, query, n)
	if err != nil {
		return nil, err
	}
	res, err := t.client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the address, which may hold the query
		}
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fmt.Errorf("%s could not be reached: %w", req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", req.URL.Host, err)
	}
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%s refused (status %d); check the key, or the service's settings", req.URL.Host, res.StatusCode)
	case http.StatusPaymentRequired:
		return nil, fmt.Errorf("%s says that the credit is used up (status 402); top it up, or choose another service under [web]", req.URL.Host)
	case http.StatusTooManyRequests:
		return nil, fmt.Errorf("%s has had too many requests (status 429); wait a minute, or choose another service under [web]", req.URL.Host)
	}
	return e.parse(res.StatusCode, body)
}

// hitsResult renders hits and remembers their addresses, which web_fetch may
// then open without a question.
func hitsResult(hits []hit, n int, env chat.Env) chat.ToolResult {
	var b strings.Builder
	var r chat.ToolResult
	seen := map[string]bool{}
	for _, h := range hits {
		u, err := url.Parse(h.url)
		if err != nil || checkURL(u) != nil || seen[h.url] || len(r.Sources) >= n {
			continue
		}
		seen[h.url] = true
		env.AddAddress(h.url)
		title := strings.Join(strings.Fields(outside.Clean(h.title)), " ")
		excerpt := []rune(strings.Join(strings.Fields(outside.Clean(h.excerpt)), " "))
		if len(excerpt) > maxExcerpt {
			excerpt = append(excerpt[:maxExcerpt:maxExcerpt], '…')
		}
		fmt.Fprintf(&b, "%d. %s\n   %s\n", len(r.Sources)+1, title, u)
		if len(excerpt) > 0 {
			b.WriteString("   " + string(excerpt) + "\n")
		}
		r.Sources = append(r.Sources, chat.Source{Title: title, Path: h.url})
	}
	if len(r.Sources) == 0 {
		return chat.ToolResult{Text: "The search found nothing. Try other words, or fewer."}
	}
	r.Text = outside.Mark("web search", b.String())
	return r
}
