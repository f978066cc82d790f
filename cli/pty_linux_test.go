package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"perch/chat"
	"perch/control"
)

// pty is a pseudo-terminal with what it shows.
type pty struct {
	master, slave *os.File
	mu            sync.Mutex // protects seen
	seen          bytes.Buffer
	grew          chan struct{}
	done          chan struct{}
}

func openPTY(t *testing.T) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	var n int
	must(t, onFD(master, func(fd int) error {
		if n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, onFD(slave, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}))
	p := &pty{master: master, slave: slave, grew: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.grew <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		slave.Close()
		master.Close()
		<-p.done
	})
	return p
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// wait waits until the terminal shows s.
func (p *pty) wait(t *testing.T, s string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for !strings.Contains(p.text(), s) {
		select {
		case <-p.grew:
		case <-limit:
			t.Errorf("the terminal does not show %q but\n%s", s, p.text())
			return
		}
	}
}

func (p *pty) typeLine(s string) { fmt.Fprint(p.master, s+"\n") }

// runOn runs a command on the terminal and returns its exit code.
func (r *rig) runOn(p *pty, args ...string) <-chan int {
	code := make(chan int, 1)
	go func() {
		code <- Run(context.Background(), args, Env{
			Paths: r.paths, Stdin: p.slave, Stdout: p.slave, Stderr: p.slave, StartOwner: r.start,
			Getenv: func(k string) string { return r.env[k] }, Environ: []string{"LANG=en"},
		})
	}()
	return code
}

func TestAQuestionOnTheTerminalIgnoresWhatWasTypedBefore(t *testing.T) {
	r, p := newRig(t), openPTY(t)
	asked := make(chan time.Time, 1)
	r.f.script = func(_ control.Ask, emit func(chat.Event), _ func()) {
		emit(&chat.TextDelta{Text: "Let me see."})
		emit(&chat.ToolStart{ID: "c1", Name: "run_command", Input: json.RawMessage(`{"command":"rm x"}`)})
		emit(&chat.Permission{ID: "c1", Name: "run_command", Need: chat.NeedExecute, Detail: "rm x \u202e\x1b[8m"})
		asked <- time.Now()
		<-r.f.answered
		emit(&chat.ToolEnd{ID: "c1", Name: "run_command"})
		emit(&chat.Done{Result: chat.Result{StopReason: chat.StopEnd}})
	}
	code := r.runOn(p, "ask", "x")
	p.wait(t, "wants to run a command")
	p.typeLine("y") // at once: nobody can have read it
	p.wait(t, "? ")
	if d := time.Since(<-asked); d < deadTime {
		t.Errorf("answers were taken after %v", d)
	}
	p.typeLine("")
	p.wait(t, "one of these letters")
	p.typeLine("no, keep it")
	if c := <-code; c != 0 {
		t.Fatalf("exit code %d\n%s", c, p.text())
	}
	if len(r.f.answers) != 1 || r.f.answers[0] != (control.Answer{Call: "c1", Verdict: control.No, Words: "keep it"}) {
		t.Fatalf("%+v", r.f.answers)
	}
	if !r.f.asks[0].Interactive || !strings.Contains(p.text(), "rm x <U+202E>␛[8m") {
		t.Fatalf("%s", p.text())
	}
}

func TestAQuestionAnsweredElsewhereGoesAway(t *testing.T) {
	r, p := newRig(t), openPTY(t)
	r.f.script = func(_ control.Ask, emit func(chat.Event), _ func()) {
		emit(&chat.ToolStart{ID: "c1", Name: "read_file"})
		emit(&chat.Permission{ID: "c1", Name: "read_file", Need: chat.NeedRead, Detail: "/x"})
		p.wait(t, "wants to read")
		emit(&chat.ToolEnd{ID: "c1", Name: "read_file"})
		emit(&chat.TextDelta{Text: "Read."})
		emit(&chat.Done{Result: chat.Result{StopReason: chat.StopEnd}})
	}
	if c := <-r.runOn(p, "ask", "x"); c != 0 || len(r.f.answers) != 0 {
		t.Fatalf("exit code %d, %+v", c, r.f.answers)
	}
}

func TestWithdrawnTextIsErasedFromTheTerminal(t *testing.T) {
	r, p := newRig(t), openPTY(t)
	r.f.script = func(_ control.Ask, emit func(chat.Event), _ func()) {
		emit(&chat.TextDelta{Text: "Kept. "})
		emit(&chat.TextDelta{Text: "Wrong\nlines\x1b[31m\u202e"})
		emit(&chat.Retry{Attempt: 1, Withdrawn: chat.Withdrawn{TextBytes: len("Wrong\nlines\x1b[31m\u202e")}})
		emit(&chat.TextDelta{Text: "Right."})
		emit(&chat.Done{Result: chat.Result{StopReason: chat.StopEnd}})
	}
	if c := <-r.runOn(p, "ask", "x"); c != 0 {
		t.Fatalf("exit code %d", c)
	}
	p.wait(t, "Right.")
	s := newScreen(80)
	s.write(p.text())
	if got := s.String(); got != "Kept. Right." {
		t.Fatalf("the terminal shows %q", got)
	}
}

func TestAWordTypedWhileARunWorksSteersIt(t *testing.T) {
	r, p := newRig(t), openPTY(t)
	steered := make(chan struct{})
	r.f.script = func(a control.Ask, emit func(chat.Event), _ func()) {
		if a.Text == "go" {
			emit(&chat.TextDelta{Text: "working"})
			<-steered
			emit(&chat.Done{Result: chat.Result{StopReason: chat.StopEnd}})
		}
	}
	r.f.before = func(a control.Ask) (control.AskReply, error) {
		if a.Text == "left, please" {
			close(steered)
		}
		return control.AskReply{}, nil
	}
	code := r.runOn(p, "chat")
	p.wait(t, "> ")
	p.typeLine("go")
	p.wait(t, "working")
	p.typeLine("left, please")
	<-steered
	p.wait(t, "step)\r\n\r\n> ")
	p.typeLine("/quit")
	if c := <-code; c != 0 || len(r.f.asks) != 2 {
		t.Fatalf("exit code %d, %d asks\n%s", c, len(r.f.asks), p.text())
	}
}

func TestAPastedTextIsOneQuestion(t *testing.T) {
	r, p := newRig(t), openPTY(t)
	code := r.runOn(p, "chat")
	p.wait(t, "> ")
	p.typeLine("one\ntwo\n\nfour")
	p.wait(t, "You said: one")
	p.wait(t, "four\r\n> ")
	p.typeLine("/quit")
	if c := <-code; c != 0 || len(r.f.asks) != 1 || r.f.asks[0].Text != "one\ntwo\n\nfour" {
		t.Fatalf("exit code %d, %+v\n%s", c, r.f.asks, p.text())
	}
}

func TestChildrenDoNotInheritAnIgnoredBrokenPipe(t *testing.T) {
	r := newRig(t)
	out := filepath.Join(t.TempDir(), "status")
	script := filepath.Join(t.TempDir(), "edit")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\ngrep SigIgn /proc/self/status > "+out+"\n"), 0o700))
	r.env["EDITOR"] = script
	r.expect(r.run("", "memory", "edit"), 0, "", "")
	status, err := os.ReadFile(out)
	must(t, err)
	var ignored uint64
	_, err = fmt.Sscanf(string(status), "SigIgn: %x", &ignored)
	must(t, err)
	if ignored&(1<<(unix.SIGPIPE-1)) != 0 {
		t.Fatalf("a child ignores SIGPIPE: %s", status)
	}
}
