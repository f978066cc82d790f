// Package child starts Perch's helper processes and talks to them in lines of
// JSON over their standard input and output.
//
// A helper never outlives Perch: it ends when its standard input ends, and on
// Linux the kernel kills it when its parent dies, stopped or not. A helper that
// dies is started again by [Keep], after a wait that grows.
package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// maxLine is the longest line read from a helper, in bytes: a screenshot of
	// an 8K screen in base64 with room to spare.
	maxLine = 256 << 20
	// sendTimeout bounds one line to a helper, which reads all the time: one
	// that does not is stuck.
	sendTimeout = 5 * time.Second
)

// Spec says which process to start.
type Spec struct {
	Path string
	Args []string // without the program's name
	Env  []string
	// Stderr gets what the helper says beside the protocol; nil drops it.
	Stderr io.Writer
	// Line is called for each line the helper writes, from one goroutine. The
	// slice is valid during the call only.
	Line func(line []byte)
}

// Process is a running helper.
type Process struct {
	cmd   *exec.Cmd
	stdin *os.File
	done  chan struct{}
	err   error // set before done is closed

	mu     sync.Mutex // serialises lines on stdin
	closed bool
}

// Start starts a helper.
func Start(s Spec) (*Process, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Env, inR, outW, s.Stderr
	// A grandchild may hold stderr open; nobody waits for it.
	cmd.WaitDelay = time.Second
	err = startBound(cmd)
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	p := &Process{cmd: cmd, stdin: inW, done: make(chan struct{})}
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		readLines(outR, s.Line)
		// What is beyond a line that is too long is not read: the helper ends.
		outR.Close()
	}()
	go func() {
		err := cmd.Wait()
		<-lines
		p.mu.Lock()
		p.closed = true
		inW.Close()
		p.mu.Unlock()
		p.err = err
		close(p.done)
	}()
	return p, nil
}

// readLines hands out lines until the end or a line that is too long.
func readLines(r io.Reader, line func([]byte)) {
	br := bufio.NewReaderSize(r, 4<<10)
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if long = append(long, part...); len(long) > maxLine {
				return
			}
			continue
		case err != nil:
			return
		}
		if long != nil {
			part = append(long, part...)
			long = nil
		}
		if line != nil {
			line(part)
		}
	}
}

// Send writes one value as a line of JSON.
func (p *Process) Send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode for %s: %w", p.cmd.Path, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("%s has ended", p.cmd.Path)
	}
	// The deadline is missing on systems whose pipes have none; there a stuck
	// helper holds this call.
	_ = p.stdin.SetWriteDeadline(time.Now().Add(sendTimeout))
	if _, err := p.stdin.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write to %s: %w", p.cmd.Path, err)
	}
	return nil
}

// PID is the helper's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the helper has ended and its last line was handed out.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the helper ended; call it after Done.
func (p *Process) Err() error { return p.err }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the helper at once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop closes the helper's standard input, which asks it to end, and kills it
// if it has not ended after grace.
func (p *Process) Stop(grace time.Duration) {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.stdin.Close()
	}
	p.mu.Unlock()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.Kill()
	}
}
