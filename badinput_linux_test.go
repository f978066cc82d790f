package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"perch/control"
	"perch/tray/desktest"
)

// outcome is what a command of perch did.
type outcome struct {
	out, err string
	code     int
}

// perchIn runs perch in a home without a desktop. A nil stdin is closed.
func perchIn(t *testing.T, home string, stdin []byte, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t, "perch"), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PERCH_HOME=" + home, "LANG=C.UTF-8"}
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("perch %v hangs: %s%s", args, out.String(), errs.String())
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func emptyHome(t *testing.T, toml string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "perch")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		perchIn(t, dir, nil, "quit")
		os.RemoveAll(dir)
	})
	if toml != "" {
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(toml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// refusedPort is an address on which nothing listens.
func refusedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestBadInputGetsOneClearSentence(t *testing.T) {
	unreachable := fmt.Sprintf("model = \"local/tiny\"\n[limits]\nretries = 0\n[providers.local]\nwire = \"openai-chat\"\nbase_url = \"http://%s/v1\"\n", refusedPort(t))
	for _, c := range []struct {
		name  string
		toml  string
		stdin []byte
		args  []string
		code  int
		says  []string // on stderr
		out   string   // on stdout
	}{
		{name: "no display", args: nil, code: 0, says: []string{"display"}, out: "built-in"},
		{name: "a mistake in config.toml", toml: "model = \"builtin/perch\"\nhotkey = 7\n", args: []string{"ask", "2+2"}, code: 0, says: []string{"config.toml", "2"}, out: "4"},
		{name: "a broken config.toml", toml: "model = \n", args: []string{"ask", "2+2"}, code: 0, says: []string{"config.toml", "1"}, out: "4"},
		{name: "an unreachable provider", toml: unreachable, args: []string{"ask", "hello"}, code: 1, says: []string{"local", "base_url"}},
		{name: "an unknown provider", args: []string{"ask", "--model", "antropic/x", "hello"}, code: 1, says: []string{"antropic", "anthropic"}},
		{name: "an unknown bare model", args: []string{"ask", "--model", "no-such-model-at-all", "hello"}, code: 1, says: []string{"no-such-model-at-all", "provider/model"}},
		{name: "a question of 1 MB", stdin: []byte(strings.Repeat("many words ", 100_000)), args: []string{"ask", "what is this?"}, code: 1, says: []string{"file"}},
		{name: "binary on stdin", stdin: []byte("\x7fELF\x02\x01\x00\x00\xff\xfe\x00"), args: []string{"ask", "what is this?"}, code: 2, says: []string{"not text"}},
		{name: "an empty question", args: []string{"ask", ""}, code: 2, says: []string{"question"}},
		{name: "an unknown command", args: []string{"aks", "hello"}, code: 2, says: []string{"aks"}},
		{name: "an unknown session", args: []string{"ask", "--session", "s00", "hello"}, code: 1, says: []string{"s00", "perch sessions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := emptyHome(t, c.toml)
			got := perchIn(t, home, c.stdin, c.args...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d", got.code, c.code)
			}
			for _, s := range c.says {
				if !strings.Contains(strings.ToLower(got.err), strings.ToLower(s)) {
					t.Errorf("stderr lacks %q", s)
				}
			}
			if !strings.Contains(got.out, c.out) {
				t.Errorf("stdout lacks %q", c.out)
			}
			if strings.Contains(got.err, "goroutine ") || strings.Count(strings.TrimSpace(got.err), "\n") > 3 {
				t.Error("not one clear sentence")
			}
			if t.Failed() {
				t.Logf("stdout: %s\nstderr: %s", got.out, got.err)
			}
		})
	}
}

func TestAnUnreachableProviderLosesNothing(t *testing.T) {
	home := emptyHome(t, fmt.Sprintf("model = \"local/tiny\"\n[limits]\nretries = 0\n[providers.local]\nwire = \"openai-chat\"\nbase_url = \"http://%s/v1\"\n", refusedPort(t)))
	perchIn(t, home, nil, "ask", "remember these words")
	if got := perchIn(t, home, nil, "session", "show", "last"); !strings.Contains(got.out, "remember these words") {
		t.Errorf("the question is lost: %s%s", got.out, got.err)
	}
}

func TestAnUnknownModelDoesNotStayWithTheSession(t *testing.T) {
	home := emptyHome(t, "")
	perchIn(t, home, nil, "ask", "2+2")
	perchIn(t, home, nil, "ask", "--model", "nosuch/x", "hello")
	if got := perchIn(t, home, nil, "ask", "--session", "last", "3+3"); got.code != 0 || !strings.Contains(got.out, "6") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.err)
	}
}

func TestAStoreThatAnotherProcessHoldsIsNamed(t *testing.T) {
	home := emptyHome(t, "")
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(data, "sessions.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := perchIn(t, home, nil, "ask", "hello")
	if got.code != 1 || !strings.Contains(got.err, "sessions.db") {
		t.Errorf("code %d: %s", got.code, got.err)
	}
}

func TestACorruptStoreIsNamedAndKept(t *testing.T) {
	home := emptyHome(t, "")
	file := filepath.Join(home, "data", "sessions.db")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	junk := bytes.Repeat([]byte("this is no store\n"), 4096)
	if err := os.WriteFile(file, junk, 0o600); err != nil {
		t.Fatal(err)
	}
	got := perchIn(t, home, nil, "ask", "hello")
	if got.code != 1 || !strings.Contains(got.err, "sessions.db") {
		t.Errorf("code %d: %s", got.code, got.err)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, junk) {
		t.Error("the damaged file was changed")
	}
}

// nobody is a user to whom the permissions of root do not apply.
const nobody = 65534

func TestAReadOnlyHomeIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	home := t.TempDir()
	os.Chmod(home, 0o555)
	for dir := home; dir != "/"; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&1 == 0 {
			os.Chmod(dir, st.Mode().Perm()|0o011)
		}
	}
	bin := binary(t, "perch")
	os.Chmod(filepath.Dir(bin), 0o755)
	cmd := exec.Command(bin, "ask", "hello")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errs.String(), home) || !strings.Contains(errs.String(), "PERCH_HOME") {
		t.Errorf("%v: %s", err, errs.String())
	}
}

func TestWhatTheDesktopLacksIsASentenceAndNoFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("starts desktops; run without -short")
	}
	t.Run("no tray host", func(t *testing.T) {
		rig := desktest.Start(t, desktest.Options{})
		c, _ := onDesktop(t, rig)
		problem(t, c, "tray")
	})
	t.Run("no bus", func(t *testing.T) {
		rig := desktest.Start(t, desktest.Options{NoBus: true})
		c, home := onDesktop(t, rig)
		cmd := rig.Command(binary(t, "perch"), "doctor")
		cmd.Env = append(cmd.Env, "PERCH_HOME="+home)
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), "DBUS_SESSION_BUS_ADDRESS") && !strings.Contains(string(out), "session bus") {
			t.Errorf("the doctor does not name the bus:\n%s", out)
		}
		// The main job needs no bus.
		if _, err := c.Command(context.Background(), rig.DesktopEnv(), control.FrontCommand{What: "show"}); err != nil {
			t.Errorf("the popup does not open without a bus: %v", err)
		}
	})
	t.Run("the hotkey is taken", func(t *testing.T) {
		rig := desktest.Start(t, desktest.Options{TrayHost: true})
		holder := rig.Command(binary(t, "perch-hotkey"), "toggle=ctrl+shift+space")
		in, err := holder.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		rig.Run(holder)
		c, _ := onDesktop(t, rig)
		desktest.WaitFor(t, "the conflict to be told", 20*time.Second, func() bool {
			s, err := c.State(context.Background())
			return err == nil && !s.Hotkey.Active && s.Hotkey.Problem != ""
		})
		s, _ := c.State(context.Background())
		t.Log(s.Hotkey.Problem)
	})
}

// onDesktop starts perch on a rig and returns a client of it and its home.
func onDesktop(t *testing.T, rig *desktest.Rig) (*control.Client, string) {
	t.Helper()
	home, paths := newHome(t, "http://127.0.0.1:9/v1")
	cmd := rig.Command(binary(t, "perch"))
	cmd.Env = append(cmd.Env, "PERCH_HOME="+home)
	rig.Run(cmd)
	return owner(t, paths), home
}

func problem(t *testing.T, c *control.Client, word string) {
	t.Helper()
	var lines []string
	desktest.WaitFor(t, "a line about the "+word, time.Minute, func() bool {
		s, err := c.State(context.Background())
		if err != nil {
			return false
		}
		lines = s.Problems
		return strings.Contains(strings.ToLower(strings.Join(lines, "\n")), word)
	})
	t.Log(lines)
}
