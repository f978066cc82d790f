//go:build !linux && !windows

package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"sync"
	"syscall"
	"time"
)

// launch starts a command in a process group of its own, which is ended as a
// whole. There is no supervisor: a descendant that leaves the group and a kill
// of Perch are not covered here.
func launch(_ context.Context, _ string, s *spec, stdin []byte, out, outW *os.File) (*process, error) {
	cmd := osexec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		defer r.Close()
		cmd.Stdin = r
		go func() {
			w.Write(stdin)
			w.Close()
		}()
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	p := &process{out: out, done: make(chan struct{}), exited: make(chan struct{})}
	p.confinement.Why = noLandlock
	group := -cmd.Process.Pid
	var once sync.Once
	p.killing = func() {
		once.Do(func() {
			syscall.Kill(group, syscall.SIGTERM)
			time.AfterFunc(killGrace, func() { syscall.Kill(group, syscall.SIGKILL) })
		})
	}
	p.forget = func() {}
	go func() {
		defer close(p.done)
		defer close(p.exited)
		err := cmd.Wait()
		r := endReport{Code: cmd.ProcessState.ExitCode()}
		var ee *osexec.ExitError
		if errors.As(err, &ee) {
			if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				r.Code, r.Signal = -1, ws.Signal().String()
			}
		}
		if !s.Background && syscall.Kill(group, 0) == nil {
			r.Left = []string{"processes of its group"}
			syscall.Kill(group, syscall.SIGTERM)
			time.Sleep(leftGrace)
			syscall.Kill(group, syscall.SIGKILL)
		}
		p.setEnd(r)
	}()
	return p, nil
}
