package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// File descriptors of the supervisor.
const (
	controlFD = 3 // from Perch: the spec as one line, then "K"; its end means kill
	statusFD  = 4 // to Perch: one JSON value a line
	outputFD  = 5 // standard output and error of the command
	stdinFD   = 6 // standard input of the command, where there is one
)

// status is a word of the supervisor. Exactly one field is set.
type status struct {
	Started *Confinement `json:"started,omitempty"`
	Failed  string       `json:"failed,omitempty"`
	Exited  *endReport   `json:"exited,omitempty"`
	Gone    *endReport   `json:"gone,omitempty"`
}

// launch starts the supervisor, gives it the spec and waits until the command
// has begun or failed to. out and outW are the ends of the output's pipe.
func launch(ctx context.Context, self string, s *spec, stdin []byte, out, outW *os.File) (*process, error) {
	if self == "" {
		self = "/proc/self/exe" // serves also after the program was replaced
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer controlR.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		controlW.Close()
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		controlW.Close()
		statusR.Close()
		statusW.Close()
		return nil, err
	}
	defer null.Close()
	files := []*os.File{null, null, null, controlR, statusW, outW}
	if stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			controlW.Close()
			statusR.Close()
			statusW.Close()
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		defer r.Close()
		files = append(files, r)
		s.Stdin = true
		go func() {
			w.Write(stdin) // a command that does not read it gets a broken pipe
			w.Close()
		}()
	}
	// A session of its own: no terminal to read passwords from, no signals from
	// the terminal's keys.
	proc, err := os.StartProcess(self, []string{"perch", supervisorArg}, &os.ProcAttr{
		Files: files, Env: []string{}, Dir: "/", Sys: &syscall.SysProcAttr{Setsid: true},
	})
	statusW.Close() // or its end would never be seen
	if err != nil {
		controlW.Close()
		statusR.Close()
		return nil, fmt.Errorf("start the supervisor of the command: %w", err)
	}
	p := &process{out: out, done: make(chan struct{}), exited: make(chan struct{})}
	var once sync.Once
	p.killing = func() { once.Do(func() { controlW.Write([]byte("K")) }) }
	p.forget = func() { proc.Kill() }
	go json.NewEncoder(controlW).Encode(s) // the pipe is smaller than a spec may be
	words := make(chan status, 4)
	go func() {
		defer close(words)
		defer statusR.Close()
		d := json.NewDecoder(bufio.NewReader(statusR))
		for {
			var w status
			if d.Decode(&w) != nil {
				return
			}
			words <- w
		}
	}()
	var first status
	var ok bool
	select {
	case first, ok = <-words:
	case <-ctx.Done():
		// A folder on a dead network drive can hang the start itself.
		proc.Kill()
		first, ok = status{Failed: ctx.Err().Error()}, true
	}
	go func() {
		defer close(p.done)
		exited := sync.OnceFunc(func() { close(p.exited) })
		defer exited()
		for w := range words {
			switch {
			case w.Exited != nil:
				p.setEnd(*w.Exited)
				exited()
			case w.Gone != nil:
				p.setEnd(*w.Gone)
			}
		}
		controlW.Close()
		proc.Wait()
	}()
	switch {
	case ok && first.Started != nil:
		p.confinement = *first.Started
		p.setEnd(endReport{Code: -1, Signal: "SIGKILL"}) // should the supervisor be lost
		return p, nil
	case ok && first.Failed != "":
		controlW.Close()
		<-p.done
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, errors.New(first.Failed)
	}
	controlW.Close()
	<-p.done
	return nil, errors.New("the supervisor of the command ended before the command began")
}

// readSpec reads the first line of the control pipe.
func readSpec(r *bufio.Reader) (*spec, error) {
	line, err := r.ReadBytes('\n')
	if err != nil && !(errors.Is(err, io.EOF) && len(line) > 0) {
		return nil, err
	}
	var s spec
	return &s, json.Unmarshal(line, &s)
}
