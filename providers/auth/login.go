package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"perch/chat"
	"perch/config"
	"perch/providers"
)

// Step is one step of a sign-in, for the user.
type Step struct {
	URL  string // to be opened
	Code string // to be typed there
	Text string
	Done bool
}

const (
	// openRouterURL is where OpenRouter gives keys to programs.
	openRouterURL = "https://openrouter.ai"
	// openRouterPort is the one port that OpenRouter sends the browser back to
	// besides 443.
	openRouterPort = "127.0.0.1:3000"
	// loginWait bounds the user's part of a sign-in.
	loginWait = 10 * time.Minute
	// maxAnswer bounds a server's answer, in bytes.
	maxAnswer = 1 << 20
)

// Login signs in: OpenRouter by its key exchange, others by what the settings
// say, in the browser or, with device, by a code typed on another machine.
func (s *Store) Login(ctx context.Context, provider string, device bool, step func(Step) error) error {
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	conf := s.o.Spec(provider).OAuth
	var rec record
	var err error
	switch {
	case conf == nil && provider == "openrouter" && !device:
		rec, err = s.openRouter(ctx, step)
	case conf == nil:
		return chat.NewError(chat.ClassMisuse, "err.auth.no_login", "%s has no sign-in that Perch knows. Enter an API key instead, or describe the sign-in in [providers.%s.oauth] in the settings.", provider, provider)
	case device:
		rec, err = s.device(ctx, provider, conf, step)
	default:
		rec, err = s.browser(ctx, conf, step)
	}
	if err != nil {
		return loginError(ctx, provider, err)
	}
	place, err := s.write(provider, rec)
	if err != nil {
		return err
	}
	return step(Step{Text: fmt.Sprintf("Signed in at %s; the credential lies in the %s.", provider, place), Done: true})
}

func loginError(ctx context.Context, provider string, err error) error {
	var e *chat.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return chat.NewError(chat.ClassAuth, "err.auth.timeout", "Nobody finished the sign-in at %s within %d minutes. Start it again.", provider, int(loginWait.Minutes()))
	case ctx.Err() != nil:
		return chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.").Wrap(ctx.Err())
	}
	if code, refused := refusal(err); refused {
		return chat.NewError(chat.ClassAuth, "err.auth.refused", "%s refused the sign-in (%s). Start it again, and check client_id and scopes in the settings.", provider, Redact(code))
	}
	return unreachable(provider, err)
}

func oauthConfig(c *config.OAuth) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.ClientID, Scopes: c.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, DeviceAuthURL: c.DeviceURL, AuthStyle: oauth2.AuthStyleInParams},
	}
}

// browser is the authorization code with PKCE and a loopback redirect.
func (s *Store) browser(ctx context.Context, conf *config.OAuth, step func(Step) error) (record, error) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		return record{}, err
	}
	c := oauthConfig(conf)
	c.RedirectURL = l.url("127.0.0.1", "/callback")
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	// offline access gives a refresh token where the server asks for that word.
	go l.serve("/callback", state)
	defer l.close()
	if err := step(Step{URL: c.AuthCodeURL(state, oauth2.AccessTypeOffline, oauth2.S256ChallengeOption(verifier)), Text: "Open this address and allow the access."}); err != nil {
		return record{}, err
	}
	code, err := l.wait(ctx)
	if err != nil {
		return record{}, err
	}
	tok, err := c.Exchange(s.withClient(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return record{}, err
	}
	return recordOf(tok), nil
}

// device is the device code flow.
func (s *Store) device(ctx context.Context, provider string, conf *config.OAuth, step func(Step) error) (record, error) {
	if conf.DeviceURL == "" {
		return record{}, chat.NewError(chat.ClassMisuse, "err.auth.no_device", "The settings give no device_url for %s. Sign in without the device code, or add it.", provider)
	}
	c, ctx := oauthConfig(conf), s.withClient(ctx)
	d, err := c.DeviceAuth(ctx)
	if err != nil {
		return record{}, err
	}
	at := d.VerificationURI
	if d.VerificationURIComplete != "" {
		at = d.VerificationURIComplete
	}
	if err := step(Step{URL: at, Code: d.UserCode, Text: "Open this address on any device and enter the code."}); err != nil {
		return record{}, err
	}
	tok, err := c.DeviceAccessToken(ctx, d)
	if err != nil {
		return record{}, err
	}
	return recordOf(tok), nil
}

// openRouter gets a key by OpenRouter's exchange. It has no state parameter: the
// path of the redirect is the secret instead.
func (s *Store) openRouter(ctx context.Context, step func(Step) error) (record, error) {
	l, err := listen(openRouterPort)
	if err != nil {
		if l, err = listen("127.0.0.1:0"); err != nil {
			return record{}, err
		}
	}
	path, verifier := "/callback/"+rand.Text(), oauth2.GenerateVerifier()
	go l.serve(path, "")
	defer l.close()
	q := url.Values{"callback_url": {l.url("localhost", path)}, "code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"}}
	if err := step(Step{URL: s.o.OpenRouter + "/auth?" + q.Encode(), Text: "Open this address and allow the access."}); err != nil {
		return record{}, err
	}
	code, err := l.wait(ctx)
	if err != nil {
		return record{}, err
	}
	body, _ := json.Marshal(map[string]string{"code": code, "code_verifier": verifier, "code_challenge_method": "S256"})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.OpenRouter+"/api/v1/auth/keys", bytes.NewReader(body))
	if err != nil {
		return record{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.o.Client.Do(req)
	if err != nil {
		return record{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return record{}, err
	}
	var answer struct {
		Key string `json:"key"`
	}
	if resp.StatusCode/100 != 2 || json.Unmarshal(data, &answer) != nil || answer.Key == "" {
		return record{}, chat.NewError(chat.ClassAuth, "err.auth.refused", "%s refused the sign-in (%s). Start it again, and check client_id and scopes in the settings.", "openrouter", resp.Status)
	}
	providers.Secret(answer.Key).Reveal()
	return record{Kind: kindKey, Key: answer.Key}, nil
}

// loopback waits for the browser to come back.
type loopback struct {
	ln   net.Listener
	srv  *http.Server
	code chan result
}

type result struct {
	code string
	err  error
}

func listen(addr string) (*loopback, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &loopback{ln: ln, srv: &http.Server{ReadHeaderTimeout: 10 * time.Second}, code: make(chan result, 1)}, nil
}

func (l *loopback) url(host, path string) string {
	return fmt.Sprintf("http://%s:%d%s", host, l.ln.Addr().(*net.TCPAddr).Port, path)
}

// serve answers the redirect. Requests without the right path or state are not
// from the sign-in, and change nothing.
func (l *loopback) serve(path, state string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if state != "" && q.Get("state") != state {
			http.Error(w, "This is not the sign-in that Perch began.", http.StatusBadRequest)
			return
		}
		res := result{code: q.Get("code")}
		if res.code == "" {
			why := strings.TrimSpace(q.Get("error") + " " + q.Get("error_description"))
			res.err = chat.NewError(chat.ClassAuth, "err.auth.denied", "The sign-in was not allowed (%s). Start it again.", Redact(providers.Sanitize(why)))
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "You can close this page and go back to Perch.")
		select {
		case l.code <- res:
		default: // the browser asked twice
		}
	})
	l.srv.Handler = mux
	_ = l.srv.Serve(l.ln) // ends when it is shut down
}

func (l *loopback) wait(ctx context.Context) (string, error) {
	select {
	case r := <-l.code:
		return r.code, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// close lets the browser get its page first.
func (l *loopback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.srv.Shutdown(ctx)
	l.ln.Close()
}
