package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"perch/config"
)

// TokenStore keeps a connector's sign-in between starts of the program, as the
// keyring does. The data are a secret.
type TokenStore interface {
	// Token returns what was saved last under that name, nil for nothing.
	Token(connector string) ([]byte, error)
	SaveToken(connector string, data []byte) error
}

// signInTimeout is how long a user has to sign in, in a browser.
const signInTimeout = 5 * time.Minute

// errSignIn is the state of a server that wants its user to sign in.
var errSignIn = errors.New("it asks you to sign in; do so under Connectors in the settings, or with perch auth login and its name")

// signIn is what is kept of a sign-in: all that a refresh needs.
type signIn struct {
	URL          string        `json:"url"` // of the connector: a sign-in counts for it only
	ClientID     string        `json:"client_id"`
	ClientSecret string        `json:"client_secret,omitempty"`
	TokenURL     string        `json:"token_url"`
	AuthStyle    int           `json:"auth_style,omitempty"`
	Scopes       []string      `json:"scopes,omitempty"`
	Token        *oauth2.Token `json:"token"`
}

// config is what the oauth2 package needs to refresh.
func (si *signIn) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: si.ClientID, ClientSecret: si.ClientSecret, Scopes: si.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: si.TokenURL, AuthStyle: oauth2.AuthStyle(si.AuthStyle)},
	}
}

// memoryTokens is a store for as long as the program runs.
type memoryTokens struct{ m sync.Map }

func (t *memoryTokens) Token(name string) ([]byte, error) {
	if v, ok := t.m.Load(name); ok {
		return v.([]byte), nil
	}
	return nil, nil
}

func (t *memoryTokens) SaveToken(name string, data []byte) error {
	t.m.Store(name, data)
	return nil
}

// stored reads the sign-in of this server, nil for none.
func (s *server) stored() (*signIn, error) {
	data, err := s.m.tokens.Token(s.name)
	if err != nil {
		return nil, fmt.Errorf("its sign-in cannot be read: %w", err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	var si signIn
	if json.Unmarshal(data, &si) != nil || si.URL != s.cfg.URL || si.Token == nil {
		return nil, nil // of another address, or of no use: sign in again
	}
	return &si, nil
}

func (s *server) save(si *signIn) error {
	data, err := json.Marshal(si)
	if err != nil {
		return err
	}
	if err := s.m.tokens.SaveToken(s.name, data); err != nil {
		return fmt.Errorf("the sign-in of %s cannot be kept: %w", s.name, err)
	}
	return nil
}

// savingSource refreshes a token and stores a new one before it is used: a server
// that rotates refresh tokens accepts the old one once only.
type savingSource struct {
	s    *server
	mu   sync.Mutex // protects si and src
	si   *signIn
	src  oauth2.TokenSource
	http *http.Client
}

func (s *server) source(si *signIn) *savingSource {
	c := &http.Client{Timeout: 30 * time.Second}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, c)
	return &savingSource{s: s, si: si, http: c, src: si.config().TokenSource(ctx, si.Token)}
}

// Token returns a valid token.
func (t *savingSource) Token() (*oauth2.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tok, err := t.src.Token()
	if err != nil {
		return nil, err
	}
	if tok.AccessToken != t.si.Token.AccessToken || tok.RefreshToken != t.si.Token.RefreshToken {
		next := *t.si
		next.Token = tok
		if err := t.s.save(&next); err != nil {
			return nil, err
		}
		t.si = &next
	}
	return tok, nil
}

// quietAuth uses a stored sign-in and never asks: a window must not open because
// a program was started.
type quietAuth struct {
	s   *server
	src oauth2.TokenSource
}

// TokenSource returns the stored sign-in's, or nil.
func (a *quietAuth) TokenSource(context.Context) (oauth2.TokenSource, error) { return a.src, nil }

// Authorize notes that the server asks to sign in.
func (a *quietAuth) Authorize(_ context.Context, _ *http.Request, res *http.Response) error {
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxMessage)) // so that the connection can be used again
	a.s.mu.Lock()
	a.s.asked = true
	a.s.mu.Unlock()
	return errSignIn
}

// authHandler is the handler of a connection: the given one, or the quiet one.
func (s *server) authHandler(loud auth.OAuthHandler) (auth.OAuthHandler, error) {
	s.mu.Lock()
	s.asked = false
	s.mu.Unlock()
	if loud != nil {
		return loud, nil
	}
	si, err := s.stored()
	if err != nil {
		return nil, err
	}
	a := &quietAuth{s: s}
	if si != nil {
		a.src = s.source(si)
	}
	return a, nil
}

// wasAsked reports whether the server asked to sign in since the handler was made.
func (s *server) wasAsked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// SignIn signs in at a connector: open is given the address for the user's
// browser, and the answer comes back to a listener on loopback. It returns when
// the sign-in is stored and the connector is being started with it.
func (m *Manager) SignIn(ctx context.Context, name string, open func(url string) error) error {
	s, err := m.get(name)
	if err != nil {
		return err
	}
	if s.cfg.URL == "" {
		return fmt.Errorf("the connector %s is a program on this computer; only connectors with a url sign in", name)
	}
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	back, err := listenForCode()
	if err != nil {
		return err
	}
	defer back.close()
	h, err := s.loudAuth(back, open)
	if err != nil {
		return err
	}
	t := &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: s.httpClient(ctx), OAuthHandler: h, DisableStandaloneSSE: true, MaxRetries: -1}
	session, err := s.client().Connect(ctx, t, nil)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("sign in at %s: it was not finished in time; try again: %w", name, ctx.Err())
		}
		return fmt.Errorf("sign in at %s: %s", name, shorten(err.Error()))
	}
	_ = session.Close() // it only served to sign in
	select {
	case s.retry <- struct{}{}:
	default:
	}
	return nil
}

// SignOut forgets the sign-in of a connector.
func (m *Manager) SignOut(name string) error { return m.tokens.SaveToken(name, nil) }

// loudAuth is the handler that opens a browser.
func (s *server) loudAuth(back *codeListener, open func(string) error) (auth.OAuthHandler, error) {
	fetch := func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		if err := open(args.URL); err != nil {
			return nil, err
		}
		return back.wait(ctx)
	}
	if o := s.cfg.OAuth; o != nil && o.AuthURL != "" && o.TokenURL != "" {
		return &configuredAuth{s: s, o: o, redirect: back.url, fetch: fetch}, nil
	}
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back.url, AuthorizationCodeFetcher: fetch, RequestRefreshToken: true,
		Client: &http.Client{Timeout: 30 * time.Second},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Perch", RedirectURIs: []string{back.url}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		NewTokenSource: func(_ context.Context, cfg *oauth2.Config, tok *oauth2.Token) (oauth2.TokenSource, error) {
			return s.signedIn(cfg, tok)
		},
	}
	if o := s.cfg.OAuth; o != nil {
		if o.ClientID != "" {
			c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		}
		if len(o.Scopes) > 0 {
			c.ScopeFilter = func([]string) []string { return o.Scopes }
		}
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// signedIn stores a new sign-in and returns its source.
func (s *server) signedIn(cfg *oauth2.Config, tok *oauth2.Token) (oauth2.TokenSource, error) {
	si := &signIn{
		URL: s.cfg.URL, ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret,
		TokenURL: cfg.Endpoint.TokenURL, AuthStyle: int(cfg.Endpoint.AuthStyle), Scopes: cfg.Scopes, Token: tok,
	}
	if err := s.save(si); err != nil {
		return nil, err
	}
	return s.source(si), nil
}

// configuredAuth signs in with the addresses of the settings, for servers that
// do not say where.
type configuredAuth struct {
	s        *server
	o        *config.OAuth
	redirect string
	fetch    auth.AuthorizationCodeFetcher
	mu       sync.Mutex // protects src
	src      oauth2.TokenSource
}

// TokenSource returns the source once there is one.
func (a *configuredAuth) TokenSource(context.Context) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.src, nil
}

// Authorize runs the authorization code flow with PKCE.
func (a *configuredAuth) Authorize(ctx context.Context, _ *http.Request, res *http.Response) error {
	res.Body.Close()
	cfg := &oauth2.Config{
		ClientID: a.o.ClientID, Scopes: a.o.Scopes, RedirectURL: a.redirect,
		Endpoint: oauth2.Endpoint{AuthURL: a.o.AuthURL, TokenURL: a.o.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	got, err := a.fetch(ctx, &auth.AuthorizationArgs{URL: cfg.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))})
	if err != nil {
		return err
	}
	if got.State != state {
		return errors.New("the answer of the sign-in belongs to another question; try again")
	}
	tok, err := cfg.Exchange(ctx, got.Code, oauth2.VerifierOption(verifier))
	if err != nil {
		return fmt.Errorf("exchange the code for a token: %w", err)
	}
	src, err := a.s.signedIn(cfg, tok)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.src = src
	a.mu.Unlock()
	return nil
}

// codeListener waits on loopback for the browser's return.
type codeListener struct {
	url    string
	server *http.Server
	got    chan *auth.AuthorizationResult
	failed chan error
}

func listenForCode() (*codeListener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w", err)
	}
	l := &codeListener{
		url: fmt.Sprintf("http://%s/callback", ln.Addr()),
		got: make(chan *auth.AuthorizationResult, 1), failed: make(chan error, 1),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if q.Get("code") == "" {
			why := q.Get("error_description")
			if why == "" {
				why = q.Get("error")
			}
			if why == "" {
				http.Error(w, "This address belongs to a sign-in.", http.StatusBadRequest)
				return
			}
			fmt.Fprintln(w, "The sign-in was refused. You can close this page.")
			select {
			case l.failed <- fmt.Errorf("the sign-in was refused: %s", shorten(why)):
			default:
			}
			return
		}
		fmt.Fprintln(w, "You are signed in. You can close this page and return to Perch.")
		select {
		case l.got <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}:
		default:
		}
	})
	l.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = l.server.Serve(ln) }() // ends with close
	return l, nil
}

func (l *codeListener) wait(ctx context.Context) (*auth.AuthorizationResult, error) {
	select {
	case r := <-l.got:
		return r, nil
	case err := <-l.failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *codeListener) close() { _ = l.server.Close() }
