package auth

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"perch/config"
	"perch/providers/providertest"
)

const mockOAuth = `
const { OAuth2Server } = require(process.argv[2] + '/node_modules/oauth2-mock-server');
process.stdin.resume(); process.stdin.on('end', () => process.exit(0));
(async () => {
  const s = new OAuth2Server();
  await s.issuer.keys.generate('RS256');
  await s.start(0, '127.0.0.1');
  console.log(s.issuer.url);
})();
`

func TestSignInAndRefreshAgainstAMockOfOthers(t *testing.T) {
	issuer := providertest.Node(t, mockOAuth, "oauth2-mock-server")
	spec := func(string) Spec {
		return Spec{OAuth: &config.OAuth{AuthURL: issuer + "/authorize", TokenURL: issuer + "/token", ClientID: "perch", Scopes: []string{"openid"}}}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s := NewStore(Options{File: filepath.Join(t.TempDir(), "c.json"), Spec: spec, NoKeyring: true, Client: client})
	err := s.Login(context.Background(), "vendor", false, func(st Step) error {
		if st.URL != "" {
			go func() { // the mock allows everybody
				if r, err := client.Get(st.URL); err == nil {
					r.Body.Close()
				}
			}()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Credential(context.Background(), "vendor")
	if err != nil || c.Token == "" || !c.OAuth {
		t.Fatal(err)
	}
	s.o.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	old := c.Token.Reveal()
	rec, _, _ := s.lookup("vendor", true)
	if rec.Refresh == "" {
		t.Fatal("no refresh token")
	}
	if c, err = s.Renew(context.Background(), "vendor", c); err != nil || c.Token == "" {
		t.Fatal(old != c.Token.Reveal(), err)
	}
}

const realOAuth = `
process.stdin.resume(); process.stdin.on('end', () => process.exit(0));
(async () => {
  const { Provider } = await import('file://' + process.argv[2] + '/node_modules/oidc-provider/lib/index.js');
  const http = require('http');
  const server = http.createServer();
  await new Promise(r => server.listen(0, '127.0.0.1', r));
  const base = 'http://127.0.0.1:' + server.address().port;
  const p = new Provider(base, {
    clients: [{ client_id: 'perch', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'], response_types: ['code'] }],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true } },
    scopes: ['openid', 'offline_access'],
    issueRefreshToken: async () => true,
    rotateRefreshToken: () => true,
    ttl: { AccessToken: 3600, RefreshToken: 86400, Interaction: 600, Session: 600, Grant: 86400, DeviceCode: 600, AuthorizationCode: 60, IdToken: 3600 },
    cookies: { keys: ['k'] }, findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  });
  server.on('request', p.callback());
  console.log(base);
})();
`

var formAction = regexp.MustCompile(`action="([^"]+)"`)

// browse signs in as a person would: it fills in the server's forms until the
// browser is sent back to Perch.
func browse(t *testing.T, start, code string) {
	jar, _ := cookiejar.New(nil)
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get(start)
	for range 6 {
		if err != nil {
			t.Log(err)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		html := string(body)
		m := formAction.FindStringSubmatch(html)
		if m == nil {
			return
		}
		next, _ := r.Request.URL.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
		form := url.Values{}
		for _, in := range regexp.MustCompile(`<input[^>]*>`).FindAllString(html, -1) {
			name, value := attr(in, "name"), attr(in, "value")
			switch name {
			case "":
				continue
			case "login", "password":
				value = "someone"
			case "user_code":
				if value == "" {
					value = code
				}
			}
			form.Set(name, value)
		}
		if strings.Contains(html, `value="yes"`) || strings.Contains(html, `name="confirm"`) {
			form.Set("confirm", "yes")
		}
		r, err = c.PostForm(next.String(), form)
	}
}

func attr(tag, name string) string {
	m := regexp.MustCompile(name + `="([^"]*)"`).FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return m[1]
}

func TestSignInDeviceCodeAndRotationAgainstARealServer(t *testing.T) {
	base := providertest.Node(t, realOAuth, "oidc-provider")
	spec := func(string) Spec {
		return Spec{OAuth: &config.OAuth{AuthURL: base + "/auth", TokenURL: base + "/token", DeviceURL: base + "/device/auth", ClientID: "perch", Scopes: []string{"openid"}}}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, device := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "c.json")
		s := NewStore(Options{File: path, Spec: spec, NoKeyring: true, Client: client})
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		err := s.Login(ctx, "vendor", device, func(st Step) error {
			if st.URL != "" {
				go browse(t, st.URL, st.Code)
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Fatalf("device %v: %v", device, err)
		}
		before, _, _ := s.lookup("vendor", true)
		if before.Refresh == "" {
			t.Fatalf("device %v: no refresh token", device)
		}
		// The server revokes everything when a rotated token is used twice.
		stale, _ := s.Credential(context.Background(), "vendor")
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if c, err := s.Renew(context.Background(), "vendor", stale); err != nil || c.Token == stale.Token {
					t.Errorf("device %v: %v", device, err)
				}
			})
		}
		wg.Wait()
		after, _, _ := s.lookup("vendor", true)
		if after.Refresh == before.Refresh || after.Access == before.Access {
			t.Errorf("device %v: nothing was rotated", device)
		}
		if _, err := s.Renew(context.Background(), "vendor", after.credential()); err != nil {
			t.Errorf("device %v: the rotated token is not good: %v", device, err)
		}
	}
}
