package permission

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"perch/chat"
	"perch/control"
	"perch/harness"
)

func need(kind chat.NeedKind, subject string, change ...func(*chat.Need)) chat.Need {
	n := chat.Need{Kind: kind, Subject: subject}
	for _, f := range change {
		f(&n)
	}
	return n
}

func free(n *chat.Need)      { n.Free = true }
func secret(n *chat.Need)    { n.Secret = true }
func uncertain(n *chat.Need) { n.Uncertain = true }
func forbidden(n *chat.Need) { n.Forbidden = "it deletes everything" }
func once(n *chat.Need)      { n.Once = true }
func prefix(p string) func(*chat.Need) {
	return func(n *chat.Need) { n.Prefix = p }
}

var everything = []chat.NeedKind{chat.NeedRead, chat.NeedWrite, chat.NeedExecute, chat.NeedNetwork, chat.NeedDesktop}

func TestDecideFollowsTheTable(t *testing.T) {
	type c struct {
		name  string
		tool  string
		needs []chat.Need
		p     Policy
		want  Verdict
	}
	one := func(n chat.Need) []chat.Need { return []chat.Need{n} }
	ask := Policy{Interactive: true}
	with := func(f func(*Policy)) Policy { p := ask; f(&p); return p }
	rule := func(tool string, kind chat.NeedKind, subject string) Policy {
		return with(func(p *Policy) { p.Rules = []Grant{{tool, kind, subject}} })
	}
	allow := func(k ...chat.NeedKind) Policy { return Policy{Allow: k} }
	cases := []c{
		{"nothing needed", "memory", nil, Policy{}, Allow},
		{"read inside", "read_file", one(need(chat.NeedRead, "/w/a", free)), Policy{}, Allow},
		{"read outside", "read_file", one(need(chat.NeedRead, "/o/a")), ask, Ask},
		{"read outside, nobody there", "read_file", one(need(chat.NeedRead, "/o/a")), Policy{}, Deny},
		{"read outside, allowed", "read_file", one(need(chat.NeedRead, "/o/a")), allow(chat.NeedRead), Allow},
		{"read outside, another kind allowed", "read_file", one(need(chat.NeedRead, "/o/a")), allow(chat.NeedWrite), Deny},
		{"secret", "read_file", one(need(chat.NeedRead, "/h/.ssh/id", secret)), ask, Ask},
		{"secret although allowed", "read_file", one(need(chat.NeedRead, "/h/.ssh/id", secret)), Policy{Allow: everything, Interactive: true}, Ask},
		{"secret although free", "read_file", one(need(chat.NeedRead, "/h/.ssh/id", secret, free)), ask, Ask},
		{"secret although a rule", "read_file", one(need(chat.NeedRead, "/h/.ssh/id", secret)), rule("read_file", chat.NeedRead, "/h/.ssh"), Ask},
		{"secret, nobody there", "read_file", one(need(chat.NeedRead, "/h/.ssh/id", secret)), Policy{Allow: everything}, Deny},
		{"rule for the folder", "read_file", one(need(chat.NeedRead, "/o/a")), rule("read_file", chat.NeedRead, "/o"), Allow},
		{"rule for the file", "read_file", one(need(chat.NeedRead, "/o/a")), rule("read_file", chat.NeedRead, "/o/a"), Allow},
		{"rule for a name that begins alike", "read_file", one(need(chat.NeedRead, "/other/a")), rule("read_file", chat.NeedRead, "/o"), Ask},
		{"rule for the root", "read_file", one(need(chat.NeedRead, "/o/a")), rule("read_file", chat.NeedRead, "/"), Allow},
		{"path with dots", "read_file", one(need(chat.NeedRead, "/o/../x/a")), rule("read_file", chat.NeedRead, "/o"), Ask},
		{"rule of another tool", "write_file", one(need(chat.NeedWrite, "/o/a")), rule("edit_file", chat.NeedWrite, "/o"), Ask},
		{"rule of another kind", "write_file", one(need(chat.NeedWrite, "/o/a")), rule("write_file", chat.NeedRead, "/o"), Ask},
		{"empty rule", "write_file", one(need(chat.NeedWrite, "/o/a")), rule("write_file", chat.NeedWrite, ""), Ask},
		{"write inside", "write_file", one(need(chat.NeedWrite, "/w/a")), ask, Ask},
		{"write, allowed", "write_file", one(need(chat.NeedWrite, "/w/a")), allow(chat.NeedWrite), Allow},

		{"command", "run_command", one(need(chat.NeedExecute, "git status", prefix("git status"))), ask, Ask},
		{"command, allowed", "run_command", one(need(chat.NeedExecute, "git status", prefix("git status"))), allow(chat.NeedExecute), Allow},
		{"command rule", "run_command", one(need(chat.NeedExecute, "git status -s", prefix("git status"))), rule("run_command", chat.NeedExecute, "git status"), Allow},
		{"command rule, longer word", "run_command", one(need(chat.NeedExecute, "git statusx", prefix("git statusx"))), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"command rule, other order", "run_command", one(need(chat.NeedExecute, "git push; git status", prefix(""))), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"command rule, chained", "run_command", one(need(chat.NeedExecute, "git status; rm x")), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"command rule, chained and wrongly called simple", "run_command", one(need(chat.NeedExecute, "git status && rm x", prefix("git status"))), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"command rule, computed", "run_command", one(need(chat.NeedExecute, "git status $(rm x)", prefix("git status"))), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"command rule, redirected", "run_command", one(need(chat.NeedExecute, "git status > ~/.bashrc", prefix("git status"))), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"command rule, second line", "run_command", one(need(chat.NeedExecute, "git status\nrm x", prefix("git status"))), rule("run_command", chat.NeedExecute, "git status"), Ask},
		{"exact rule of a chain", "run_command", one(need(chat.NeedExecute, "make && make install")), rule("run_command", chat.NeedExecute, "make && make install"), Allow},
		{"uncertain", "run_command", one(need(chat.NeedExecute, "$(x)", uncertain)), ask, Ask},
		{"uncertain although allowed", "run_command", one(need(chat.NeedExecute, "$(x)", uncertain)), Policy{Allow: everything, Interactive: true}, Ask},
		{"uncertain although a rule", "run_command", one(need(chat.NeedExecute, "$(x)", uncertain)), rule("run_command", chat.NeedExecute, "$(x)"), Ask},
		{"uncertain, nobody there", "run_command", one(need(chat.NeedExecute, "$(x)", uncertain)), Policy{Allow: everything}, Deny},
		{"uncertain although the tool is allowed", "run_command", one(need(chat.NeedExecute, "$(x)", uncertain)), with(func(p *Policy) { p.ToolAllowed = true }), Ask},
		{"forbidden", "run_command", one(need(chat.NeedExecute, "rm -rf /", forbidden)), ask, Deny},
		{"forbidden although allowed", "run_command", one(need(chat.NeedExecute, "rm -rf /", forbidden)), Policy{Allow: everything, Interactive: true}, Deny},
		{"forbidden although a rule", "run_command", one(need(chat.NeedExecute, "rm -rf /", forbidden)), rule("run_command", chat.NeedExecute, "rm -rf /"), Deny},
		{"forbidden beside free", "run_command", []chat.Need{need(chat.NeedRead, "/w", free), need(chat.NeedExecute, "rm -rf /", forbidden, free)}, ask, Deny},
		{"command with network, one granted", "run_command", []chat.Need{need(chat.NeedExecute, "npm ci", prefix("npm ci")), need(chat.NeedNetwork, "npm ci", prefix("npm ci"))}, rule("run_command", chat.NeedExecute, "npm ci"), Ask},

		{"fetch of a known address", "web_fetch", one(need(chat.NeedNetwork, "example.org", free)), Policy{}, Allow},
		{"fetch of another host", "web_fetch", one(need(chat.NeedNetwork, "example.org", prefix("example.org"))), ask, Ask},
		{"host rule", "web_fetch", one(need(chat.NeedNetwork, "Example.org", prefix("Example.org"))), rule("web_fetch", chat.NeedNetwork, "example.org"), Allow},
		{"host rule, subdomain", "web_fetch", one(need(chat.NeedNetwork, "evil.example.org")), rule("web_fetch", chat.NeedNetwork, "example.org"), Ask},
		{"host rule, longer host", "web_fetch", one(need(chat.NeedNetwork, "example.org.evil.net", prefix("example.org.evil.net"))), rule("web_fetch", chat.NeedNetwork, "example.org"), Ask},
		{"search", "web_search", one(need(chat.NeedNetwork, "web_search", free)), Policy{}, Allow},
		{"search after a page", "web_search", one(need(chat.NeedNetwork, "web_search", free)), with(func(p *Policy) { p.Untrusted = true }), Ask},
		{"search after a page, asked before", "web_search", one(need(chat.NeedNetwork, "web_search", free)), with(func(p *Policy) { p.Untrusted, p.SearchAllowed = true, true }), Allow},
		{"search after a page, nobody there", "web_search", one(need(chat.NeedNetwork, "web_search", free)), Policy{Untrusted: true}, Deny},
		{"search after a page, network allowed", "web_search", one(need(chat.NeedNetwork, "web_search", free)), Policy{Untrusted: true, Allow: everything}, Allow},

		{"screenshot", "take_screenshot", one(need(chat.NeedDesktop, "screenshot")), ask, Ask},
		{"screenshot, attached", "take_screenshot", one(need(chat.NeedDesktop, "screenshot")), Policy{Attached: []string{"screenshot"}}, Allow},
		{"clipboard, screenshot attached", "read_clipboard", one(need(chat.NeedDesktop, "clipboard.read")), Policy{Attached: []string{"screenshot"}}, Deny},
		{"image", "generate_image", one(need(chat.NeedOther, "generate_image", once)), ask, Ask},
		{"image, everything allowed", "generate_image", one(need(chat.NeedOther, "generate_image", once)), Policy{Allow: everything, Interactive: true}, Ask},
		{"tool of others", "srv__tool", one(need(chat.NeedOther, "srv__tool", prefix("srv__tool"))), ask, Ask},
		{"tool of others, in the settings", "srv__tool", one(need(chat.NeedOther, "srv__tool", prefix("srv__tool"))), Policy{ToolAllowed: true}, Allow},
		{"tool of others, rule", "srv__tool", one(need(chat.NeedOther, "srv__tool", prefix("srv__tool"))), rule("srv__tool", chat.NeedOther, "srv__tool"), Allow},
		{"two needs, one granted", "x", []chat.Need{need(chat.NeedRead, "/o/a"), need(chat.NeedWrite, "/o/b")}, rule("x", chat.NeedRead, "/o"), Ask},
	}
	for _, c := range cases {
		d := Decide(c.tool, c.needs, c.p)
		if d.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, d.Verdict, d.Reason, c.want)
		}
		if d.Verdict == Deny && d.Reason == "" {
			t.Errorf("%s: denied without a reason", c.name)
		}
		if d.Verdict == Ask && len(d.Asking) == 0 {
			t.Errorf("%s: asks about nothing", c.name)
		}
	}
	d := Decide("x", []chat.Need{need(chat.NeedRead, "/o/a"), need(chat.NeedWrite, "/o/b")}, rule("x", chat.NeedRead, "/o"))
	if len(d.Asking) != 1 || d.Asking[0].Kind != chat.NeedWrite {
		t.Errorf("asks about what is granted: %+v", d.Asking)
	}
}

func TestADenialSaysWhatWouldGrantIt(t *testing.T) {
	d := Decide("run_command", []chat.Need{need(chat.NeedExecute, "ls"), need(chat.NeedNetwork, "ls")}, Policy{})
	if !strings.Contains(d.Reason, "--allow execute,network") {
		t.Errorf("%q", d.Reason)
	}
	d = Decide("run_command", []chat.Need{need(chat.NeedExecute, "$(x)", uncertain)}, Policy{})
	if strings.Contains(d.Reason, "--allow") {
		t.Errorf("promises what --allow does not grant: %q", d.Reason)
	}
}

// memStore keeps values in memory.
type memStore struct {
	m    map[string][]byte
	fail error
}

func (s *memStore) Value(bucket, key string) ([]byte, error) { return s.m[bucket+"/"+key], nil }
func (s *memStore) SetValue(bucket, key string, v []byte) error {
	if s.fail != nil {
		return s.fail
	}
	s.m[bucket+"/"+key] = v
	return nil
}

func newBook(t *testing.T, s *memStore) *Book {
	t.Helper()
	b, err := NewBook(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnswersReachAsFarAsTheySay(t *testing.T) {
	write := []chat.Need{need(chat.NeedWrite, "/w/a", prefix("/w"))}
	here := harness.Grants{Session: "s1", Interactive: true}
	other := harness.Grants{Session: "s2", Interactive: true}
	for _, c := range []struct {
		v                            control.Verdict
		again, elsewhere, afterStart harness.Verdict
	}{
		{control.No, harness.AskUser, harness.AskUser, harness.AskUser},
		{control.Once, harness.AskUser, harness.AskUser, harness.AskUser},
		{control.InRun, harness.Allow, harness.AskUser, harness.AskUser},
		{control.Always, harness.Allow, harness.Allow, harness.Allow},
	} {
		s := &memStore{m: map[string][]byte{}}
		b := newBook(t, s)
		if d := b.Decide(here, "write_file", write); d.Verdict != harness.AskUser {
			t.Fatalf("%v", d)
		}
		if err := b.Answered("s1", "write_file", write, c.v); err != nil {
			t.Fatal(err)
		}
		next := []chat.Need{need(chat.NeedWrite, "/w/b", prefix("/w"))}
		if d := b.Decide(here, "write_file", next); d.Verdict != c.again {
			t.Errorf("%s: then %v", c.v, d.Verdict)
		}
		if d := b.Decide(other, "write_file", next); d.Verdict != c.elsewhere {
			t.Errorf("%s: in another session %v", c.v, d.Verdict)
		}
		if d := newBook(t, s).Decide(here, "write_file", next); d.Verdict != c.afterStart {
			t.Errorf("%s: after a restart %v", c.v, d.Verdict)
		}
	}
}

func TestRulesAreListedAndRevoked(t *testing.T) {
	s := &memStore{m: map[string][]byte{}}
	b := newBook(t, s)
	g := harness.Grants{Session: "s", Interactive: true}
	ns := []chat.Need{need(chat.NeedExecute, "npm ci", prefix("npm ci")), need(chat.NeedNetwork, "npm ci", prefix("npm ci"))}
	for range 2 {
		if err := b.Answered("s", "run_command", ns, control.Always); err != nil {
			t.Fatal(err)
		}
	}
	rules := b.List()
	if len(rules) != 2 || rules[0].Subject != "npm ci" || rules[0].Kind != chat.NeedExecute || rules[1].Kind != chat.NeedNetwork || rules[0].Created.IsZero() {
		t.Fatalf("%+v", rules)
	}
	if got := b.Granted("s", "", chat.NeedNetwork); !slices.Equal(got, []string{"npm ci"}) {
		t.Errorf("granted %v", got)
	}
	if d := b.Decide(g, "run_command", ns); d.Verdict != harness.Allow {
		t.Errorf("%+v", d)
	}
	if err := b.Revoke(rules[0].ID); err != nil {
		t.Fatal(err)
	}
	if d := b.Decide(g, "run_command", ns); d.Verdict != harness.AskUser || len(d.Asking) != 1 {
		t.Errorf("%+v", d)
	}
	if err := b.Revoke("nothing"); chat.ClassOf(err) != chat.ClassMisuse {
		t.Errorf("got %v", err)
	}
	if got := newBook(t, s).List(); len(got) != 1 {
		t.Errorf("after a restart %v", got)
	}
}

func TestWhatIsAlwaysAskedIsNeverRemembered(t *testing.T) {
	b := newBook(t, &memStore{m: map[string][]byte{}})
	ns := []chat.Need{need(chat.NeedRead, "/h/.ssh/id", secret), need(chat.NeedExecute, "$(x)", uncertain)}
	if err := b.Answered("s", "t", ns, control.Always); err != nil {
		t.Fatal(err)
	}
	if len(b.List()) != 0 || len(b.Granted("s", "", chat.NeedRead)) != 0 || len(b.Granted("s", "", chat.NeedExecute)) != 0 {
		t.Errorf("remembered %v", b.List())
	}
}

func TestOnceASessionAndOnceAHost(t *testing.T) {
	b := newBook(t, &memStore{m: map[string][]byte{}})
	g := harness.Grants{Session: "s", Interactive: true}
	img := []chat.Need{need(chat.NeedOther, "generate_image", once)}
	b.Answered("s", "generate_image", img, control.Always)
	if len(b.List()) != 0 {
		t.Error("a rule was made of what is asked once a session")
	}
	if d := b.Decide(g, "generate_image", img); d.Verdict != harness.Allow {
		t.Errorf("asked twice in a session: %+v", d)
	}
	host := []chat.Need{need(chat.NeedNetwork, "a.example", prefix("a.example"))}
	b.Answered("s", "web_fetch", host, control.Once)
	if d := b.Decide(g, "web_fetch", host); d.Verdict != harness.Allow {
		t.Errorf("asked twice about a host: %+v", d)
	}
	b.EndSession("s")
	if d := b.Decide(g, "web_fetch", host); d.Verdict != harness.AskUser {
		t.Errorf("a session's grant outlived it: %+v", d)
	}
}

func TestSearchIsAskedOnceARunAfterUntrustedContent(t *testing.T) {
	b := newBook(t, &memStore{m: map[string][]byte{}})
	search := []chat.Need{need(chat.NeedNetwork, "web_search", free)}
	decide := func(untrusted bool) harness.Verdict {
		return b.Decide(harness.Grants{Session: "s", Interactive: true, Untrusted: untrusted}, "web_search", search).Verdict
	}
	if decide(false) != harness.Allow || decide(true) != harness.AskUser {
		t.Fatal("not asked after untrusted content")
	}
	b.Answered("s", "web_search", search, control.Always)
	if decide(true) != harness.Allow {
		t.Error("asked twice in a run")
	}
	decide(false) // the next run begins
	if decide(true) != harness.AskUser || len(b.List()) != 0 {
		t.Error("the answer of one run counts for the next")
	}
}

func TestARuleThatCannotBeStoredCountsForTheSession(t *testing.T) {
	s := &memStore{m: map[string][]byte{}, fail: errors.New("disk full")}
	b := newBook(t, s)
	ns := []chat.Need{need(chat.NeedWrite, filepath.Join("/w", "a"))}
	if err := b.Answered("s", "write_file", ns, control.Always); err == nil {
		t.Error("no error")
	}
	if d := b.Decide(harness.Grants{Session: "s", Interactive: true}, "write_file", ns); d.Verdict != harness.Allow || len(b.List()) != 0 {
		t.Errorf("%+v %v", d, b.List())
	}
}

func TestUnreadableRulesAreSetAside(t *testing.T) {
	s := &memStore{m: map[string][]byte{"permission/rules": []byte("{broken")}}
	b := newBook(t, s)
	if len(b.List()) != 0 || string(s.m["permission/rules.unreadable"]) != "{broken" {
		t.Errorf("%v %v", b.List(), s.m)
	}
}
