package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"perch/chat"
	"perch/config"
	"perch/tools/toolstest"
)

func TestOnlyThePublicInternetIsPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "93.184.216.34": true, "1.1.1.1": true, "100.128.0.1": true, "172.32.0.1": true, "192.0.1.1": true,
		"2606:4700:4700::1111": true, "2a00:1450::1": true, "64:ff9b::8.8.8.8": true, "::ffff:8.8.8.8": true,

		"127.0.0.1": false, "127.255.255.254": false, "0.0.0.0": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "169.254.0.1": false, "100.64.0.1": false, "100.127.255.255": false,
		"192.0.0.1": false, "192.0.0.192": false, "192.0.2.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.7": false,
		"203.0.113.9": false, "224.0.0.1": false, "239.255.255.250": false, "240.0.0.1": false, "255.255.255.255": false,
		"168.63.129.16": false,
		"::":            false, "::1": false, "::127.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false,
		"::ffff:10.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::10.1.2.3": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::8.8.8.8": false,
		"fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "fc00::1": false, "fd00:ec2::254": false, "fdff::1": false,
		"ff02::1": false, "2001:db8::1": false, "2001::1": false, "2001:0:4136:e378:8000:63bf:3fff:fdd2": false,
		"2002:7f00:1::": false, "2002:808:808::": false, "3fff::1": false, "100::1": false, "5f00::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: public %v, want %v", addr, got, want)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestUnusualNotationsOfAddressesAreSeen(t *testing.T) {
	for host, want := range map[string]bool{
		"2130706433": true, "017700000001": true, "0x7f000001": true, "0x7f.1": true, "127.1": true, "127.0.1": true,
		"0177.0.0.1": true, "127.0.0.0x1": true, "0x": true, "1": true, "127.0.0.01": true, "256.1.1.1": true, "127.1.": true,
		"1.2.3.4.5": true,
		"127.0.0.1": false, "8.8.8.8": false, "example.org": false, "1.example.org": false, "0x7f.example": false,
		"::1": false, "123abc": false, "x1": false, "": false, "deadbeef": false,
	} {
		if got := numericHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

// fakeDNS answers A and AAAA questions from a table; a name's answers are given
// in turn, the last one for ever.
type fakeDNS struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   map[string]int
}

func (f *fakeDNS) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := f.reply(buf[:n]); reply != nil {
				_, _ = pc.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func (f *fakeDNS) reply(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	f.mu.Lock()
	list := f.answers[name]
	if q.Type == dnsmessage.TypeA && len(list) > 0 {
		if f.asked == nil {
			f.asked = map[string]int{}
		}
		f.asked[name]++
		list = list[min(f.asked[name], len(list))-1:][:1]
	}
	f.mu.Unlock()
	m.Header.Response, m.Header.RecursionAvailable = true, true
	m.Additionals = nil
	if len(list) == 0 {
		m.Header.RCode = dnsmessage.RCodeNameError
	}
	for _, all := range list {
		for _, s := range strings.Split(all, ",") {
			a := netip.MustParseAddr(s)
			h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 0}
			switch {
			case a.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			case a.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// secretServer is a service on loopback that no page may reach.
func secretServer(t *testing.T) (port string, hits func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n++
		fmt.Fprint(w, "secret")
	}))
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	return u.Port(), func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func fetchURL(t *testing.T, tool chat.Tool, env chat.Env, address string) (chat.ToolResult, error) {
	t.Helper()
	in, _ := json.Marshal(map[string]string{"url": address})
	return tool.Execute(context.Background(), in, env)
}

func TestNothingPrivateIsEverReached(t *testing.T) {
	port, hits := secretServer(t)
	dns := &fakeDNS{answers: map[string][]string{
		"loopback.test":  {"127.0.0.1"},
		"metadata.test":  {"169.254.169.254"},
		"private.test":   {"10.0.0.7"},
		"six.test":       {"::1"},
		"mapped.test":    {"::ffff:127.0.0.1"},
		"both.test":      {"127.0.0.1,10.0.0.1"},
		"nat64.test":     {"64:ff9b::7f00:1"},
		"localhost.test": {"127.0.0.1"},
	}}
	tool := Fetch(Options{Resolver: dns.resolver(t)})
	for _, host := range []string{
		"127.0.0.1", "127.0.0.2", "localhost", "LOCALHOST", "localhost.", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::7f00:1]", "[::127.0.0.1]", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "127.1", "0x7f.1", "127.0.0.1.",
		"loopback.test", "metadata.test", "private.test", "six.test", "mapped.test", "both.test", "nat64.test", "localhost.test",
		"①②⑦.⓪.⓪.①", "１２７.0.0.1", "[fe80::1%25lo]", "user@127.0.0.1", "8.8.8.8@127.0.0.1", "127。0。0。1",
	} {
		for _, scheme := range []string{"http", "https"} {
			r, err := fetchURL(t, tool, toolstest.NewEnv(t), scheme+"://"+host+":"+port+"/")
			if err == nil {
				t.Errorf("%s://%s was fetched: %q", scheme, host, r.Text)
			}
		}
	}
	for _, address := range []string{"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://x/", "data:text/html,x", "javascript:1", "unix:///run/x", "//127.0.0.1/", "", "http://", "http:///etc", "https://:443/"} {
		if _, err := fetchURL(t, tool, toolstest.NewEnv(t), address); err == nil {
			t.Errorf("%q was fetched", address)
		}
	}
	if n := hits(); n != 0 {
		t.Errorf("the private service was reached %d times", n)
	}
}

func TestBlockedAddressSaysWhyAndHowToAllowIt(t *testing.T) {
	dns := &fakeDNS{answers: map[string][]string{"metadata.test": {"169.254.169.254"}}}
	tool := Fetch(Options{Resolver: dns.resolver(t)})
	_, err := fetchURL(t, tool, toolstest.NewEnv(t), "http://metadata.test/latest")
	if err == nil || !strings.Contains(err.Error(), "metadata.test leads to 169.254.169.254") || !strings.Contains(err.Error(), "allow_private") {
		t.Errorf("%v", err)
	}
}

// A name that answers with an allowed address first and with loopback afterwards
// must not get through on the second lookup, which the connection is made with.
func TestChangingDNSAnswersAreCheckedWhereTheConnectionIsMade(t *testing.T) {
	port, hits := secretServer(t)
	dns := &fakeDNS{answers: map[string][]string{"rebind.test": {"93.184.216.34", "127.0.0.1"}}}
	resolver := dns.resolver(t)
	if ips, err := resolver.LookupHost(context.Background(), "rebind.test"); err != nil || ips[0] != "93.184.216.34" {
		t.Fatalf("%v %v", ips, err)
	}
	_, err := fetchURL(t, Fetch(Options{Resolver: resolver}), toolstest.NewEnv(t), "http://rebind.test:"+port+"/")
	var blocked *blockedError
	if !errors.As(err, &blocked) || hits() != 0 {
		t.Errorf("error %v, hits %d", err, hits())
	}
}

func TestRedirectsAreCheckedAgain(t *testing.T) {
	port, hits := secretServer(t)
	var target string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/ok":
			http.Redirect(w, r, "/page", http.StatusMovedPermanently)
		case "/page":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "the page")
		default:
			http.Redirect(w, r, target, http.StatusFound)
		}
	}))
	defer site.Close()
	u, _ := url.Parse(site.URL)
	dns := &fakeDNS{answers: map[string][]string{
		"www.site.test": {"127.0.0.1"}, "evil.site.test": {"127.0.0.1"}, "elsewhere.test": {"127.0.0.1"},
	}}
	tool := Fetch(Options{
		Resolver: dns.resolver(t),
		Config:   func() config.Web { return config.Web{AllowPrivate: []string{"www.site.test"}} },
	})
	home := "http://www.site.test:" + u.Port()
	for _, to := range []string{
		"http://127.0.0.1:" + port, "http://[::1]:" + port, "http://evil.site.test:" + port, "http://2130706433:" + port,
		"file:///etc/passwd", "http://user:pass@127.0.0.1:" + port, "gopher://x",
	} {
		target = to
		env := toolstest.NewEnv(t)
		env.Allow(chat.NeedNetwork, "127.0.0.1:"+port)
		env.Allow(chat.NeedNetwork, "[::1]:"+port)
		if r, err := fetchURL(t, tool, env, home+"/go"); err == nil {
			t.Errorf("redirect to %s was followed: %q", to, r.Text)
		}
	}
	target = "http://elsewhere.test:" + port + "/?q=1"
	r, err := fetchURL(t, tool, toolstest.NewEnv(t), home+"/go")
	if err != nil || !strings.Contains(r.Text, "redirects to another site: "+target) {
		t.Errorf("another site: %q %v", r.Text, err)
	}
	if _, err := fetchURL(t, tool, toolstest.NewEnv(t), home+"/loop"); err == nil || !strings.Contains(err.Error(), "redirects more than") {
		t.Errorf("endless redirects: %v", err)
	}
	if r, err := fetchURL(t, tool, toolstest.NewEnv(t), home+"/ok"); err != nil || !strings.Contains(r.Text, "the page") {
		t.Errorf("an honest redirect: %q %v", r.Text, err)
	}
	if hits() != 0 {
		t.Errorf("the private service was reached %d times", hits())
	}
}

func TestAllowPrivateOpensExactlyWhatItNames(t *testing.T) {
	port, _ := secretServer(t)
	dns := &fakeDNS{answers: map[string][]string{"wiki.test": {"127.0.0.1"}, "other.test": {"127.0.0.1"}}}
	resolver := dns.resolver(t)
	for _, c := range []struct {
		allow []string
		host  string
		want  bool
	}{
		{[]string{"wiki.test"}, "wiki.test", true},
		{[]string{"Wiki.Test"}, "wiki.test", true},
		{[]string{"wiki.test:" + port}, "wiki.test", true},
		{[]string{"wiki.test:1"}, "wiki.test", false},
		{[]string{"wiki.test"}, "other.test", false},
		{[]string{"127.0.0.0/8"}, "other.test", true},
		{[]string{"127.0.0.1"}, "127.0.0.1", true},
		{[]string{"10.0.0.0/8"}, "127.0.0.1", false},
		{nil, "wiki.test", false},
	} {
		tool := Fetch(Options{Resolver: resolver, Config: func() config.Web { return config.Web{AllowPrivate: c.allow} }})
		_, err := fetchURL(t, tool, toolstest.NewEnv(t), "http://"+c.host+":"+port+"/")
		if (err == nil) != c.want {
			t.Errorf("%v, %s: %v", c.allow, c.host, err)
		}
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	port, hits := secretServer(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+port)
	t.Setenv("http_proxy", "http://127.0.0.1:"+port)
	dns := &fakeDNS{answers: map[string][]string{"page.test": {"10.0.0.1"}}}
	if _, err := fetchURL(t, Fetch(Options{Resolver: dns.resolver(t)}), toolstest.NewEnv(t), "http://page.test/"); err == nil || hits() != 0 {
		t.Errorf("%v, proxy hits %d", err, hits())
	}
}
