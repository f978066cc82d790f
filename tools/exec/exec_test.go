package exec

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"perch/config"
	"perch/tools/places"
)

// bench is an executor with a throw-away home, working folder and spool.
type bench struct {
	*Executor
	home, dir, spool string
}

func newBench(t testing.TB, change ...func(*Config)) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{home: base + "/home", dir: base + "/home/work", spool: base + "/home/.local/share/perch/spool"}
	for _, d := range []string{b.dir, b.spool} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Places: places.New(b.home, b.home+"/.local/share/perch")}
	for _, f := range change {
		f(&c)
	}
	if c.bwrap == nil {
		c.bwrap = new(string) // only where a test is about it
	}
	b.Executor = New(c)
	t.Cleanup(b.Close)
	return b
}

func (b *bench) command(shell string) Command {
	return Command{
		Session: "s", Shell: shell, Dir: b.dir, SpoolDir: b.spool,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + b.home, "LANG=C.UTF-8"},
	}
}

func (b *bench) run(t testing.TB, shell string) *Result {
	t.Helper()
	r, err := b.Run(context.Background(), b.command(shell))
	if err != nil {
		t.Fatalf("%s: %v", shell, err)
	}
	return r
}

func TestACommandsOutcomeIsReported(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		shell, output string
		code          int
		signal        string
	}{
		{"echo out; echo err >&2; exit 3", "out\nerr\n", 3, ""},
		{"true", "", 0, ""},
		{"kill -9 $$", "", -1, "SIGKILL"},
		{"pwd", b.dir + "\n", 0, ""},
		{"cat", "", 0, ""}, // standard input is empty
		{"[[ a == a ]] && echo bash", "bash\n", 0, ""},
		{"test -t 0 || echo none; (echo x > /dev/tty) 2>/dev/null || echo no terminal", "none\nno terminal\n", 0, ""},
		{"no-such-program-at-all", "", 127, ""},
		{"ls /etc >/dev/null && ls /etc/ssl >/dev/null && head -c 4 /etc/passwd && echo", "root\n", 0, ""},
		{"printf 'name one\\0name two\\0'", "name one\nname two\n", 0, ""},
		{"printf '10%%\\r50%%\\r100%%\\ndone\\n'", "100%\ndone\n", 0, ""},
		{"printf '\\033[31mred\\033[0m\\n'", "red\n", 0, ""},
		{"printf '\\264\\355\\316\\363\\243\\272\\316\\304\\274\\376\\262\\273\\264\\346\\324\\332\\243\\254\\307\\353\\274\\354\\262\\351\\302\\267\\276\\266\\n'", "错误：文件不存在，请检查路径\n", 0, ""},
	} {
		r := b.run(t, c.shell)
		if c.code == 127 {
			c.output = r.Output
		}
		if r.ExitCode != c.code || r.Signal != c.signal || r.Output != c.output || r.Binary || r.TimedOut || r.Aborted || len(r.Left) > 0 {
			t.Errorf("%s: %+v", c.shell, r)
		}
	}
}

func TestArgumentsAndStandardInputArriveAsTheyAre(t *testing.T) {
	b := newBench(t)
	c := b.command("")
	c.Argv = []string{"sh", "-c", `printf '%s|' "$@"; cat`, "x", "a b", "$(id)", "'"}
	c.Stdin = []byte(strings.Repeat("input ", 50_000))
	r, err := b.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.Output, "a b|$(id)|'|input ") || r.Bytes != 300_012 {
		t.Errorf("%v %d %.60s", err, r.Bytes, r.Output)
	}
	c.Argv = []string{"no-such-program"}
	if _, err := b.Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("got %v", err)
	}
	c.Argv = []string{"true"} // does not read
	if r, err := b.Run(context.Background(), c); err != nil || r.ExitCode != 0 {
		t.Errorf("got %v %v", r, err)
	}
}

func TestTheEnvironmentIsAnAllowlist(t *testing.T) {
	t.Setenv("SECRET_KEY", "planted-in-perch")
	t.Setenv("WANTED", "by-the-setting")
	b := newBench(t, func(c *Config) {
		c.Sandbox = func() config.Sandbox { return config.Sandbox{Env: []string{"WANTED", "DISPLAY"}} }
	})
	c := b.command("env")
	c.Env = append(c.Env, "ANTHROPIC_API_KEY=planted", "DBUS_SESSION_BUS_ADDRESS=planted", "XAUTHORITY=planted", "SSH_AUTH_SOCK=planted",
		"LC_ALL=C.UTF-8", "VIRTUAL_ENV=/venv", "https_proxy=http://user:planted@host", "http_proxy=http://host", "DISPLAY=:1")
	c.Set = []string{"TOOL_HOME=/t"}
	r, err := b.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Output, "planted") {
		t.Errorf("a secret reached the child:\n%s", r.Output)
	}
	for _, want := range []string{"WANTED=by-the-setting", "DISPLAY=:1", "LC_ALL=C.UTF-8", "VIRTUAL_ENV=/venv", "http_proxy=http://host", "TOOL_HOME=/t", "PAGER=cat", "HOME=" + b.home} {
		if !slices.Contains(strings.Split(r.Output, "\n"), want) {
			t.Errorf("%s is missing in:\n%s", want, r.Output)
		}
	}
}

func TestSecretsAreHiddenInResultAndSpool(t *testing.T) {
	const secret = "sk-very-secret-value-123456"
	b := newBench(t, func(c *Config) { c.Scrub = Hide(secret) })
	r := b.run(t, "echo key="+secret+"; echo -n "+secret+" | base64")
	if strings.Contains(r.Output, secret) || strings.Count(r.Output, hiddenText) != 2 {
		t.Errorf("got %q", r.Output)
	}
	// Long output: the secret lies across every possible cut of the spool.
	r = b.run(t, `for i in $(seq 1 20000); do printf 'xxxxxxxxxxxxx%s' `+secret+`; done`)
	got, err := os.ReadFile(r.Spool)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), secret) || strings.Contains(r.Output, secret) || strings.Count(string(got), hiddenText) != 20000 {
		t.Errorf("%d of 20000 were hidden", strings.Count(string(got), hiddenText))
	}
}

func TestLongOutputKeepsHeadAndTailAndTheWholeInAFile(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name, shell, head, tail string
		bytes                   int64
	}{
		{"lines", "seq 1 100000", "1\n2\n", "\n99999\n100000\n", 588_895},
		{"just over", "seq 1 7000", "1\n2\n", "\n6999\n7000\n", 33_893},
		{"one line", "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo end", "xxx", "xend\n", 3_000_004},
		{"cyrillic", "for i in $(seq 1 9000); do echo строка $i; done", "строка 1\n", "строка 9000\n", 0},
	} {
		r := b.run(t, c.shell)
		if !strings.HasPrefix(r.Output, c.head) || !strings.HasSuffix(r.Output, c.tail) || c.bytes != 0 && r.Bytes != c.bytes {
			t.Errorf("%s: %d bytes, %.40q … %.40q", c.name, r.Bytes, r.Output, r.Output[len(r.Output)-40:])
		}
		if n := len([]rune(r.Output)); n > 30_300 || n < 20_000 {
			t.Errorf("%s: %d characters are shown", c.name, n)
		}
		if !strings.Contains(r.Output, r.Spool) || r.Spool == "" {
			t.Errorf("%s: the file is not named", c.name)
			continue
		}
		if fi, err := os.Stat(r.Spool); err != nil || fi.Size() != r.Bytes || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: spool %v %v", c.name, fi, err)
		}
		if strings.ContainsRune(r.Output, '\uFFFD') {
			t.Errorf("%s: a character was cut", c.name)
		}
	}
}

func TestBinaryOutputIsNotShown(t *testing.T) {
	b := newBench(t)
	r := b.run(t, "head -c 5000 /bin/ls")
	if !r.Binary || r.Output != "" || r.Bytes != 5000 {
		t.Errorf("%+v", r)
	}
}

func TestTimeoutAndAbortEndEverything(t *testing.T) {
	b := newBench(t)
	for name, shell := range map[string]string{
		"plain":          "sleep 300",
		"grandchild":     "(sleep 300 & sleep 300) ; sleep 300",
		"nohup":          "nohup sleep 300 & nohup sleep 300",
		"setsid":         "setsid sh -c 'sleep 300; :' & sleep 300",
		"double fork":    "(setsid setsid sleep 300 >/dev/null 2>&1 &) ; sleep 300",
		"ignores":        "trap '' TERM INT HUP; while :; do sleep 0.05; done",
		"all ignore":     "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & while :; do sleep 0.05; done",
		"stopped":        "kill -STOP $$",
		"forks on":       "trap '' TERM; f() { sleep 0.02; f & }; f; sleep 300",
		"endless output": "yes",
	} {
		t.Run(name, func(t *testing.T) {
			c := b.command(shell)
			c.Timeout = 300 * time.Millisecond
			start := time.Now()
			r, err := b.Run(context.Background(), c)
			if err != nil || !r.TimedOut || len(r.Stuck) > 0 {
				t.Fatalf("%+v %v", r, err)
			}
			if d := time.Since(start); d > 1500*time.Millisecond {
				t.Errorf("the timeout took %v", d)
			}
			wantNoSurvivor(t, b.dir)

			ctx, cancel := context.WithCancel(context.Background())
			c.Timeout = 0
			var aborted time.Time
			go func() {
				for ctx.Err() == nil && len(workingIn(b.dir)) == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(100 * time.Millisecond) // past its first commands
				aborted = time.Now()
				cancel()
			}()
			r, err = b.Run(ctx, c)
			if err != nil || !r.Aborted || len(r.Stuck) > 0 {
				t.Fatalf("%+v %v", r, err)
			}
			if d := time.Since(aborted); d > time.Second {
				t.Errorf("the abort took %v", d)
			}
			wantNoSurvivor(t, b.dir)
		})
	}
}

// wantNoSurvivor fails if a process works in that folder.
func wantNoSurvivor(t testing.TB, dir string) {
	t.Helper()
	if left := workingIn(dir); len(left) > 0 {
		t.Errorf("still alive in %s: %v", dir, left)
	}
}

func workingIn(dir string) []string {
	var left []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if at, err := os.Readlink(l); err == nil && at == dir {
			name, _ := os.ReadFile(filepath.Dir(l) + "/cmdline")
			left = append(left, filepath.Base(filepath.Dir(l))+" "+string(name))
		}
	}
	return left
}

func TestChildrenThatOutliveTheirCommandAreEndedAndNamed(t *testing.T) {
	b := newBench(t)
	for _, shell := range []string{"sleep 300 & echo started", "nohup sleep 300 >/dev/null 2>&1 & echo started", "setsid sleep 300 & echo started"} {
		start := time.Now()
		r := b.run(t, shell)
		if r.ExitCode != 0 || !strings.Contains(r.Output, "started") || !slices.Equal(r.Left, []string{"sleep"}) {
			t.Errorf("%s: %+v", shell, r)
		}
		if d := time.Since(start); d > 1500*time.Millisecond {
			t.Errorf("%s: a background child held the call for %v", shell, d)
		}
		wantNoSurvivor(t, b.dir)
	}
}

func TestABackgroundCommandLivesUntilItsSessionEnds(t *testing.T) {
	b := newBench(t)
	j, r, err := b.Start(context.Background(), b.command("echo serving; (sleep 300 &) ; sleep 300"))
	if err != nil || j == nil {
		t.Fatalf("%+v %v", r, err)
	}
	if got, _ := os.ReadFile(j.Spool); string(got) != "serving\n" {
		t.Errorf("the output so far is %q", got)
	}
	if len(b.Jobs("s")) != 1 || len(b.Jobs("other")) != 0 || !j.Running() {
		t.Error("the job is not listed")
	}
	b.CloseSession("other")
	if !j.Running() {
		t.Fatal("another session's end ended it")
	}
	b.CloseSession("s")
	<-j.Done()
	wantNoSurvivor(t, b.dir)
}

func TestABackgroundCommandThatFailsAtOnceIsReported(t *testing.T) {
	b := newBench(t)
	b.settle = time.Minute
	j, r, err := b.Start(context.Background(), b.command("echo port in use; exit 4"))
	if err != nil || j != nil || r.ExitCode != 4 || r.Output != "port in use\n" {
		t.Errorf("%v %+v %v", j, r, err)
	}
	b.settle = settleTime
	j, _, err = b.Start(context.Background(), b.command("sleep 300"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.StopJob("s", j.ID); err != nil || j.Running() {
		t.Errorf("not stopped: %v", err)
	}
	if err := b.StopJob("other", j.ID); err == nil {
		t.Error("a job of another session was stopped")
	}
}

func TestProgressTellsTheNewestLine(t *testing.T) {
	b := newBench(t)
	said := make(chan string, 8)
	c := b.command("echo one; echo two; sleep 1.3")
	c.Progress = func(s string) { said <- s }
	if _, err := b.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-said:
		if s != "two" {
			t.Errorf("said %q", s)
		}
	default:
		t.Error("nothing was said")
	}
}
