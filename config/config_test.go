package config

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"perch/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const example = `model = "anthropic/claude-sonnet-4-6"
hotkey = ""          # "" switches it off
working_dir = "~/Perch"

[context]
compact_at = 0.5

[providers.local]                    # any name
wire = "openai-chat"
base_url = "http://127.0.0.1:8080/v1"
api_key_env = "LOCAL_KEY"

[[providers.local.models]]
id = "tiny"
context_window = 8192
max_output = 1024
vision = false

[embedding]
provider = "local"
model = "embed"

[kb]
folders = ["~/notes"]
`

func TestSettingsAreReadWithDefaultsForTheRest(t *testing.T) {
	c, err := Load(write(t, example))
	must(t, err)
	d := Default()
	if c.Hotkey != "" || c.Context.CompactAt != 0.5 || c.KB.VectorWeight != d.KB.VectorWeight || c.Limits != d.Limits {
		t.Fatalf("%+v", c)
	}
	m := c.Providers["local"].Models[0]
	if m.ID != "tiny" || m.Vision == nil || *m.Vision || m.Tools != nil {
		t.Fatalf("%+v", m)
	}
	for _, text := range []string{"", "\xef\xbb\xbf", "# nothing\r\n"} {
		if c, err = Load(write(t, text)); err != nil || !reflect.DeepEqual(c, d) {
			t.Fatalf("%q: %v", text, err)
		}
	}
	if c, err = Load(filepath.Join(t.TempDir(), "none.toml")); err != nil || !reflect.DeepEqual(c, d) {
		t.Fatal(err)
	}
}

func TestAMistakeIsReportedWithItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, line, says string }{
		"syntax":             {"model = \"a\"\n[context\n", "line 2", ""},
		"unclosed string":    {"model = \"a\nhotkey = \"\"", "line 1", ""},
		"type":               {"\n\nmodel = 5\n", "line 3", "model"},
		"unknown key":        {"[context]\ncompact_at = 0.5\ncompct_at = 0.6\n", "line 3", `did you mean "compact_at"`},
		"unknown table":      {"[contxt]\ncompact_at = 0.5\n", "line 1", "context"},
		"twice":              {"model = \"a\"\nmodel = \"b\"\n", "line 2", "model"},
		"range":              {"model = \"a\"\n\n[context]\n# high\ncompact_at = 60\n", "line 5", "between 0.1 and 0.95"},
		"not a number":       {"[context]\ncompact_at = nan\n", "line 2", "between"},
		"choice":             {"[popup]\ntheme = \"dork\"", "line 2", `"dark"`},
		"wire":               {"[providers.x]\nwire = \"openai\"\n", "line 2", "openai-chat"},
		"address":            {"[providers.x]\nbase_url = \"127.0.0.1:8080\"\n", "line 2", "http://"},
		"provider slash":     {"[providers.\"a/b\"]\nwire = \"gemini\"\n", "line 1", "slash"},
		"connector":          {"[connectors.x]\noff = true\n", "line 1", "command or a url"},
		"negative":           {"[limits]\ncost_per_day = -1\n", "line 2", "at least 0"},
		"both weights":       {"[kb]\nvector_weight = 0\nkeyword_weight = 0\n", "line 3", "both 0"},
		"postgres":           {"[kb]\nbackend = \"postgres\"\n", "line 2", "postgres_url"},
		"nothing but binary": {"\x00\x01\x02", "line 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.text)
			got, err := Load(path)
			if chat.ClassOf(err) != chat.ClassMisuse || !strings.Contains(err.Error(), path+", "+c.line+":") || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
			if !reflect.DeepEqual(got, Default()) {
				t.Fatal("a file with a mistake changed the defaults")
			}
		})
	}
}

func TestAMistakeShowsNoPassword(t *testing.T) {
	for _, text := range []string{
		"[kb]\npostgres_url = \"mysql://u:hunter2@h/db\"\n",
		"[kb]\npostgres_url = \"u:hunter2@h/db\"\n",
		"[providers.x.headers]\nAuthorization = \"Bearer hunter2\n",
		"[providers.x.headers]\nAuthorization = Bearer hunter2\n",
		"[providers.x]\napi_key = \"hunter2\"\n",
		"[connectors.x]\nurl = \"http://h\"\nenv = { KEY = \"hunter2\", KEY = \"hunter2\" }\n",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	if _, err := Load(t.TempDir()); chat.ClassOf(err) != chat.ClassStore {
		t.Fatal(err)
	}
}

func TestSettingsCrossAsJSONWithTheFilesKeys(t *testing.T) {
	c, err := Load(write(t, example))
	must(t, err)
	raw, err := JSON(c)
	must(t, err)
	var m map[string]any
	must(t, json.Unmarshal(raw, &m))
	if m["context"].(map[string]any)["compact_at"] != 0.5 || m["working_dir"] != "~/Perch" {
		t.Fatalf("%s", raw)
	}
	back, err := FromJSON(raw)
	must(t, err)
	again, err := JSON(back)
	must(t, err)
	if string(again) != string(raw) {
		t.Fatalf("%s\n%s", raw, again)
	}
	if _, err := FromJSON([]byte("[]")); err == nil {
		t.Fatal("an array was taken for settings")
	}
}

func TestSetKeepsCommentsAndOrder(t *testing.T) {
	for _, c := range []struct {
		name, before, key string
		value             any
		after             string
	}{
		{"value in place", "# a\nmodel = \"x\"   # why\nhotkey = \"\"\n", "model", "y/z", "# a\nmodel = \"y/z\"   # why\nhotkey = \"\"\n"},
		{"in a table", "[context] # c\n# more\ncompact_at = 0.5 # d\n", "context.compact_at", 0.7, "[context] # c\n# more\ncompact_at = 0.7 # d\n"},
		{"empty file", "", "context.compact_at", 0.7, "[context]\ncompact_at = 0.7\n"},
		{"new root key", "model = \"x\"\n\n# the context\n[context]\ncompact_at = 0.5\n", "hotkey", "", "model = \"x\"\nhotkey = \"\"\n\n# the context\n[context]\ncompact_at = 0.5\n"},
		{"new root key before tables", "# top\n\n# the context\n[context]\n", "hotkey", "f1", "# top\nhotkey = \"f1\"\n\n# the context\n[context]\n"},
		{"new key in a table", "[kb]\nresults = 3\n\n[popup]\npinned = true\n", "kb.threshold", 0.2, "[kb]\nresults = 3\nthreshold = 0.2\n\n[popup]\npinned = true\n"},
		{"new key in an empty table", "[kb]\n[popup]\n", "kb.results", 4, "[kb]\nresults = 4\n[popup]\n"},
		{"new table", "model = \"x\"", "popup.theme", "dark", "model = \"x\"\n\n[popup]\ntheme = \"dark\"\n"},
		{"before array tables", "[providers.l]\nwire = \"gemini\"\n[[providers.l.models]]\nid = \"a\"\n", "providers.l.base_url", "http://x", "[providers.l]\nwire = \"gemini\"\nbase_url = \"http://x\"\n[[providers.l.models]]\nid = \"a\"\n"},
		{"dotted keys", "context.compact_at = 0.5\npopup.pinned = true\n", "popup.theme", "dark", "context.compact_at = 0.5\npopup.pinned = true\npopup.theme = \"dark\"\n"},
		{"dotted value", "popup.pinned = true\n", "popup.pinned", false, "popup.pinned = false\n"},
		{"inline table", "popup = { pinned = true } # p\n", "popup.theme", "dark", "popup = { pinned = true, theme = \"dark\" } # p\n"},
		{"quoted name", "", `connectors."my.server".url`, "http://x", "[connectors.\"my.server\"]\nurl = \"http://x\"\n"},
		{"list", "[kb]\nfolders = [\n  \"a\", # one\n  \"b\",\n] # end\n", "kb.folders", []string{"c \"d\"\n"}, "[kb]\nfolders = [\"c \\\"d\\\"\\n\"] # end\n"},
		{"multi-line string", "model = \"\"\"\na\"\"\"\nhotkey = \"\"\n", "model", "b", "model = \"b\"\nhotkey = \"\"\n"},
		{"remove", "model = \"x\" # gone\n# stays\nhotkey = \"\"\n", "model", nil, "# stays\nhotkey = \"\"\n"},
		{"remove what is not there", "model = \"x\"\n", "kb.results", nil, "model = \"x\"\n"},
		{"remove in inline", "popup = { pinned = true, theme = \"dark\" }\n", "popup.theme", nil, "popup = { pinned = true }\n"},
		{"remove a table", "model = \"x\"\n\n# mine\n[connectors.a]\nurl = \"http://a\"\n# inner\n[connectors.a.env]\nX = \"1\"\n\n# other\n[connectors.b]\nurl = \"http://b\"\n", "connectors.a", nil, "model = \"x\"\n\n# other\n[connectors.b]\nurl = \"http://b\"\n"},
		{"tables become a value", "[[prompts]]\nname = \"a\"\ntext = \"b\"\n\n[kb]\nresults = 3\n", "prompts", []any{map[string]any{"name": "c", "text": "d"}}, "prompts = [{ name = \"c\", text = \"d\" }]\n\n[kb]\nresults = 3\n"},
		{"CRLF", "model = \"x\"\r\nhotkey = \"\"\r\n", "model", "y", "model = \"y\"\r\nhotkey = \"\"\r\n"},
		{"whole float", "[context]\ncompact_at = 0.5\n[limits]\ncost_per_day = 1.5\n", "limits.cost_per_day", 2.0, "[context]\ncompact_at = 0.5\n[limits]\ncost_per_day = 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.before)
			must(t, Set(path, c.key, c.value))
			got, _ := os.ReadFile(path)
			if string(got) != c.after {
				t.Fatalf("got\n%s\nwant\n%s", got, c.after)
			}
			if _, err := Load(path); err != nil {
				t.Fatalf("the file has a mistake now: %v", err)
			}
		})
	}
}

func TestSetRefusesWhatWouldBeAMistakeAndLeavesTheFile(t *testing.T) {
	const text = "[context]\ncompact_at = 0.5\n"
	for name, c := range map[string]struct {
		key   string
		value any
	}{
		"range":     {"context.compact_at", 7},
		"unknown":   {"context.compct_at", 0.5},
		"type":      {"context.compact_at", "much"},
		"bad key":   {"a b", 1},
		"injection": {"model = \"x\"\nhotkey", 1},
		"empty":     {"", 1},
		"no value":  {"model", make(chan int)},
		"no table":  {"context.compact_at.x", 1},
	} {
		path := write(t, text)
		if err := Set(path, c.key, c.value); chat.ClassOf(err) != chat.ClassMisuse {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s: the file is now %q", name, got)
		}
	}
	path := write(t, "model = ")
	if err := Set(path, "hotkey", ""); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file with a mistake was edited: %v", err)
	}
}

func TestSetKeepsModeAndFollowsALink(t *testing.T) {
	dir := t.TempDir()
	real := write(t, "model = \"x\"\n")
	must(t, os.Chmod(real, 0o640))
	link := filepath.Join(dir, "config.toml")
	must(t, os.Symlink(real, link))
	must(t, Set(link, "model", "y"))
	st, _ := os.Lstat(link)
	if st.Mode()&os.ModeSymlink == 0 {
		t.Fatal("the link was replaced by a file")
	}
	if st, _ = os.Stat(real); st.Mode().Perm() != 0o640 {
		t.Fatalf("mode %o", st.Mode().Perm())
	}
	fresh := filepath.Join(dir, "new", "config.toml")
	must(t, Set(fresh, "model", "y"))
	if st, _ = os.Stat(fresh); st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %o", st.Mode().Perm())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "new", ".*")); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// told is one call of Watch.
type told struct {
	c   Config
	err error
}

func TestChangesAreToldAndAMistakeKeepsTheLastGoodSettings(t *testing.T) {
	path := write(t, "model = \"one\"\n")
	ctx, cancel := context.WithCancel(context.Background())
	ch, done := make(chan told, 10), make(chan struct{})
	go func() { defer close(done); Watch(ctx, path, func(c Config, err error) { ch <- told{c, err} }) }()
	defer func() { cancel(); <-done }()
	expect := func(model string, bad bool) {
		t.Helper()
		for {
			select {
			case got := <-ch:
				if got.c.Model == model && (got.err != nil) == bad {
					return
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("no word of %q, mistake %v", model, bad)
			}
		}
	}
	expect("one", false)
	must(t, Set(path, "model", "two")) // by rename, as editors do
	expect("two", false)
	must(t, os.WriteFile(path, []byte("model = three\n"), 0o600)) // in place
	expect("two", true)
	must(t, os.WriteFile(path, []byte("model = \"three!\"\n"), 0o600))
	expect("three!", false)
	must(t, os.Remove(path))
	expect("", false)
}

func TestFoldersAreForTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	p := PathsIn(filepath.Join(dir, "home"))
	must(t, os.MkdirAll(p.Data, 0o755))
	must(t, p.Make())
	for _, d := range []string{p.Data, p.Runtime} {
		if st, err := os.Stat(d); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", d, st.Mode(), err)
		}
	}
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	err := PathsIn(file).Make()
	if chat.ClassOf(err) != chat.ClassStore || !strings.Contains(err.Error(), "PERCH_HOME") {
		t.Fatal(err)
	}
}

func TestPathsGoByTheEnvironment(t *testing.T) {
	t.Setenv("PERCH_HOME", "/x")
	p, err := DefaultPaths()
	must(t, err)
	if p != PathsIn("/x") || p.Socket() != "/x/run/control.sock" {
		t.Fatalf("%+v", p)
	}
	t.Setenv("PERCH_HOME", "/"+strings.Repeat("long/", 30))
	if p, _ = DefaultPaths(); len(p.Socket()) > maxSocketPath {
		t.Fatalf("the socket's path %q is too long", p.Socket())
	}
	t.Setenv("PERCH_HOME", "")
	t.Setenv("HOME", "/home/u")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "relative")
	t.Setenv("XDG_RUNTIME_DIR", "")
	if p, _ = DefaultPaths(); p.Data != "/home/u/.local/share/perch" || !strings.HasPrefix(p.Runtime, p.Data) {
		t.Fatalf("%+v", p)
	}
	t.Setenv("HOME", "")
	if _, err = DefaultPaths(); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(example), "kb.results", "x")
	f.Add([]byte("a.b = {c=1}\n"), "a.b.d", "y")
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		if _, m := parse(data); m != nil {
			return
		}
		_, _ = edit(data, key, value) // what it makes is checked by Set; it must not panic
		_, _ = edit(data, key, nil)
	})
}
