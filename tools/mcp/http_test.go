//go:build unix

package mcp

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"perch/config"
)

func TestAddressesThatAreNoServerCostANoticeOnly(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Welcome</html>")
		}, ""},
		"an error":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", http.StatusInternalServerError) }, ""},
		"nothing there": {http.NotFound, ""},
		"silence": {func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, "did not answer within"},
		"json without end": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"a":"`)
			block := strings.Repeat("a", 1<<20)
			for range 2 * maxMessage >> 20 {
				if _, err := fmt.Fprint(w, block); err != nil {
					return
				}
			}
		}, ""},
		"events without end": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := fmt.Fprint(w, ": keep-alive\n\n"); err != nil {
					return
				}
			}
		}, ""},
		"a loop": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has gone
				c.handler(w, r)
			}))
			defer s.Close()
			m, n := manage(t, map[string]config.Connector{"web": {URL: s.URL + "/mcp"}}, withTimes(2*time.Second, 15*time.Second, time.Hour))
			begin := time.Now()
			if tools := m.Tools(); len(tools) != 0 {
				t.Errorf("tools %v", names(tools))
			}
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
			if n.count() != 1 || !n.has("The connector web is not available: ") || !n.has(c.want) {
				t.Errorf("notices %q", n.list)
			}
			m.Close()
		})
	}
}
