package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

var (
	starterOnce sync.Once
	starts      chan start
)

// start is one process to start and where to say how it went.
type start struct {
	cmd *exec.Cmd
	err chan error
}

// startBound starts a process that the kernel kills when Perch dies.
//
// The kernel ties that signal to the thread that started the process, not to
// the process. All helpers are therefore started by one thread that never ends.
func startBound(cmd *exec.Cmd) error {
	starterOnce.Do(func() {
		starts = make(chan start)
		go func() {
			runtime.LockOSThread()
			for s := range starts {
				s.err <- s.cmd.Start()
			}
		}()
	})
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// A group of its own keeps Ctrl+C in the terminal that started Perch from
	// the helper, which ends when told.
	cmd.SysProcAttr.Setpgid = true
	s := start{cmd, make(chan error, 1)}
	starts <- s
	return <-s.err
}
