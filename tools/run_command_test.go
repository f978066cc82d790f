package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/tools/exec"
	"perch/tools/places"
	"perch/tools/toolstest"
)

// The test binary is its own supervisor, as perch is.
func TestMain(m *testing.M) {
	if code, handled := exec.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func newCommand(t *testing.T, sandbox config.Sandbox) (*exec.Executor, *toolstest.Env) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// A secret place keeps the temporary folder, in which all of this lies, from
	// being granted whole.
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := toolstest.NewEnv(t)
	env.WorkDir = filepath.Join(home, "work")
	env.Variables = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home}
	e := exec.New(exec.Config{Places: places.New(home), Sandbox: func() config.Sandbox { return sandbox }})
	t.Cleanup(e.Close)
	return e, env
}

func commandNeeds(t *testing.T, e *exec.Executor, env chat.Env, in m) []chat.Need {
	t.Helper()
	raw, _ := json.Marshal(in)
	if err := Validate(RunCommand(e).Definition(), raw); err != nil {
		t.Fatal(err)
	}
	ns, err := RunCommand(e).(chat.Needer).Needs(context.Background(), raw, env)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

func TestACommandsNeedSaysWhatIsKnownOfIt(t *testing.T) {
	e, env := newCommand(t, config.Sandbox{AllowDestructive: []string{"reboot"}})
	if why := e.Unconfined(); why != "" {
		t.Skip(why)
	}
	for _, c := range []struct {
		command              string
		forbidden, uncertain bool
		prefix               string
	}{
		{"git status", false, false, "git status"},
		{"make && make install", false, false, ""},
		{"rm -rf /", true, false, ""},
		{"rm -rf \"$X\"", false, true, ""},
		{"reboot", false, false, ""}, // allowed by the settings
		{"sudo reboot", true, false, ""},
	} {
		n := commandNeeds(t, e, env, m{"command": c.command})[0]
		if n.Kind != chat.NeedExecute || n.Subject != c.command || (n.Forbidden != "") != c.forbidden || n.Uncertain != c.uncertain || n.Prefix != c.prefix || n.Free {
			t.Errorf("%s: %+v", c.command, n)
		}
	}
	n := commandNeeds(t, e, env, m{"command": "echo a\u202eb \x1b[2K" + strings.Repeat("x", 5000)})[0]
	if !strings.HasPrefix(n.Detail, "echo a‹U+202E›b ‹U+001B›[2Kxxx") || len(n.Detail) < 5000 {
		t.Errorf("%.80q", n.Detail)
	}
	ns := commandNeeds(t, e, env, m{"command": "npm ci", "network": true, "background": true})
	if len(ns) != 2 || ns[1].Kind != chat.NeedNetwork || ns[1].Prefix != "npm ci" || !strings.Contains(ns[0].Detail, "background") {
		t.Errorf("%+v", ns)
	}
	if ns := commandNeeds(t, e, env, m{"stop": "job1"}); len(ns) != 0 {
		t.Errorf("asked to stop: %+v", ns)
	}
	if _, err := RunCommand(e).(chat.Needer).Needs(context.Background(), json.RawMessage(`{}`), env); err == nil {
		t.Error("a call without a command passed")
	}
}

func TestWithoutConfinementPermissionIsStricter(t *testing.T) {
	off, env := newCommand(t, config.Sandbox{Off: true})
	n := commandNeeds(t, off, env, m{"command": "ls"})[0]
	if n.Uncertain || !strings.Contains(n.Detail, "not confined") {
		t.Errorf("switched off by the user: %+v", n)
	}
	none := exec.New(exec.WithoutLandlock(exec.Config{Places: places.New(env.WorkDir)}))
	n = commandNeeds(t, none, env, m{"command": "ls"})[0]
	if !n.Uncertain || !strings.Contains(n.Detail, "not confined") {
		t.Errorf("a kernel without it: %+v", n)
	}
}

func TestRunCommandReportsToTheModel(t *testing.T) {
	e, env := newCommand(t, config.Sandbox{})
	run := func(in m) (chat.ToolResult, error) {
		raw, _ := json.Marshal(in)
		return RunCommand(e).Execute(context.Background(), raw, env)
	}
	r, err := run(m{"command": "echo hello; pwd"})
	if err != nil || r.IsError || !strings.HasPrefix(r.Text, "hello\n"+env.WorkDir+"\n[exit code 0; ") {
		t.Errorf("%q %v", r.Text, err)
	}
	if w := env.Written(); len(w) != 2 || w[0] != env.WorkDir {
		t.Errorf("the working folder was not kept: %v", w)
	}
	r, err = run(m{"command": "echo wrong >&2; exit 3"})
	if err != nil || !r.IsError || r.Failure != chat.FailTool || !strings.Contains(r.Text, "wrong\n[exit code 3") {
		t.Errorf("%+v %v", r, err)
	}
	r, err = run(m{"command": "true"})
	if err != nil || !strings.HasPrefix(r.Text, "(no output)\n") {
		t.Errorf("%q %v", r.Text, err)
	}
	_, err = run(m{"command": "echo before; sleep 60", "timeout_seconds": 1})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "before\n[ended after its time limit") {
		t.Errorf("%v", err)
	}
	r, err = run(m{"command": "sleep 300 & echo x"})
	if err != nil || !strings.Contains(r.Text, "left processes behind, which were ended: sleep") {
		t.Errorf("%q %v", r.Text, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for ctx.Err() == nil { // until the command has begun
			if _, err := os.Stat(filepath.Join(env.WorkDir, "begun")); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r, err = RunCommand(e).Execute(ctx, json.RawMessage(`{"command":"echo so far; touch begun; sleep 60"}`), env)
	if !errors.Is(err, context.Canceled) || !strings.Contains(r.Text, "so far\n[stopped by the user") {
		t.Errorf("%q %v", r.Text, err)
	}
}

func TestRunCommandKeepsServersInTheBackground(t *testing.T) {
	e, env := newCommand(t, config.Sandbox{})
	raw := json.RawMessage(`{"command":"echo listening; sleep 300","background":true}`)
	r, err := RunCommand(e).Execute(context.Background(), raw, env)
	jobs := e.Jobs(env.Session())
	if err != nil || len(jobs) != 1 || !strings.Contains(r.Text, jobs[0].ID) || !strings.Contains(r.Text, jobs[0].Spool) {
		t.Fatalf("%q %v", r.Text, err)
	}
	if b, _ := os.ReadFile(jobs[0].Spool); string(b) != "listening\n" {
		t.Errorf("%q", b)
	}
	stop, _ := json.Marshal(m{"stop": jobs[0].ID})
	if r, err = RunCommand(e).Execute(context.Background(), stop, env); err != nil || jobs[0].Running() {
		t.Errorf("%q %v", r.Text, err)
	}
	if _, err = RunCommand(e).Execute(context.Background(), json.RawMessage(`{"stop":"job99"}`), env); err == nil {
		t.Error("stopped what is not there")
	}
	r, err = RunCommand(e).Execute(context.Background(), json.RawMessage(`{"command":"exit 5","background":true}`), env)
	// A slow machine may not see its end within the moment that is waited for.
	if slow := err == nil && strings.Contains(r.Text, "Runs in the background"); !slow && (err != nil || !r.IsError || !strings.Contains(r.Text, "ended at once")) {
		t.Errorf("%q %v", r.Text, err)
	}
}

func TestGrantsOfTheSessionReachACommand(t *testing.T) {
	e, env := newCommand(t, config.Sandbox{})
	if why := e.Unconfined(); why != "" {
		t.Skip(why)
	}
	other := filepath.Join(filepath.Dir(env.WorkDir), "other")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(m{"command": "echo x > " + other + "/f"})
	if r, err := RunCommand(e).Execute(context.Background(), raw, env); err != nil || !r.IsError {
		t.Errorf("wrote without a grant: %q %v", r.Text, err)
	}
	env.Allow(chat.NeedWrite, other)
	if r, err := RunCommand(e).Execute(context.Background(), raw, env); err != nil || r.IsError {
		t.Errorf("%q %v", r.Text, err)
	}
}

// largeEnv is a run whose working folder is too large to be kept.
type largeEnv struct{ *toolstest.Env }

type notKept struct{}

func (notKept) Error() string   { return "large" }
func (notKept) NotKept() string { return "it has a million files" }

func (largeEnv) BeforeWrite(string) error { return notKept{} }

func TestACommandThatCannotBeRevertedSaysSo(t *testing.T) {
	e, env := newCommand(t, config.Sandbox{})
	r, err := RunCommand(e).Execute(context.Background(), json.RawMessage(`{"command":"true"}`), largeEnv{env})
	if err != nil || !strings.Contains(r.Text, "cannot be reverted: it has a million files") {
		t.Errorf("%q %v", r.Text, err)
	}
}
