//go:build unix

package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"perch/config"
	"perch/tools/toolstest"
)

// guarded is an MCP server behind a sign-in, with its own authorization server:
// discovery, registration, PKCE, rotation of refresh tokens.
type guarded struct {
	*httptest.Server
	mu         sync.Mutex
	n          int
	challenges map[string]string // code → PKCE challenge
	valid      map[string]bool   // access tokens
	refresh    string            // the only refresh token that counts
	lifetime   time.Duration
	registered int
	refreshed  int
	silent     bool // no metadata
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{challenges: map[string]string{}, valid: map[string]bool{}, lifetime: time.Hour}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		if g.silent {
			http.NotFound(w, r)
			return
		}
		reply(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		if g.silent {
			http.NotFound(w, r)
			return
		}
		reply(w, map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.URL + "/auth", "token_endpoint": g.URL + "/token", "registration_endpoint": g.URL + "/reg",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})
	})
	mux.HandleFunc("POST /reg", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		g.mu.Lock()
		g.registered++
		g.mu.Unlock()
		in["client_id"] = "registered-client"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	})
	mux.HandleFunc("GET /auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		g.mu.Lock()
		g.n++
		code := fmt.Sprintf("code-%d", g.n)
		g.challenges[code] = q.Get("code_challenge")
		g.mu.Unlock()
		back := q.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back, http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		g.mu.Lock()
		defer g.mu.Unlock()
		bad := func() {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		}
		switch r.Form.Get("grant_type") {
		case "authorization_code":
			sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
			want, ok := g.challenges[r.Form.Get("code")]
			if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != want {
				bad()
				return
			}
			delete(g.challenges, r.Form.Get("code"))
		case "refresh_token":
			if g.refresh == "" || r.Form.Get("refresh_token") != g.refresh {
				bad()
				return
			}
			g.refreshed++
		}
		g.n++
		access := fmt.Sprintf("access-%d", g.n)
		g.refresh = fmt.Sprintf("refresh-%d", g.n)
		g.valid[access] = true
		reply(w, map[string]any{"access_token": access, "token_type": "Bearer", "refresh_token": g.refresh, "expires_in": int(g.lifetime.Seconds())})
	})
	server := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "secret", Description: "x"}, func(context.Context, *sdk.CallToolRequest, textInput) (*sdk.CallToolResult, any, error) {
		return textResult("only for you"), nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	check := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.valid[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	g.Server = httptest.NewUnstartedServer(mux)
	g.Start()
	mux.Handle("/mcp", auth.RequireBearerToken(check, &auth.RequireBearerTokenOptions{ResourceMetadataURL: g.URL + "/.well-known/oauth-protected-resource/mcp"})(handler))
	t.Cleanup(func() { g.CloseClientConnections(); g.Close() })
	return g
}

// browser opens an address as a user's browser would, and signs in.
func browser(u string) error {
	res, err := http.Get(u)
	if err != nil {
		return err
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return nil
}

func TestServerThatAsksToSignInIsSignedInOnceAndRefreshed(t *testing.T) {
	g := newGuarded(t)
	tokens := &memoryTokens{}
	connectors := map[string]config.Connector{"g": {URL: g.URL + "/mcp"}}
	m, n := manage(t, connectors, WithTokens(tokens))
	if tools := m.Tools(); len(tools) != 0 {
		t.Fatalf("tools without a sign-in: %v", names(tools))
	}
	if s := m.Status(); s[0].State != "sign_in" || !n.has("asks you to sign in") || n.count() != 1 {
		t.Errorf("%+v, notices %v", s, n.list)
	}
	if err := m.SignIn(context.Background(), "g", browser); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tools are there", func() bool { return len(m.Tools()) == 1 })
	r, err := call(find(t, m.Tools(), "g__secret"), toolstest.NewEnv(t), `{}`)
	if err != nil || !strings.Contains(r.Text, "only for you") {
		t.Errorf("%+v %v", r, err)
	}
	m.Close()

	// A second start uses what was stored, refreshes it, and keeps the rotated token.
	var si signIn
	data, _ := tokens.Token("g")
	if err := json.Unmarshal(data, &si); err != nil || si.ClientID != "registered-client" {
		t.Fatalf("%s %v", data, err)
	}
	si.Token.Expiry = time.Now().Add(-time.Minute)
	old := si.Token.RefreshToken
	data, _ = json.Marshal(si)
	_ = tokens.SaveToken("g", data)
	m, n = manage(t, connectors, WithTokens(tokens))
	find(t, m.Tools(), "g__secret")
	data, _ = tokens.Token("g")
	_ = json.Unmarshal(data, &si)
	if g.refreshed != 1 || g.registered != 1 || si.Token.RefreshToken == old || n.count() != 0 {
		t.Errorf("refreshed %d, registered %d, rotated %v, notices %v", g.refreshed, g.registered, si.Token.RefreshToken != old, n.list)
	}
	m.Close()

	// A refused refresh asks to sign in again and wipes nothing.
	si.Token.Expiry = time.Now().Add(-time.Minute)
	si.Token.RefreshToken = "stolen"
	data, _ = json.Marshal(si)
	_ = tokens.SaveToken("g", data)
	m, n = manage(t, connectors, WithTokens(tokens))
	if len(m.Tools()) != 0 || m.Status()[0].State != "sign_in" {
		t.Errorf("%+v %v", m.Status(), n.list)
	}
	if after, _ := tokens.Token("g"); string(after) != string(data) {
		t.Error("the stored sign-in was wiped")
	}
}

func TestSignInWithAddressesOfTheSettings(t *testing.T) {
	g := newGuarded(t)
	g.silent = true
	m, _ := manage(t, map[string]config.Connector{"g": {URL: g.URL + "/mcp", OAuth: &config.OAuth{
		AuthURL: g.URL + "/auth", TokenURL: g.URL + "/token", ClientID: "mine",
	}}})
	m.Tools()
	if err := m.SignIn(context.Background(), "g", browser); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tools are there", func() bool { return len(m.Tools()) == 1 })
	if g.registered != 0 {
		t.Error("a client was registered although one was given")
	}
}

func TestSignInThatFailsSaysSo(t *testing.T) {
	g := newGuarded(t)
	m, _ := manage(t, map[string]config.Connector{"g": {URL: g.URL + "/mcp"}, "local": fault("plain")})
	m.Tools()
	refuse := func(u string) error {
		p, _ := url.Parse(u)
		return browser(p.Query().Get("redirect_uri") + "?error=access_denied&error_description=not+today")
	}
	if err := m.SignIn(context.Background(), "g", refuse); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("%v", err)
	}
	if err := m.SignIn(context.Background(), "g", func(string) error { return errors.New("no browser") }); err == nil || !strings.Contains(err.Error(), "no browser") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := m.SignIn(ctx, "g", func(string) error { return nil }); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"local", "missing"} {
		if err := m.SignIn(context.Background(), name, browser); err == nil {
			t.Errorf("%s: signed in", name)
		}
	}
}

func TestHeadersGoToTheConnectorsOwnHostOnly(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]string{}
	note := func(where string, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[where] += r.Header.Get("X-Key")
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("other", r)
		http.NotFound(w, r)
	}))
	defer other.Close()
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("own", r)
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer own.Close()
	m, _ := manage(t, map[string]config.Connector{"h": {URL: own.URL, Headers: map[string]string{"X-Key": "secret"}}}, withTimes(3*time.Second, 5*time.Second, time.Hour))
	m.Tools()
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(seen["own"], "secret") || strings.Contains(seen["other"], "secret") {
		t.Errorf("%v", seen)
	}
}
