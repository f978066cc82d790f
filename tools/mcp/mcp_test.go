//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/tools/toolstest"
)

// fault is a connector that is the test program with a fault.
func fault(name string) config.Connector {
	return config.Connector{Command: []string{os.Args[0]}, Env: map[string]string{faultEnv: name}}
}

// notices gathers what a user is told.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

func (n *notices) has(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.list, "\n"), part)
}

func (n *notices) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.list)
}

// manage returns a manager of these connectors with short times.
func manage(t *testing.T, connectors map[string]config.Connector, opts ...Option) (*Manager, *notices) {
	t.Helper()
	n := &notices{}
	opts = append([]Option{withTimes(20*time.Second, 20*time.Second, 10*time.Millisecond)}, opts...)
	m := NewManager(func() map[string]config.Connector { return connectors }, n.add, opts...)
	t.Cleanup(m.Close)
	return m, n
}

func names(tools []chat.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Definition().Name)
	}
	return out
}

func find(t *testing.T, tools []chat.Tool, name string) chat.Tool {
	t.Helper()
	for _, tool := range tools {
		if tool.Definition().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s in %v", name, names(tools))
	return nil
}

// eventually waits for a condition, at most ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func call(tool chat.Tool, env chat.Env, input string) (chat.ToolResult, error) {
	return tool.Execute(context.Background(), json.RawMessage(input), env)
}

func TestToolsOfAServerAreOfferedAndCalled(t *testing.T) {
	m, n := manage(t, map[string]config.Connector{"my server": fault("banner")})
	tools := m.Tools()
	tool := find(t, tools, "my_server__echo")
	r, err := call(tool, toolstest.NewEnv(t), `{"text":"hi"}`)
	if err != nil || r.Text != "<outside source=\"connector my server\">\necho: hi\n</outside>" || !r.Untrusted {
		t.Errorf("%+v %v", r, err)
	}
	if d := tool.Definition(); d.Description != "does echo" || !strings.Contains(string(d.Schema), `"text"`) {
		t.Errorf("%+v", d)
	}
	if n.count() != 0 {
		t.Errorf("notices %v", n.list)
	}
	a, _ := json.Marshal(tool.Definition())
	b, _ := json.Marshal(find(t, m.Tools(), "my_server__echo").Definition())
	if string(a) != string(b) {
		t.Error("two listings differ")
	}
}

func TestCallsAreAskedAboutUnlessTheEntryAllows(t *testing.T) {
	c := fault("plain")
	settings := map[string]config.Tool{}
	connectors := map[string]config.Connector{"s": c}
	m, _ := manage(t, connectors, WithTools(func() map[string]config.Tool { return settings }))
	tool := find(t, m.Tools(), "s__echo")
	need := toolstest.Needs(t, tool, `{"text":"whole input"}`, toolstest.NewEnv(t))[0]
	if need.Free || need.Kind != chat.NeedOther || need.Subject != "s__echo" || !strings.Contains(need.Detail, "connector s: echo") || !strings.Contains(need.Detail, "whole input") {
		t.Errorf("%+v", need)
	}
	settings["s__echo"] = config.Tool{Allow: true}
	if !toolstest.Needs(t, tool, `{}`, toolstest.NewEnv(t))[0].Free {
		t.Error("the tool's entry does not count")
	}
	delete(settings, "s__echo")
	c.Allow = true
	connectors["s"] = c
	if !toolstest.Needs(t, find(t, m.Tools(), "s__echo"), `{}`, toolstest.NewEnv(t))[0].Free {
		t.Error("the connector's entry does not count")
	}
}

func TestServerThatDiesInACallCostsTheCallAndIsStartedAgain(t *testing.T) {
	m, n := manage(t, map[string]config.Connector{"s": fault("killed")})
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	begin := time.Now()
	_, err := call(find(t, tools, "s__die"), env, `{}`)
	if err == nil || !strings.Contains(err.Error(), "was lost during this call") || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	r, err := call(find(t, tools, "s__echo"), env, `{"text":"again"}`)
	if err != nil || !strings.Contains(r.Text, "echo: again") {
		t.Errorf("after the restart: %+v %v", r, err)
	}
	if !n.has("exit status 7") || !n.has("segmentation fault, sort of") || !n.has("started again") {
		t.Errorf("notices %v", n.list)
	}
}

func TestServerThatHangsAtItsStartCostsItsToolsOnly(t *testing.T) {
	m, n := manage(t, map[string]config.Connector{"bad": fault("hung"), "good": fault("plain")},
		withTimes(300*time.Millisecond, 10*time.Second, time.Hour))
	if got := names(m.Tools()); len(got) != 1 || got[0] != "good__echo" {
		t.Errorf("tools %v", got)
	}
	if !n.has("The connector bad is not available: it did not answer within 300ms") || n.count() != 1 {
		t.Errorf("notices %v", n.list)
	}
	for _, s := range m.Status() {
		if want := map[string]string{"bad": "failed", "good": "ready"}[s.Name]; s.State != want {
			t.Errorf("%+v", s)
		}
	}
}

func TestFirstRunDoesNotWaitLongForASlowServer(t *testing.T) {
	m, _ := manage(t, map[string]config.Connector{"bad": fault("hung"), "good": fault("plain")}, withTimes(time.Hour, 2*time.Second, time.Hour))
	begin := time.Now()
	got := names(m.Tools())
	if d := time.Since(begin); d > 8*time.Second || len(got) != 1 {
		t.Errorf("%v after %v", got, d)
	}
	begin = time.Now()
	if m.Tools(); time.Since(begin) > time.Second {
		t.Error("the second run waited as well")
	}
}

func TestServersThatCannotStartSayWhy(t *testing.T) {
	for name, c := range map[string]struct {
		connector config.Connector
		want      string
	}{
		"dead":     {fault("dead"), "exit status 3; its last words: no licence found, giving up"},
		"missing":  {config.Connector{Command: []string{"/no/such/server"}}, `"/no/such/server" was not found; install it`},
		"nothing":  {config.Connector{}, "neither a command nor a url"},
		"both":     {config.Connector{Command: []string{"x"}, URL: "http://x"}, "both a command and a url"},
		"badurl":   {config.Connector{URL: "ftp://x"}, "no http or https address"},
		"empty":    {config.Connector{Command: []string{" "}}, "command is empty"},
		"no host":  {config.Connector{URL: "http://127.0.0.1:1/mcp"}, "refused"},
		"garbage":  {fault("garbage"), "did not answer"},
		"endless":  {fault("endless"), ""},
		"deaf":     {fault("deaf"), "did not answer"},
		"no shell": {config.Connector{Command: []string{"true"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := manage(t, map[string]config.Connector{"x": c.connector}, withTimes(3*time.Second, 15*time.Second, time.Hour))
			if tools := m.Tools(); len(tools) != 0 {
				t.Errorf("tools %v", names(tools))
			}
			if !n.has(c.want) || n.count() != 1 {
				t.Errorf("notices %q", n.list)
			}
			begin := time.Now()
			m.Close()
			if d := time.Since(begin); d > closeTimeout {
				t.Errorf("the end took %v", d)
			}
		})
	}
}

func TestFloodIsBoundedAndKeptAsAFile(t *testing.T) {
	m, _ := manage(t, map[string]config.Connector{"s": fault("flood")})
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	r, err := call(find(t, tools, "s__flood"), env, `{}`)
	if err != nil || len(r.Text) > 32_000 || !strings.Contains(r.Text, env.Spool) {
		t.Errorf("%d bytes, %v", len(r.Text), err)
	}
	if _, err = call(find(t, tools, "s__burst"), env, `{}`); err == nil {
		t.Error("a message beyond the bound was read")
	}
	if r, err := call(find(t, tools, "s__echo"), env, `{"text":"still here"}`); err != nil || !strings.Contains(r.Text, "still here") {
		t.Errorf("after the burst: %+v %v", r, err)
	}
}

func TestToolThatIgnoresEverythingIsLeftInTime(t *testing.T) {
	c := fault("slow")
	c.TimeoutSeconds = 1
	m, _ := manage(t, map[string]config.Connector{"s": c})
	tool := find(t, m.Tools(), "s__sleep")
	env := toolstest.NewEnv(t)
	_, err := call(tool, env, `{}`)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer within 1s") {
		t.Errorf("%v", err)
	}
	if p := env.ProgressTexts(); len(p) != 1 || p[0] != "half way (1 of 2)" {
		t.Errorf("progress %q", p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin := time.Now()
	if _, err := tool.Execute(ctx, json.RawMessage(`{}`), cancelling{toolstest.NewEnv(t), cancel}); !errors.Is(err, context.Canceled) || time.Since(begin) > time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// cancelling stops the run at the first word of progress.
type cancelling struct {
	*toolstest.Env
	cancel context.CancelFunc
}

func (c cancelling) Progress(string) { c.cancel() }

func TestChangedToolsCountFromTheNextListing(t *testing.T) {
	m, _ := manage(t, map[string]config.Connector{"s": fault("changing")})
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	if _, err := call(find(t, tools, "s__grow"), env, `{}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tool is listed", func() bool { return strings.Contains(strings.Join(names(m.Tools()), " "), "s__grown") })
	if got := strings.Join(names(m.Tools()), " "); strings.Contains(got, "s__echo") {
		t.Errorf("tools %s", got)
	}
	r, err := call(find(t, tools, "s__echo"), env, `{"text":"x"}`)
	if err == nil && !r.IsError {
		t.Errorf("a tool that is gone answered: %+v", r)
	}
	if r, err := call(find(t, m.Tools(), "s__grown"), env, `{}`); err != nil || !strings.Contains(r.Text, "I am new") {
		t.Errorf("%+v %v", r, err)
	}
}

func TestNastyContentIsCleanedAndKept(t *testing.T) {
	m, _ := manage(t, map[string]config.Connector{"s": fault("nasty")})
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	r, err := call(find(t, tools, "s__nasty"), env, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(r.Text, "\x00\x1b\u202e\U000E0041") || strings.Count(r.Text, "</outside>") != 1 {
		t.Errorf("%q", r.Text)
	}
	for _, want := range []string{"ab", "[resource x://text]\nresource text", "[resource x://link: a link]", "3 bytes of application/zip, kept as " + env.Spool, "2 bytes of audio/wav", "10 bytes of image/png"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q misses %q", r.Text, want)
		}
	}
	if len(r.Images) != 1 || r.Images[0].MIME != "image/png" || r.Images[0].Width != 1 {
		t.Errorf("%+v", r.Images)
	}
	if r, err := call(find(t, tools, "s__fails"), env, `{}`); err != nil || !r.IsError || r.Failure != chat.FailTool || !strings.Contains(r.Text, "the lake is frozen") {
		t.Errorf("%+v %v", r, err)
	}
	for _, tool := range tools {
		if n := tool.Definition().Name; len(n) > maxToolName || strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("name %q", n)
		}
		if strings.HasPrefix(tool.Definition().Name, "s__bad_name") {
			if r, err := call(tool, env, `{}`); err != nil || !strings.Contains(r.Text, "named") {
				t.Errorf("%+v %v", r, err)
			}
		}
	}
}

func TestTooManyToolsAreCutWithANotice(t *testing.T) {
	m, n := manage(t, map[string]config.Connector{"s": fault("many")})
	if got := len(m.Tools()); got != maxTools || !n.has("only the first 100") {
		t.Errorf("%d tools, notices %v", got, n.list)
	}
}

func TestServersGetAnAllowlistedEnvironment(t *testing.T) {
	c := fault("environ")
	c.Env["GREETING"] = "hi"
	m, _ := manage(t, map[string]config.Connector{"s": c}, WithEnviron(func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=planted", "LANG=C"}
	}))
	r, err := call(find(t, m.Tools(), "s__environ"), toolstest.NewEnv(t), `{}`)
	if err != nil || strings.Contains(r.Text, "planted") || !strings.Contains(r.Text, "GREETING=hi") || !strings.Contains(r.Text, "LANG=C") {
		t.Errorf("%q %v", r.Text, err)
	}
}

func TestNothingOfAServerSurvivesTheManager(t *testing.T) {
	m, _ := manage(t, map[string]config.Connector{"s": fault("parent")})
	r, err := call(find(t, m.Tools(), "s__child"), toolstest.NewEnv(t), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	digits := strings.Trim(r.Text, "<>/abcdefghijklmnopqrstuvwxyz=\" \n")
	pid, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("%q: %v", r.Text, err)
	}
	m.Close()
	eventually(t, "the grandchild is dead", func() bool { return !running(pid) })
	if tools := m.Tools(); len(tools) != 0 {
		t.Errorf("a closed manager has %v", names(tools))
	}
}

func TestServersDieWithAKilledPerch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the parent-death signal is Linux's own")
	}
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostEnv+"="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	eventually(t, "the server runs", func() bool {
		b, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(b))
		return pid > 0 && running(pid)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the server is dead", func() bool { return !running(pid) })
}

// running reports whether a process lives; a zombie does not.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestSettingsStartAndStopServers(t *testing.T) {
	connectors := map[string]config.Connector{"a": fault("plain")}
	var mu sync.Mutex
	m := NewManager(func() map[string]config.Connector {
		mu.Lock()
		defer mu.Unlock()
		out := map[string]config.Connector{}
		for k, v := range connectors {
			out[k] = v
		}
		return out
	}, nil, withTimes(20*time.Second, 20*time.Second, 10*time.Millisecond))
	defer m.Close()
	old := find(t, m.Tools(), "a__echo")
	mu.Lock()
	connectors["b"] = fault("plain")
	off := connectors["a"]
	off.Off = true
	connectors["a"] = off
	mu.Unlock()
	if got := names(m.Tools()); len(got) != 1 || got[0] != "b__echo" {
		t.Errorf("%v", got)
	}
	if _, err := call(old, toolstest.NewEnv(t), `{}`); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("%v", err)
	}
}

func TestNamesAreSafeStableAndDifferent(t *testing.T) {
	taken := map[string]bool{}
	for _, c := range []struct{ server, tool, want string }{
		{"files", "read", "files__read"},
		{"my files", "größe", "my_files__gr__e"},
		{"a", "x.y", "a__x_y"},
		{"a", "x y", "a__x_y_"},
		{"", "t", "___t"},
		{"s", " ", ""},
		{strings.Repeat("s", 40), strings.Repeat("t", 40), strings.Repeat("s", 40) + "__" + strings.Repeat("t", 13) + "_"},
	} {
		got := offeredName(c.server, c.tool, taken)
		if !strings.HasPrefix(got, c.want) || len(got) > maxToolName || c.want == "" && got != "" {
			t.Errorf("%q %q: %q, want %q…", c.server, c.tool, got, c.want)
		}
	}
	if a, b := offeredName("s", strings.Repeat("x", 80)+"1", map[string]bool{}), offeredName("s", strings.Repeat("x", 80)+"2", map[string]bool{}); a == b {
		t.Error("two long names became one")
	}
}

func TestLineFilterPassesOnlyLinesOfJSON(t *testing.T) {
	in := "Welcome!\n{\"a\":1}\nwarning: x\n  {\"b\":\n[1]\n\r\n\n{\"c\":2"
	want := "{\"a\":1}\n{\"b\":\n[1]\n{\"c\":2"
	for size := 1; size < 20; size++ {
		f := &lineFilter{r: strings.NewReader(in)}
		var got strings.Builder
		buf := make([]byte, size)
		for {
			n, err := f.Read(buf)
			got.Write(buf[:n])
			if err != nil {
				break
			}
		}
		if got.String() != want {
			t.Fatalf("with %d bytes at a time: %q", size, got.String())
		}
	}
}
