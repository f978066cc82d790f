package auth

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/providers"
)

// vendor is a sign-in server that rotates refresh tokens: each is good once.
type vendor struct {
	*httptest.Server
	mu        sync.Mutex
	refreshes int
	valid     string // the refresh token of the moment
	status    int    // answers with this status where not 0
	delay     chan struct{}
	pending   int // device polls to answer with "pending"
}

func newVendor(t *testing.T) *vendor {
	v := &vendor{valid: "refresh-token-0"}
	mux := http.NewServeMux()
	mux.HandleFunc("/token", v.token)
	mux.HandleFunc("/device", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"device_code":"dev-code","user_code":"ABCD-1234","verification_uri":"https://vendor.test/device","expires_in":600,"interval":1}`)
	})
	mux.HandleFunc("/api/v1/auth/keys", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]string
		_ = json.NewDecoder(r.Body).Decode(&in)
		if in["code"] != "router-code" || in["code_verifier"] == "" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"key":"sk-or-planted-secret-key"}`)
	})
	v.Server = httptest.NewServer(mux)
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	if v.delay != nil {
		<-v.delay
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if v.status != 0 {
		w.WriteHeader(v.status)
		fmt.Fprintf(w, `{"error":"server_trouble","error_description":"echo %s"}`, r.Form.Get("refresh_token"))
		return
	}
	switch r.Form.Get("grant_type") {
	case "refresh_token":
		if r.Form.Get("refresh_token") != v.valid {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"token %s is used"}`, r.Form.Get("refresh_token"))
			return
		}
		v.refreshes++
		v.valid = fmt.Sprintf("refresh-token-%d", v.refreshes)
	case "authorization_code":
		if r.Form.Get("code") != "the-code" || r.Form.Get("code_verifier") == "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
	default: // device code
		if v.pending > 0 {
			v.pending--
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"authorization_pending"}`)
			return
		}
	}
	fmt.Fprintf(w, `{"access_token":"access-token-%d","refresh_token":%q,"token_type":"Bearer","expires_in":3600}`, v.refreshes, v.valid)
}

func (v *vendor) spec(string) Spec {
	return Spec{Env: []string{"VENDOR_KEY"}, OAuth: &config.OAuth{AuthURL: v.URL + "/auth", TokenURL: v.URL + "/token", DeviceURL: v.URL + "/device", ClientID: "perch-test"}}
}

func (v *vendor) store(t *testing.T, file string) *Store {
	return NewStore(Options{File: file, Spec: v.spec, NoKeyring: true, Getenv: func(string) string { return "" }, OpenRouter: v.URL})
}

func expired(t *testing.T, path string) {
	t.Helper()
	err := updateFile(path, func(f *file) {
		f.Entries["vendor"] = entry{PlaceFile, &record{Kind: kindOAuth, Access: "access-token-old", Refresh: "refresh-token-0", Expires: time.Now().Add(30 * time.Second)}}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiftyCallersCauseOneRefresh(t *testing.T) {
	v := newVendor(t)
	path := filepath.Join(t.TempDir(), "credentials.json")
	expired(t, path)
	s := v.store(t, path)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c, err := s.Credential(context.Background(), "vendor")
			if err != nil || c.Token.Reveal() != "access-token-1" || !c.OAuth {
				t.Errorf("%v %v", c.Token.Reveal(), err)
			}
		})
	}
	wg.Wait()
	if v.refreshes != 1 {
		t.Errorf("%d refreshes", v.refreshes)
	}
	// The rotated token is stored.
	rec, _, err := v.store(t, path).lookup("vendor", true)
	if err != nil || rec.Refresh != "refresh-token-1" || rec.Access != "access-token-1" {
		t.Errorf("stored %+v %v", rec, err)
	}
}

func TestMain(m *testing.M) {
	if at := os.Getenv("AUTH_TEST_CHILD"); at != "" {
		child(at)
		return
	}
	if at := os.Getenv("AUTH_TEST_REFRESHER"); at != "" {
		refresher(at)
		return
	}
	os.Exit(m.Run())
}

// child is another process with the same store.
func child(vendorURL string) {
	v := &vendor{Server: &httptest.Server{URL: vendorURL}}
	s := NewStore(Options{File: os.Getenv("AUTH_TEST_FILE"), Spec: v.spec, NoKeyring: true, Getenv: func(string) string { return "" }})
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	var wg sync.WaitGroup
	for range 25 {
		wg.Go(func() {
			c, err := s.Credential(context.Background(), "vendor")
			fmt.Println(c.Token.Reveal(), err)
		})
	}
	wg.Wait()
}

func TestTwoProcessesCauseOneRefresh(t *testing.T) {
	v := newVendor(t)
	path := filepath.Join(t.TempDir(), "credentials.json")
	expired(t, path)
	var outs []*bufio.Reader
	var ins []io.WriteCloser
	var cmds []*exec.Cmd
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AUTH_TEST_CHILD="+v.URL, "AUTH_TEST_FILE="+path)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		outs, ins, cmds = append(outs, r), append(ins, in), append(cmds, cmd)
	}
	for _, in := range ins {
		fmt.Fprintln(in)
		in.Close()
	}
	for i, out := range outs {
		b, _ := io.ReadAll(out)
		_ = cmds[i].Wait()
		if n := strings.Count(string(b), "access-token-1 <nil>"); n != 25 {
			t.Errorf("%d of 25 callers were served:\n%s", n, b)
		}
	}
	if v.refreshes != 1 {
		t.Errorf("%d refreshes", v.refreshes)
	}
}

func TestACancelledCallerDoesNotBreakOffTheRefresh(t *testing.T) {
	v := newVendor(t)
	v.delay = make(chan struct{})
	path := filepath.Join(t.TempDir(), "credentials.json")
	expired(t, path)
	s := v.store(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := s.Credential(ctx, "vendor")
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(v.delay)
	c, err := s.Credential(context.Background(), "vendor")
	if err != nil || c.Token.Reveal() != "access-token-1" || v.refreshes != 1 {
		t.Errorf("%v %v, %d refreshes", c.Token.Reveal(), err, v.refreshes)
	}
}

func TestARefusedRefreshTakesWhatAnotherProgramStored(t *testing.T) {
	v := newVendor(t)
	path := filepath.Join(t.TempDir(), "credentials.json")
	expired(t, path)
	s := v.store(t, path)
	v.valid = "refresh-token-other"
	// Another program rotates the token while this refresh is on its way.
	s.o.Client = &http.Client{Transport: before{func() {
		_ = updateFile(path, func(f *file) { f.Entries["vendor"].Record.Refresh = "refresh-token-other" })
	}}}
	c, err := s.Credential(context.Background(), "vendor")
	if err != nil || c.Token.Reveal() != "access-token-1" {
		t.Errorf("%v %v", c.Token.Reveal(), err)
	}
}

type before struct{ do func() }

func (b before) RoundTrip(r *http.Request) (*http.Response, error) {
	b.do()
	return http.DefaultTransport.RoundTrip(r)
}

func TestARefusedRefreshAsksToSignInAndWipesNothing(t *testing.T) {
	v := newVendor(t)
	path := filepath.Join(t.TempDir(), "credentials.json")
	expired(t, path)
	v.valid = "gone"
	_, err := v.store(t, path).Credential(context.Background(), "vendor")
	if chat.ClassOf(err) != chat.ClassAuth || !strings.Contains(err.Error(), "perch auth login vendor") {
		t.Fatal(err)
	}
	if strings.Contains(err.Error(), "refresh-token") {
		t.Errorf("a secret in %q", err)
	}
	rec, _, _ := v.store(t, path).lookup("vendor", true)
	if rec.Refresh != "refresh-token-0" {
		t.Errorf("stored %+v", rec)
	}
}

func TestAServerInTroubleIsTransientAndKeepsSecretsOut(t *testing.T) {
	v := newVendor(t)
	v.status = http.StatusBadGateway
	path := filepath.Join(t.TempDir(), "credentials.json")
	expired(t, path)
	_, err := v.store(t, path).Credential(context.Background(), "vendor")
	if chat.ClassOf(err) != chat.ClassTransient || strings.Contains(fmt.Sprintf("%+v", err), "refresh-token") {
		t.Errorf("%v (%s)", err, chat.ClassOf(err))
	}
}

func TestSignInThroughTheBrowser(t *testing.T) {
	v := newVendor(t)
	s := v.store(t, filepath.Join(t.TempDir(), "c.json"))
	var steps []Step
	err := s.Login(context.Background(), "vendor", false, func(st Step) error {
		steps = append(steps, st)
		if st.URL == "" {
			return nil
		}
		u, _ := url.Parse(st.URL)
		q := u.Query()
		if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || !strings.HasPrefix(q.Get("redirect_uri"), "http://127.0.0.1:") {
			t.Errorf("%s", st.URL)
		}
		go func() {
			// A request that is not from the sign-in changes nothing.
			if r, err := http.Get(q.Get("redirect_uri") + "?code=evil&state=wrong"); err == nil {
				r.Body.Close()
			}
			if r, err := http.Get(q.Get("redirect_uri") + "?code=the-code&state=" + q.Get("state")); err == nil {
				r.Body.Close()
			}
		}()
		return nil
	})
	if err != nil || !steps[len(steps)-1].Done {
		t.Fatal(err, steps)
	}
	c, err := s.Credential(context.Background(), "vendor")
	if err != nil || c.Token.Reveal() != "access-token-0" || !c.OAuth {
		t.Error(c, err)
	}
	st, err := s.Status(context.Background())
	if err != nil || len(st) != 1 || st[0].Kind != "oauth" || st[0].Place != PlaceFile || st[0].Expires.IsZero() {
		t.Errorf("%+v %v", st, err)
	}
}

func TestSignInWithADeviceCode(t *testing.T) {
	v := newVendor(t)
	v.pending = 1
	s := v.store(t, filepath.Join(t.TempDir(), "c.json"))
	code := ""
	err := s.Login(context.Background(), "vendor", true, func(st Step) error {
		if st.Code != "" {
			code = st.Code
		}
		return nil
	})
	if err != nil || code != "ABCD-1234" {
		t.Fatal(code, err)
	}
}

func TestOpenRouterGivesAKey(t *testing.T) {
	v := newVendor(t)
	s := NewStore(Options{File: filepath.Join(t.TempDir(), "c.json"), NoKeyring: true, OpenRouter: v.URL, Getenv: func(string) string { return "" }})
	err := s.Login(context.Background(), "openrouter", false, func(st Step) error {
		if u, _ := url.Parse(st.URL); st.URL != "" {
			back := u.Query().Get("callback_url")
			go func() {
				if r, err := http.Get(back + "?code=router-code"); err == nil {
					r.Body.Close()
				}
			}()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.Credential(context.Background(), "openrouter"); err != nil || c.Token.Reveal() != "sk-or-planted-secret-key" || c.OAuth {
		t.Error(err)
	}
}

type memory struct {
	m      map[string]string
	broken bool
}

func (k *memory) Get(n string) (string, error) {
	if k.broken {
		return "", errNoAnswer
	}
	if s, ok := k.m[n]; ok {
		return s, nil
	}
	return "", errNotThere
}

func (k *memory) Set(n, s string) error {
	if k.broken {
		return errNoAnswer
	}
	k.m[n] = s
	return nil
}

func (k *memory) Delete(n string) error { delete(k.m, n); return nil }

func TestAKeyLiesInTheKeyringElseInAFileElseInTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "c.json")
	ring := &memory{m: map[string]string{}}
	env := map[string]string{}
	s := NewStore(Options{File: path, Keyring: ring, Spec: func(string) Spec { return Spec{Env: []string{"A_KEY", "B_KEY"}} }, Getenv: func(n string) string { return env[n] }, Known: func() []string { return []string{"x"} }})
	ctx := context.Background()
	if c, err := s.Credential(ctx, "x"); err != nil || c.Token != "" {
		t.Error(c, err)
	}
	env["B_KEY"] = " from-environment\n"
	if c, _ := s.Credential(ctx, "x"); c.Token.Reveal() != "from-environment" {
		t.Error(c.Token.Reveal())
	}
	if st, _ := s.Status(ctx); st[0].Place != PlaceEnvironment || st[0].Detail != "B_KEY" {
		t.Errorf("%+v", st)
	}
	if place, err := s.SetKey(ctx, "x", "key-in-the-ring\n"); err != nil || place != PlaceKeyring {
		t.Error(place, err)
	}
	if data, _ := os.ReadFile(path); strings.Contains(string(data), "key-in-the-ring") {
		t.Error("the file holds what the keyring keeps")
	}
	if c, _ := s.Credential(ctx, "x"); c.Token.Reveal() != "key-in-the-ring" {
		t.Error(c.Token.Reveal())
	}
	ring.broken = true
	if _, _, err := s.lookup("x", true); chat.ClassOf(err) != chat.ClassAuth {
		t.Error("a locked keyring must not look like no key:", err)
	}
	if place, err := s.SetKey(ctx, "x", "key-in-the-file"); err != nil || place != PlaceFile {
		t.Error(place, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
	if c, _ := s.Credential(WithKey(ctx, "x", "key-of-the-run"), "x"); c.Token.Reveal() != "key-of-the-run" {
		t.Error("the run's own key is not used")
	}
	ring.broken = false
	if err := s.Logout(ctx, "x"); err != nil {
		t.Error(err)
	}
	if c, _ := s.Credential(ctx, "x"); c.Token.Reveal() != "from-environment" {
		t.Error(c.Token.Reveal())
	}
}

func TestASecretIsNeverPrinted(t *testing.T) {
	const planted = "planted-7f3a-secret"
	c := providers.Credential{Token: planted}
	j, _ := json.Marshal(c)
	for _, s := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s %q %x", c, c, c, c.Token, c.Token, c.Token), string(j)} {
		if strings.Contains(s, planted) || strings.Contains(s, fmt.Sprintf("%x", planted)) {
			t.Errorf("%s", s)
		}
	}
	_ = c.Token.Reveal()
	if s := Redact("error for planted-7f3a-secret and sk-proj-abcdefgh12345 and Bearer abcdefghijkl"); strings.Contains(s, planted) || strings.Contains(s, "abcdefgh") {
		t.Error(s)
	}
}
