package cli

import (
	"reflect"
	"testing"

	"perch/chat"
	"perch/config"
	"perch/control"
)

func TestAQuestionHasNoDefaultAndTakesNoHalfYes(t *testing.T) {
	for in, want := range map[string]struct {
		a  control.Answer
		ok bool
	}{
		"y":                {control.Answer{Verdict: control.Once}, true},
		" YES. ":           {control.Answer{Verdict: control.Once}, true},
		"s":                {control.Answer{Verdict: control.InRun}, true},
		"always":           {control.Answer{Verdict: control.Always}, true},
		"n":                {control.Answer{Verdict: control.No}, true},
		"no, not that one": {control.Answer{Verdict: control.No, Words: "not that one"}, true},
		"":                 {},
		" ":                {},
		"ok":               {},
		"yess":             {},
		"ye":               {},
	} {
		if a, ok := parseAnswer(in, true); ok != want.ok || ok && a != want.a {
			t.Errorf("%q is %+v %v, want %+v %v", in, a, ok, want.a, want.ok)
		}
	}
	for _, in := range []string{"a", "yes but only the first"} {
		if a, ok := parseAnswer(in, false); ok {
			t.Errorf("%q was taken for %+v", in, a)
		}
	}
}

func TestAlwaysIsNotOfferedForWhatIsAlwaysAsked(t *testing.T) {
	for i, c := range []struct {
		need chat.Need
		want bool
	}{{chat.Need{}, true}, {chat.Need{Once: true}, false}, {chat.Need{Secret: true}, false}, {chat.Need{Uncertain: true}, false}} {
		if got := offersAlways(&chat.Permission{Needs: []chat.Need{{}, c.need}}); got != c.want {
			t.Errorf("case %d: %v", i, got)
		}
	}
}

func TestToolsGetAnAllowlistOfTheEnvironmentAndNoSecret(t *testing.T) {
	got := toolEnviron([]string{
		"PATH=/bin", "LANG=de_DE.UTF-8", "LC_TIME=C", "VIRTUAL_ENV=/v", "MINE=1", "OTHER=2",
		"OPENAI_API_KEY=sk", "GITHUB_TOKEN=x", "DISPLAY=:0", "DBUS_SESSION_BUS_ADDRESS=unix:x", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=/x",
		"https_proxy=http://user:pass@proxy:3128", "http_proxy=http://proxy:3128", "noequals", "=x",
	}, []string{"MINE", "OPENAI_API_KEY", "GITHUB_TOKEN"})
	want := map[string]string{"PATH": "/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "VIRTUAL_ENV": "/v", "MINE": "1", "http_proxy": "http://proxy:3128"}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v", got)
	}
}

func TestHeldKeysAreNamesOnly(t *testing.T) {
	c := config.Default()
	c.Providers = map[string]config.Provider{"local": {APIKeyEnv: "LOCAL_KEY"}, "none": {}}
	c.Web.SearchKeyEnv = "BRAVE"
	got := heldKeys([]string{"OPENAI_API_KEY=sk-1", "LOCAL_KEY=v", "BRAVE=w", "EMPTY_API_KEY=", "OTHER=x"}, c)
	if !reflect.DeepEqual(got, []string{"BRAVE", "LOCAL_KEY", "OPENAI_API_KEY"}) {
		t.Fatalf("%v", got)
	}
}

func TestTheDesktopIsReadFromTheEnvironment(t *testing.T) {
	env := map[string]string{"DISPLAY": ":1", "XAUTHORITY": "/x", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/b", "XMODIFIERS": "@im=fcitx", "OPENAI_API_KEY": "k"}
	var list []string
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	e := desktopOf(func(k string) string { return env[k] }, list)
	if e.Display != ":1" || e.Bus != "unix:path=/b" || !reflect.DeepEqual(e.Extra, map[string]string{"XMODIFIERS": "@im=fcitx"}) {
		t.Fatalf("%+v", e)
	}
	if !hasDesktop(e, "linux") || hasDesktop(control.DesktopEnv{}, "linux") || !hasDesktop(control.DesktopEnv{}, "windows") {
		t.Fatal("a desktop was overlooked")
	}
}

func TestTheQuestionAndWhatIsPipedInAreJoined(t *testing.T) {
	for _, c := range [][3]string{{"a", "b\n", "a\n\nb\n"}, {"a", " \n", "a"}, {"", "b", "b"}, {"-", "b", "b"}, {"", "", ""}} {
		if got := joinQuestion(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q are %q", c[0], c[1], got)
		}
	}
}

func TestAllowNamesKinds(t *testing.T) {
	for in, want := range map[string]struct {
		kinds []chat.NeedKind
		bad   string
	}{
		"":                 {nil, ""},
		"read":             {[]chat.NeedKind{chat.NeedRead}, ""},
		"Read, WRITE,read": {[]chat.NeedKind{chat.NeedRead, chat.NeedWrite}, ""},
		"read,,write":      {nil, ","},
		"other":            {nil, "other"},
	} {
		if kinds, bad := parseAllow(in); !reflect.DeepEqual(kinds, want.kinds) || bad != want.bad {
			t.Errorf("%q is %v, %q", in, kinds, bad)
		}
	}
}

func TestCredentialsAreMaskedInAReport(t *testing.T) {
	for in, want := range map[string]string{
		`Authorization: Bearer abc.def`: `Authorization: Bearer •••`,
		`"api_key":"sk-123456789"`:      `"api_key":"•••"`,
		`key sk-ant-REDACTED end`:       `key ••• end`,
		`postgres://u:pw@host/db`:       `postgres://u:•••@host/db`,
		`http://127.0.0.1:8080/v1`:      `http://127.0.0.1:8080/v1`,
		`tokens 45 of 100`:              `tokens 45 of 100`,
		`password=hunter2, next`:        `password=•••, next`,
	} {
		if got := redact(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
