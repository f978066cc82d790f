package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"perch/config"
	perchexec "perch/tools/exec"
)

const (
	// maxMessage is the largest message of a server, in bytes. A picture of a
	// large screen has some 10 MB in base64.
	maxMessage = 32 << 20
	// stderrKept is how much of a server's last words is kept, in bytes.
	stderrKept = 2000
	// stopGrace is how long a server may take to end after its input was closed,
	// and again after SIGTERM.
	stopGrace = 500 * time.Millisecond
	// hearGrace is how long the last words of a dead server are waited for.
	hearGrace = 100 * time.Millisecond
)

func defaultEnviron() []string { return os.Environ() }

// process is a server over standard input and output.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *lineFilter
	last  *lastWords
	// ended is closed when the process is dead and waited for.
	ended chan struct{}
	err   error // of Wait, valid once ended is closed
	// heard is closed when all that it said on standard error was read.
	heard chan struct{}

	stopOnce sync.Once
}

// startProcess starts a server with an allowlisted environment. It is started
// from a thread of its own that lives as long as it does, since a parent-death
// signal is sent when the starting thread ends.
func startProcess(c config.Connector, environ []string) (*process, error) {
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Env = perchexec.Allowed(environ, nil)
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	ownGroup(cmd)
	p := &process{cmd: cmd, last: &lastWords{}, ended: make(chan struct{}), heard: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Pipes of our own: Wait must not wait for a grandchild that holds them.
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	p.stdin, p.out = stdin, &lineFilter{r: outR}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		outW.Close()
		errW.Close()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		outR.Close()
		errR.Close()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("the program %q was not found; install it, or give its whole path in command", c.Command[0])
		}
		return nil, fmt.Errorf("%q cannot be started: %w", c.Command[0], err)
	}
	go func() {
		defer close(p.heard)
		_, _ = io.Copy(p.last, errR)
		errR.Close()
	}()
	go func() {
		// What a dead server's descendants hold open is closed for good.
		<-p.ended
		killGroup(cmd, true)
		time.AfterFunc(stopGrace, func() { outR.Close(); errR.Close() })
	}()
	return p, nil
}

// Read reads the server's messages.
func (p *process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Close is called by the session; the process is ended by stop.
func (p *process) Close() error { return nil }

// stop ends the process and its group: input closed, SIGTERM, SIGKILL.
func (p *process) stop() {
	p.stopOnce.Do(func() {
		_ = p.stdin.Close()
		for _, hard := range []bool{false, true} {
			t := time.NewTimer(stopGrace)
			select {
			case <-p.ended:
				t.Stop()
				killGroup(p.cmd, true)
				return
			case <-t.C:
				killGroup(p.cmd, hard)
			}
		}
	})
	<-p.ended
}

// ending says how the process ended, "" while it lives.
func (p *process) ending() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	t := time.NewTimer(hearGrace)
	defer t.Stop()
	select {
	case <-p.heard:
	case <-t.C: // a descendant holds the pipe
	}
	how := "its process ended"
	if p.err != nil {
		how = "its process ended with " + p.err.Error()
	}
	if words := p.last.String(); words != "" {
		how += "; its last words: " + shorten(words)
	}
	return how
}

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mu  sync.Mutex
	buf []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p[max(0, len(p)-stderrKept):]...)
	if over := len(l.buf) - stderrKept; over > 0 {
		l.buf = append(l.buf[:0], l.buf[over:]...)
	}
	return len(p), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.buf))
}

// lineFilter passes on lines that begin like JSON and drops the rest: many
// servers greet on standard output, which the protocol forbids.
type lineFilter struct {
	r io.Reader
	// inside and dropping say what the current line is; both false is at its
	// beginning.
	inside, dropping bool
}

func (f *lineFilter) Read(p []byte) (int, error) {
	for {
		n, err := f.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			switch {
			case c == '\n':
				if f.inside {
					p[kept] = c
					kept++
				}
				f.inside, f.dropping = false, false
			case f.dropping:
			case f.inside:
				p[kept] = c
				kept++
			case c == '{' || c == '[':
				f.inside = true
				p[kept] = c
				kept++
			case c == ' ' || c == '\t' || c == '\r':
			default:
				f.dropping = true
			}
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// Close closes the source.
func (f *lineFilter) Close() error { return nil }
