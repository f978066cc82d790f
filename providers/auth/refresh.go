package auth

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"perch/chat"
	"perch/providers"
)

const (
	// refreshWait bounds one refresh, the wait for other processes included.
	refreshWait = 45 * time.Second
)

// flight is a refresh at work, with everybody who waits for it.
type flight struct {
	done chan struct{}
	cred providers.Credential
	err  error
}

// refreshed returns a sign-in whose access token is not the stale one. Callers
// share one refresh. It is not tied to any caller's context: a refresh that is
// broken off half-way could lose the rotated token.
func (s *Store) refreshed(ctx context.Context, provider, stale string) (providers.Credential, error) {
	s.mu.Lock()
	f := s.flights[provider]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		s.flights[provider] = f
		go func() {
			work, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshWait)
			defer cancel()
			f.cred, f.err = s.refresh(work, provider, stale)
			s.mu.Lock()
			delete(s.flights, provider)
			s.mu.Unlock()
			close(f.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.cred, f.err
	case <-ctx.Done():
		return providers.Credential{}, ctx.Err()
	}
}

// refresh works under a lock that other processes respect. Whoever gets it
// second finds the new token stored.
func (s *Store) refresh(ctx context.Context, provider, stale string) (providers.Credential, error) {
	until, _ := ctx.Deadline()
	unlock, err := lockFile(s.o.File+".refresh.lock", until)
	if err != nil {
		return providers.Credential{}, chat.NewError(chat.ClassTransient, "err.auth.lock", "The sign-in at %s could not be renewed: %v. Try again.", provider, err).Wrap(err)
	}
	defer unlock()
	rec, _, err := s.lookup(provider, true)
	if err != nil {
		return providers.Credential{}, err
	}
	if rec.Kind == kindOAuth && rec.Access != stale && !rec.stale(s.o.Now()) {
		return rec.credential(), nil
	}
	if rec.Kind != kindOAuth || rec.Refresh == "" {
		return providers.Credential{}, signInAgain(provider, "there is nothing to renew it with")
	}
	next, err := s.exchange(ctx, provider, rec)
	if code, refused := refusal(err); refused {
		// Another program may have renewed it meanwhile; what is stored decides.
		again, _, e := s.lookup(provider, true)
		if e != nil || again.Refresh == rec.Refresh {
			return providers.Credential{}, signInAgain(provider, code)
		}
		if next, err = s.exchange(ctx, provider, again); err != nil {
			if code, refused := refusal(err); refused {
				return providers.Credential{}, signInAgain(provider, code)
			}
		}
	}
	if err != nil {
		return providers.Credential{}, unreachable(provider, err)
	}
	if _, err := s.write(provider, next); err != nil { // before it is used
		return providers.Credential{}, err
	}
	return next.credential(), nil
}

func (s *Store) exchange(ctx context.Context, provider string, rec record) (record, error) {
	conf := s.o.Spec(provider).OAuth
	if conf == nil {
		return record{}, chat.NewError(chat.ClassMisuse, "err.auth.no_oauth", "The settings no longer say how to sign in at %s. Add [providers.%s.oauth] or enter a key.", provider, provider)
	}
	c := oauthConfig(conf)
	tok, err := c.TokenSource(s.withClient(ctx), &oauth2.Token{RefreshToken: rec.Refresh}).Token()
	if err != nil {
		return record{}, err
	}
	return recordOf(tok), nil
}

// recordOf registers the tokens as secrets.
func recordOf(t *oauth2.Token) record {
	providers.Secret(t.AccessToken).Reveal()
	providers.Secret(t.RefreshToken).Reveal()
	return record{Kind: kindOAuth, Access: t.AccessToken, Refresh: t.RefreshToken, Expires: t.Expiry}
}

// refusal reports whether the server refused a token, with its code.
func refusal(err error) (string, bool) {
	var r *oauth2.RetrieveError
	if !errors.As(err, &r) || r.Response == nil || r.Response.StatusCode >= 500 || r.Response.StatusCode == 429 {
		return "", false
	}
	if r.ErrorCode == "" {
		return r.Response.Status, true
	}
	return r.ErrorCode, true
}

func signInAgain(provider, why string) error {
	e := chat.NewError(chat.ClassAuth, "err.auth.sign_in_again", "The sign-in at %s is no longer valid (%s). Sign in again with \"perch auth login %s\".", provider, Redact(why), provider)
	e.Provider = provider
	return e
}

// unreachable never repeats the server's body: it may hold tokens.
func unreachable(provider string, err error) error {
	var e *chat.Error
	if errors.As(err, &e) {
		return e
	}
	why := "no answer"
	var r *oauth2.RetrieveError
	if errors.As(err, &r) && r.Response != nil {
		why = r.Response.Status
		if r.ErrorCode != "" {
			why += ", " + r.ErrorCode
		}
	} else if err != nil {
		why = providers.PlainReason(err)
	}
	e = chat.NewError(chat.ClassTransient, "err.auth.unreachable", "The sign-in server of %s could not be used (%s). Check the network connection and try again.", provider, Redact(why))
	e.Provider = provider
	return e
}

func (s *Store) withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.o.Client)
}
