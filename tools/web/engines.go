package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// queryRequest builds a GET request with a query.
func queryRequest(ctx context.Context, base string, q url.Values) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"?"+q.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("the address of the search service (%s) is not valid: %w", base, err)
	}
	req.Header.Set("User-Agent", userAgent)
	return req, nil
}

// decodeAnswer reads a JSON answer of a service.
func decodeAnswer(status int, body []byte, into any) error {
	if status != http.StatusOK {
		return fmt.Errorf("the service answered with status %d: %s", status, beginning(body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the service's answer is no JSON (%s); check search_url under [web]", beginning(body))
	}
	return nil
}

func beginning(b []byte) string {
	s := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(string(b[:min(len(b), 1000)]), "\uFFFD")), " "))
	if len(s) > 120 {
		s = append(s[:120:120], '…')
	}
	return string(s)
}

// searxng is a SearXNG instance with its JSON format switched on.
type searxng struct{ base string }

func (e searxng) request(ctx context.Context, query string, _ int) (*http.Request, error) {
	return queryRequest(ctx, e.base+"/search", url.Values{"q": {query}, "format": {"json"}})
}

func (searxng) parse(status int, body []byte) ([]hit, error) {
	var a struct {
		Results []struct{ Title, URL, Content string }
	}
	if err := decodeAnswer(status, body, &a); err != nil {
		return nil, err
	}
	var out []hit
	for _, r := range a.Results {
		out = append(out, hit{r.Title, r.URL, r.Content})
	}
	return out, nil
}

// brave is the Brave Search API.
type brave struct{ base, key string }

func (e brave) request(ctx context.Context, query string, n int) (*http.Request, error) {
	req, err := queryRequest(ctx, e.base+"/res/v1/web/search", url.Values{"q": {query}, "count": {strconv.Itoa(n)}, "text_decorations": {"false"}})
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", e.key)
	req.Header.Set("Accept", "application/json")
	return req, nil
}

func (brave) parse(status int, body []byte) ([]hit, error) {
	var a struct {
		Web struct {
			Results []struct{ Title, URL, Description string }
		}
	}
	if err := decodeAnswer(status, body, &a); err != nil {
		return nil, err
	}
	var out []hit
	for _, r := range a.Web.Results {
		out = append(out, hit{plainText(r.Title), r.URL, plainText(r.Description)})
	}
	return out, nil
}

// plainText takes the markup off a snippet.
func plainText(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	return stripTags(s)
}

// tavily is the Tavily search API.
type tavily struct{ base, key string }

func (e tavily) request(ctx context.Context, query string, n int) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": n})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+"/search", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the address of the search service (%s) is not valid: %w", e.base, err)
	}
	req.Header.Set("Authorization", "Bearer "+e.key)
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

func (tavily) parse(status int, body []byte) ([]hit, error) {
	var a struct {
		Results []struct{ Title, URL, Content string }
	}
	if err := decodeAnswer(status, body, &a); err != nil {
		return nil, err
	}
	var out []hit
	for _, r := range a.Results {
		out = append(out, hit{r.Title, r.URL, r.Content})
	}
	return out, nil
}

// duckduckgo reads the result page that DuckDuckGo makes for browsers without
// scripts. It needs no key; a service that is asked too often asks back for a
// person.
type duckduckgo struct{ base string }

func (e duckduckgo) request(ctx context.Context, query string, _ int) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+"/html/", strings.NewReader(url.Values{"q": {query}}.Encode()))
	if err != nil {
		return nil, fmt.Errorf("the address of the search service (%s) is not valid: %w", e.base, err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "text/html")
	return req, nil
}

// errPerson is the answer to a page that wants to see a person.
var errPerson = errors.New("it wants to see a person, as it does after many searches; wait some minutes, or set up searxng, brave or tavily under [web] in config.toml")

func (duckduckgo) parse(status int, body []byte) ([]hit, error) {
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("its page cannot be read: %w", err)
	}
	var out []hit
	empty := false
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case n.DataAtom == atom.A && (hasClass(n, "result__a") || hasClass(n, "result-link")):
			if !inAdvert(n) {
				out = append(out, hit{title: textOf(n), url: unwrapDuck(attr(n, "href"))})
			}
		case hasClass(n, "result__snippet") || hasClass(n, "result-snippet"):
			if len(out) > 0 && !inAdvert(n) && out[len(out)-1].excerpt == "" {
				out[len(out)-1].excerpt = textOf(n)
			}
		case hasClass(n, "no-results") || hasClass(n, "no-results-message"):
			empty = true
		}
	}
	switch {
	case len(out) > 0 || empty:
		return out, nil
	case status == http.StatusAccepted || bytes.Contains(body, []byte("anomaly")) || bytes.Contains(body, []byte("challenge")):
		return nil, errPerson
	case status != http.StatusOK:
		return nil, fmt.Errorf("the service answered with status %d", status)
	}
	return nil, errors.New("its page has another form than the one that is known; set up searxng, brave or tavily under [web] in config.toml")
}

func hasClass(n *html.Node, class string) bool {
	for _, c := range strings.Fields(attr(n, "class")) {
		if c == class {
			return true
		}
	}
	return false
}

// inAdvert reports whether a node belongs to an advertisement.
func inAdvert(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if hasClass(n, "result--ad") || hasClass(n, "result-sponsored") {
			return true
		}
	}
	return false
}

// unwrapDuck takes the address out of DuckDuckGo's own redirect.
func unwrapDuck(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return href
	}
	if strings.HasSuffix(u.Path, "/l/") {
		if target := u.Query().Get("uddg"); target != "" {
			return target
		}
	}
	if u.Scheme == "" && u.Host != "" {
		u.Scheme = "https"
	}
	return u.String()
}
