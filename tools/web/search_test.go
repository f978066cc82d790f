package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"perch/chat"
	"perch/config"
	"perch/tools/toolstest"
)

const duckPage = `<html><body><div class="serp__results">
<div class="result results_links results_links_deep result--ad"><h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/y.js?ad=1">Buy fish</a></h2><a class="result__snippet">An advert</a></div>
<div class="result results_links results_links_deep web-result"><h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fen.wikipedia.org%2Fwiki%2FPerch&amp;rut=abc">Perch - <b>Wikipedia</b></a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">A <b>perch</b> is a freshwater fish &amp; more.</a></div>
<div class="result web-result"><a class="result__a" href="https://example.org/perch?a=1&amp;b=2">Second</a><div class="result__snippet">Other</div></div>
<div class="result web-result"><a class="result__a" href="javascript:alert(1)">Bad</a></div>
<div class="result web-result"><a class="result__a" href="https://example.org/perch?a=1&amp;b=2">Second again</a></div>
</div></body></html>`

func TestEachServiceIsAskedInItsOwnWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer string
		check  func(r *http.Request, body string) string // a problem, or ""
	}{
		{"", duckPage, func(r *http.Request, body string) string {
			if r.Method != "POST" || r.URL.Path != "/html/" || body != "q=perch+fish" {
				return fmt.Sprint(r.Method, r.URL, body)
			}
			return ""
		}},
		{"searxng", `{"results":[{"title":"Perch - Wikipedia","url":"https://en.wikipedia.org/wiki/Perch","content":"A perch is a freshwater fish & more."},{"title":"Second","url":"https://example.org/perch?a=1&b=2","content":"Other"}]}`,
			func(r *http.Request, _ string) string {
				if r.URL.Path != "/search" || r.URL.Query().Get("format") != "json" || r.URL.Query().Get("q") != "perch fish" {
					return r.URL.String()
				}
				return ""
			}},
		{"brave", `{"web":{"results":[{"title":"Perch - <strong>Wikipedia</strong>","url":"https://en.wikipedia.org/wiki/Perch","description":"A <strong>perch</strong> is a freshwater fish &amp; more."},{"title":"Second","url":"https://example.org/perch?a=1&b=2","description":"Other"}]}}`,
			func(r *http.Request, _ string) string {
				if r.URL.Path != "/res/v1/web/search" || r.Header.Get("X-Subscription-Token") != "secret-key" || r.URL.Query().Get("count") != "8" {
					return fmt.Sprint(r.URL, r.Header)
				}
				return ""
			}},
		{"tavily", `{"results":[{"title":"Perch - Wikipedia","url":"https://en.wikipedia.org/wiki/Perch","content":"A perch is a freshwater fish & more."},{"title":"Second","url":"https://example.org/perch?a=1&b=2","content":"Other"}]}`,
			func(r *http.Request, body string) string {
				if r.URL.Path != "/search" || r.Header.Get("Authorization") != "Bearer secret-key" || !strings.Contains(body, `"query":"perch fish"`) {
					return fmt.Sprint(r.URL, r.Header, body)
				}
				return ""
			}},
	} {
		problem := "was not asked"
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			problem = c.check(r, string(b))
			fmt.Fprint(w, c.answer)
		}))
		tool := Search(Options{
			Config: func() config.Web { return config.Web{Search: c.name, SearchURL: s.URL + "/"} },
			Key:    func(string) string { return "secret-key" },
		})
		env := toolstest.NewEnv(t)
		r := toolstest.Run(t, tool, `{"query":"perch fish"}`, env)
		s.Close()
		if problem != "" {
			t.Errorf("%q: %s", c.name, problem)
		}
		want := "<outside source=\"web search\">\n1. Perch - Wikipedia\n   https://en.wikipedia.org/wiki/Perch\n   A perch is a freshwater fish & more.\n2. Second\n   https://example.org/perch?a=1&b=2\n   Other\n</outside>"
		if r.Text != want {
			t.Errorf("%q: got %s", c.name, r.Text)
		}
		if !env.KnownAddress("https://example.org/perch?a=1&b=2") || len(env.Addresses()) != 2 || len(r.Sources) != 2 {
			t.Errorf("%q: addresses %v, sources %v", c.name, env.Addresses(), r.Sources)
		}
	}
}

func TestSearchIsFreeAndShowsItsQuery(t *testing.T) {
	n := toolstest.Needs(t, Search(Options{}), `{"query":"perch"}`, toolstest.NewEnv(t))
	if len(n) != 1 || n[0].Kind != chat.NeedNetwork || !n[0].Free || n[0].Detail != "perch" {
		t.Errorf("%+v", n)
	}
}

func TestSearchFailuresSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		web    config.Web
		key    string
		status int
		answer string
		want   string
	}{
		{"no address", config.Web{Search: "searxng"}, "", 0, "", "set search_url"},
		{"no key", config.Web{Search: "brave"}, "", 0, "", "no key in BRAVE_API_KEY"},
		{"no key in own variable", config.Web{Search: "tavily", SearchKeyEnv: "MY_KEY"}, "", 0, "", "no key in MY_KEY"},
		{"unknown", config.Web{Search: "altavista"}, "", 0, "", "duckduckgo, searxng, brave or tavily"},
		{"bad address", config.Web{Search: "searxng", SearchURL: "::"}, "", 0, "", "search service"},
		{"unreachable", config.Web{Search: "searxng", SearchURL: "http://127.0.0.1:1"}, "", 0, "", "could not be reached"},
		{"refused", config.Web{Search: "brave"}, "k", 401, "", "check the key"},
		{"credit", config.Web{Search: "tavily"}, "k", 402, "", "credit"},
		{"too many", config.Web{Search: "brave"}, "k", 429, "", "wait a minute"},
		{"server error", config.Web{Search: "brave"}, "k", 500, "oops", "status 500: oops"},
		{"html instead of json", config.Web{Search: "searxng"}, "", 200, "<html>", "no JSON"},
		{"person wanted", config.Web{}, "", 202, `<div class="anomaly-modal">`, "wants to see a person"},
		{"other page", config.Web{}, "", 200, `<html><body>hello`, "another form"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
		}))
		if c.status != 0 && c.web.SearchURL == "" {
			c.web.SearchURL = s.URL
		}
		tool := Search(Options{Config: func() config.Web { return c.web }, Key: func(string) string { return c.key }})
		_, err := tool.Execute(context.Background(), json.RawMessage(`{"query":"my private words"}`), toolstest.NewEnv(t))
		s.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "private words") || c.key != "" && strings.Contains(err.Error(), " k ")) {
			t.Errorf("%s: the error repeats query or key: %v", c.name, err)
		}
	}
	for _, in := range []string{`{"query":" "}`, `{"query":"` + strings.Repeat("x", 2000) + `"}`} {
		if _, err := Search(Options{}).Execute(context.Background(), json.RawMessage(in), toolstest.NewEnv(t)); err == nil {
			t.Errorf("%.20s was sent", in)
		}
	}
}

func TestNothingFoundIsNoError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<html><body><div class="no-results">No results.</div></body></html>`)
	}))
	defer s.Close()
	tool := Search(Options{Endpoints: map[string]string{"duckduckgo": s.URL}})
	if r := toolstest.Run(t, tool, `{"query":"zxqj"}`, toolstest.NewEnv(t)); !strings.Contains(r.Text, "found nothing") {
		t.Errorf("%q", r.Text)
	}
}
