package auth

import (
	"context"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/providers"
)

// Where a credential can lie.
const (
	PlaceKeyring     = "keyring"
	PlaceFile        = "file"
	PlaceEnvironment = "environment"
)

// Spec is what is known of one provider's credentials.
type Spec struct {
	Env   []string      // variables that may hold its key
	OAuth *config.OAuth // how to sign in; nil where there is only a key
}

// Options are what a store works with.
type Options struct {
	// File is the credentials file; locks and a temporary file stand beside it.
	File string
	// Spec says what is known of a provider.
	Spec func(provider string) Spec
	// Known are the providers whose state is asked for beside the stored ones.
	Known func() []string
	// Keyring is the system's; nil is the real one. NoKeyring leaves it out.
	Keyring   Keyring
	NoKeyring bool
	Client    *http.Client
	Getenv    func(string) string
	Now       func() time.Time
	// OpenRouter is the address of its key exchange; empty is the real one.
	OpenRouter string
}

// Store keeps credentials.
type Store struct {
	o Options

	mu      sync.Mutex // protects the rest
	cache   map[string]cached
	flights map[string]*flight
}

type cached struct {
	rec   record
	place string
	until time.Time
}

// cacheFor is how long a stored credential is used without looking again: other
// processes may change it.
const cacheFor = 20 * time.Second

// NewStore opens nothing yet.
func NewStore(o Options) *Store {
	if o.Spec == nil {
		o.Spec = func(string) Spec { return Spec{} }
	}
	if o.Keyring == nil && !o.NoKeyring {
		o.Keyring = systemKeyring{}
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.OpenRouter == "" {
		o.OpenRouter = openRouterURL
	}
	return &Store{o: o, cache: map[string]cached{}, flights: map[string]*flight{}}
}

type keyForRun struct{}

// WithKey returns a context in which a provider's key is the given one: a key
// that a client sends for one run, kept in memory only.
func WithKey(ctx context.Context, provider, key string) context.Context {
	providers.Secret(key).Reveal() // from now on it is blanked wherever it is printed
	old, _ := ctx.Value(keyForRun{}).(map[string]providers.Secret)
	m := map[string]providers.Secret{provider: providers.Secret(key)}
	for k, v := range old {
		if k != provider {
			m[k] = v
		}
	}
	return context.WithValue(ctx, keyForRun{}, m)
}

// Credential returns what authorises requests to a provider: the run's own key,
// what is stored, or the environment's. A sign-in about to expire is refreshed
// first. Without any it returns an empty token.
func (s *Store) Credential(ctx context.Context, provider string) (providers.Credential, error) {
	c, err := s.credential(ctx, provider)
	c.Token.Reveal() // from now on it is blanked wherever it is printed
	return c, err
}

func (s *Store) credential(ctx context.Context, provider string) (providers.Credential, error) {
	if m, ok := ctx.Value(keyForRun{}).(map[string]providers.Secret); ok && m[provider] != "" {
		return providers.Credential{Token: m[provider]}, nil
	}
	rec, _, err := s.lookup(provider, false)
	if err != nil {
		return providers.Credential{}, err
	}
	switch {
	case rec.Kind == kindOAuth && rec.stale(s.o.Now()):
		return s.refreshed(ctx, provider, rec.Access)
	case rec.Kind != "":
		return rec.credential(), nil
	}
	_, v := s.env(provider)
	return providers.Credential{Token: providers.Secret(v)}, nil
}

// Renew refreshes a sign-in that the server refused before its time.
func (s *Store) Renew(ctx context.Context, provider string, refused providers.Credential) (providers.Credential, error) {
	if !refused.OAuth {
		return refused, nil
	}
	return s.refreshed(ctx, provider, string(refused.Token))
}

func (s *Store) env(provider string) (name, value string) {
	for _, n := range s.o.Spec(provider).Env {
		if v := strings.TrimSpace(s.o.Getenv(n)); v != "" {
			return n, v
		}
	}
	return "", ""
}

// lookup returns what is stored; fresh reads the places again.
func (s *Store) lookup(provider string, fresh bool) (record, string, error) {
	s.mu.Lock()
	c, ok := s.cache[provider]
	s.mu.Unlock()
	if ok && !fresh && s.o.Now().Before(c.until) {
		return c.rec, c.place, nil
	}
	rec, place, err := s.read(provider)
	if err != nil {
		return record{}, "", err
	}
	s.remember(provider, rec, place)
	return rec, place, nil
}

func (s *Store) remember(provider string, rec record, place string) {
	s.mu.Lock()
	s.cache[provider] = cached{rec, place, s.o.Now().Add(cacheFor)}
	s.mu.Unlock()
}

func (s *Store) read(provider string) (record, string, error) {
	f, err := readFile(s.o.File)
	if err != nil {
		return record{}, "", err
	}
	e, ok := f.Entries[provider]
	switch {
	case !ok:
		return record{}, "", nil
	case e.Place == PlaceFile && e.Record != nil:
		return *e.Record, PlaceFile, nil
	case e.Place != PlaceKeyring || s.o.Keyring == nil:
		return record{}, "", nil
	}
	text, err := s.o.Keyring.Get(provider)
	if err != nil {
		if err == errNotThere {
			return record{}, "", nil
		}
		return record{}, "", chat.NewError(chat.ClassAuth, "err.auth.keyring", "The key of %s lies in the system's keyring, which does not answer (%s). Unlock the keyring, or enter the key again.", provider, Redact(err.Error()))
	}
	rec, err := decodeRecord(text)
	if err != nil {
		return record{}, "", chat.NewError(chat.ClassAuth, "err.auth.damaged", "What the keyring holds for %s cannot be read. Enter the key or sign in again.", provider)
	}
	return rec, PlaceKeyring, nil
}

// write stores a credential: in the keyring if that takes it, else in the file.
// The place is recorded after the credential is safe in it.
func (s *Store) write(provider string, rec record) (string, error) {
	place, inFile := PlaceFile, &rec
	if s.o.Keyring != nil && s.o.Keyring.Set(provider, rec.encode()) == nil {
		place, inFile = PlaceKeyring, nil
	}
	err := updateFile(s.o.File, func(f *file) { f.Entries[provider] = entry{place, inFile} })
	if err != nil {
		return "", err
	}
	s.remember(provider, rec, place)
	return place, nil
}

// SetKey stores an API key and says where.
func (s *Store) SetKey(_ context.Context, provider, key string) (place string, err error) {
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsAny(key, "\r\n\x00") {
		return "", chat.NewError(chat.ClassMisuse, "err.auth.key", "That is no key for %s: it is empty or has more than one line. Copy it again.", provider)
	}
	providers.Secret(key).Reveal()
	return s.write(provider, record{Kind: kindKey, Key: key})
}

// Logout forgets what is stored for a provider.
func (s *Store) Logout(_ context.Context, provider string) error {
	_, place, err := s.lookup(provider, true)
	if err == nil && place == "" {
		return chat.NewError(chat.ClassMisuse, "err.auth.nothing", "Nothing is stored for %s. A key in the environment must be removed there.", provider)
	}
	if s.o.Keyring != nil {
		if err := s.o.Keyring.Delete(provider); err != nil && err != errNotThere && place == PlaceKeyring {
			return chat.NewError(chat.ClassStore, "err.auth.keyring_delete", "The key of %s could not be removed from the keyring (%s). Unlock the keyring and try again.", provider, Redact(err.Error()))
		}
	}
	if err := updateFile(s.o.File, func(f *file) { delete(f.Entries, provider) }); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.cache, provider)
	s.mu.Unlock()
	return nil
}

// Status is the state of one provider's credentials, without a secret.
type Status struct {
	Provider string
	Kind     string // "key", "oauth", or "" for none
	Place    string
	Detail   string    // the variable's name, or what is wrong
	Expires  time.Time // of a sign-in's access token; it is renewed by itself
}

// Status lists all providers that are stored or known.
func (s *Store) Status(context.Context) ([]Status, error) {
	f, err := readFile(s.o.File)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for n := range f.Entries {
		names[n] = true
	}
	if s.o.Known != nil {
		for _, n := range s.o.Known() {
			names[n] = true
		}
	}
	var out []Status
	for n := range names {
		st := Status{Provider: n}
		rec, place, err := s.lookup(n, true)
		switch {
		case err != nil:
			st.Place, st.Detail = f.Entries[n].Place, chat.AsError(err).Message
		case rec.Kind != "":
			st.Kind, st.Place, st.Expires = rec.Kind, place, rec.Expires
		default:
			if v, _ := s.env(n); v != "" {
				st.Kind, st.Place, st.Detail = kindKey, PlaceEnvironment, v
			}
		}
		out = append(out, st)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Provider < out[j].Provider })
	return out, nil
}
