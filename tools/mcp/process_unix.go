//go:build unix

package mcp

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a group, so that what it starts can be
// ended with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// killGroup signals the whole group: SIGTERM, or SIGKILL.
func killGroup(cmd *exec.Cmd, hard bool) {
	sig := syscall.SIGTERM
	if hard {
		sig = syscall.SIGKILL
	}
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, sig) // a group that is gone is what was wanted
	}
}

// isBrokenPipe reports a write to a process that is gone.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
