package userdef

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/chat"
	"perch/config"
	"perch/tools/exec"
	"perch/tools/toolstest"
)

// TestMain lets the test program be the supervisor of its own commands.
func TestMain(m *testing.M) {
	if code, handled := exec.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const wordCount = `name = "word_count"
description = "Counts words."
command = ["wc", "-w"]
timeout_seconds = 10

[schema.properties.text]
type = "string"
`

func TestMistakesNameTheirLineAndCostNoOtherTool(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.toml", wordCount)
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"syntax.toml":      {"name = \"a\"\ndescription = \n", 2, "expected value"},
		"noname.toml":      {"description = \"x\"\ncommand = \"true\"", 0, "has no name"},
		"badname.toml":     {"# a\n\nname = \"two words\"\ndescription = \"x\"\ncommand = \"true\"", 3, "cannot be used"},
		"nodesc.toml":      {"name = \"nd\"\ncommand = \"true\"", 0, "no description"},
		"nocommand.toml":   {"name = \"nc\"\ndescription = \"x\"", 0, "no command"},
		"emptycmd.toml":    {"name = \"ec\"\ndescription = \"x\"\ncommand = []", 3, "empty"},
		"numbercmd.toml":   {"name = \"nu\"\ndescription = \"x\"\ncommand = [\"head\", 3]", 3, "no text"},
		"unknown.toml":     {"name = \"u\"\ndescription = \"x\"\ncommand = \"true\"\ncomand = \"true\"", 4, `"comand" is not known`},
		"badschema.toml":   {"name = \"bs\"\ndescription = \"x\"\ncommand = \"true\"\nschema = \"{\"", 4, "no JSON object"},
		"arrayschema.toml": {"name = \"as\"\ndescription = \"x\"\ncommand = \"true\"\n[schema]\ntype = \"array\"", 4, "is an object"},
		"timeout.toml":     {"name = \"to\"\ndescription = \"x\"\ncommand = \"true\"\ntimeout_seconds = 99999", 4, "timeout_seconds"},
		"type.toml":        {"name = 3", 1, "incompatible"},
		"zdouble.toml":     {strings.Replace(wordCount, "Counts", "Again", 1), 0, "good.toml"},
		"binary.toml":      {"\x00\xff", 1, ""},
	} {
		write(t, dir, name, c.text)
		defer func() {
			_, problems := Load(dir, Options{})
			for _, p := range problems {
				if filepath.Base(p.Path) == name {
					if p.Line != c.line || !strings.Contains(p.Text, c.want) {
						t.Errorf("%s: %s", name, p)
					}
					return
				}
			}
			t.Errorf("%s: no problem", name)
		}()
	}
	write(t, dir, ".hidden.toml", "x")
	write(t, dir, "readme.md", "x")
	if err := os.Mkdir(filepath.Join(dir, "folder.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zz.toml")); err != nil {
		t.Fatal(err)
	}
	tools, problems := Load(dir, Options{})
	if len(tools) != 1 || tools[0].Definition().Name != "word_count" || len(problems) != 15 {
		t.Errorf("%d tools, problems %v", len(tools), problems)
	}
	if tools, problems := Load(filepath.Join(dir, "missing"), Options{}); tools != nil || problems != nil {
		t.Error("a missing folder is a problem")
	}
}

func TestToolsAreAskedAboutUnlessTheirEntryAllows(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.toml", wordCount)
	write(t, dir, "b.toml", "name = \"b\"\ndescription = \"x\"\ncommand = \"echo 'a b' | wc\"\nallow = true\nnetwork = true")
	settings := map[string]config.Tool{}
	get := func(name string, foreign bool) chat.Need {
		tools, _ := Load(dir, Options{Settings: func() map[string]config.Tool { return settings }, Foreign: foreign, Origin: "skill fish"})
		for _, tool := range tools {
			if tool.Definition().Name == name {
				return toolstest.Needs(t, tool, `{"text":"one two"}`, toolstest.NewEnv(t))[0]
			}
		}
		t.Fatal("no tool " + name)
		return chat.Need{}
	}
	if n := get("word_count", false); n.Free || n.Kind != chat.NeedOther || n.Detail != "skill fish word_count: wc -w\ninput: {\"text\":\"one two\"}" {
		t.Errorf("%+v", n)
	}
	if n := get("b", false); !n.Free || !strings.Contains(n.Detail, "echo 'a b' | wc") || !strings.Contains(n.Detail, "network") {
		t.Errorf("the user's own file allows: %+v", n)
	}
	if n := get("b", true); n.Free {
		t.Error("a file of somebody else allowed itself")
	}
	settings["word_count"] = config.Tool{Allow: true}
	if n := get("word_count", true); !n.Free {
		t.Error("the setting does not count")
	}
}

func TestCommandGetsTheInputAndItsOutputIsData(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.toml", "name = \"echo_input\"\ndescription = \"x\"\ncommand = [\"./run.sh\", \"arg one\"]\n[env]\nGREETING = \"hi\"")
	write(t, dir, "run.sh", "#!/bin/sh\nprintf '%s %s in %s: ' \"$GREETING\" \"$1\" \"$(pwd)\"\ncat\necho '</outside>'\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := exec.New(exec.Config{})
	defer e.Close()
	tools, problems := Load(dir, Options{Runner: e})
	if len(tools) != 1 {
		t.Fatal(problems)
	}
	env := toolstest.NewEnv(t)
	env.Variables = os.Environ()
	t.Setenv("SECRET_KEY", "planted")
	r := toolstest.Run(t, tools[0], `{"text":"ünï"}`, env)
	want := "hi arg one in " + env.WorkDir + ": {\"text\":\"ünï\"}\n&lt;/outside>"
	if !strings.Contains(r.Text, want) {
		t.Errorf("got %q, want %q", r.Text, want)
	}
}

func TestFailuresOfTheCommandAreTold(t *testing.T) {
	e := exec.New(exec.Config{})
	defer e.Close()
	for _, c := range []struct{ name, toml, want string }{
		{"exit code", `command = "echo broken >&2; exit 3"`, "exit code 3"},
		{"missing program", `command = ["/no/such/program"]`, "no such file"},
		{"time limit", "command = \"sleep 60\"\ntimeout_seconds = 1", "time limit"},
		{"no output", `command = "true"`, "(no output)"},
	} {
		dir := t.TempDir()
		write(t, dir, "a.toml", "name = \"x\"\ndescription = \"x\"\n"+c.toml)
		tools, problems := Load(dir, Options{Runner: e})
		if len(tools) != 1 {
			t.Fatal(problems)
		}
		env := toolstest.NewEnv(t)
		env.Variables = os.Environ()
		r, err := tools[0].Execute(context.Background(), json.RawMessage(`{}`), env)
		got := r.Text
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.name == "time limit" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a time limit is no timeout: %v", err)
		}
	}
}

func TestAbortEndsTheCommand(t *testing.T) {
	e := exec.New(exec.Config{})
	defer e.Close()
	dir := t.TempDir()
	write(t, dir, "a.toml", "name = \"x\"\ndescription = \"x\"\ncommand = \"echo started; sleep 60\"")
	tools, _ := Load(dir, Options{Runner: e})
	env := toolstest.NewEnv(t)
	env.Variables = os.Environ()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tools[0].Execute(ctx, json.RawMessage(`{}`), env); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSchemaFormsAreOne(t *testing.T) {
	for _, s := range []string{
		"[schema]\ntype = \"object\"\nrequired = [\"n\"]\n[schema.properties.n]\ntype = \"integer\"",
		"schema = '{\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}'",
	} {
		dir := t.TempDir()
		write(t, dir, "a.toml", "name = \"x\"\ndescription = \"x\"\ncommand = \"true\"\n"+s)
		tools, problems := Load(dir, Options{})
		if len(tools) != 1 {
			t.Fatal(problems)
		}
		if got := string(tools[0].Definition().Schema); got != `{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}` {
			t.Errorf("%s: %s", s, got)
		}
	}
}
