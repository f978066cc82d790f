package providertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/anthropic"
	"perch/providers/openaichat"
	"perch/providers/openairesponses"
	"perch/providers/providertest"
)

// A server that does not know a member gets the request without it, now and
// from then on; other refusals are not asked twice.
func TestAMemberThatAServerRefusesIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		make   func(providers.Endpoint) *providers.Server
		vendor string
		member string
		error  string
		stream string
		asked  int
		class  chat.Class
	}{
		"max_tokens":     {openaichat.New, "", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", plays["chat"].text, 3, ""},
		"stream options": {openaichat.New, "", "stream_options", "Extra inputs are not permitted: stream_options", plays["chat"].text, 3, ""},
		"summaries":      {openairesponses.New, "", "reasoning", "Your organization must be verified to generate reasoning summaries.", plays["responses"].text, 3, ""},
		"effort":         {anthropic.New, "", "thinking", "This model does not support effort level 'high'.", plays["anthropic"].text, 3, ""},
		"another fault":  {openaichat.New, "", "messages", "Invalid messages", "", 2, chat.ClassBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				body, _ := io.ReadAll(r.Body)
				var m map[string]json.RawMessage
				_ = json.Unmarshal(body, &m)
				if v, ok := m[c.member]; ok && string(v) != `{"effort":"high"}` {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"error":{"message":%q}}`, c.error)
					return
				}
				fmt.Fprint(w, c.stream)
			}))
			defer srv.Close()
			p := c.make(providers.Endpoint{Name: "v", BaseURL: srv.URL, NoKey: true, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
			for range 2 {
				req := providertest.Request("v", "claude-x")
				req.Reasoning = "high"
				if s := providertest.Drain(context.Background(), p, req); chat.ClassOf(s.Err) != c.class {
					t.Fatal(s.Err)
				}
			}
			if asked != c.asked {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
		})
	}
}
