package mcp

import (
	"errors"
	"os/exec"
	"syscall"
)

// createNewProcessGroup keeps a Ctrl+C of Perch's console from the server.
const createNewProcessGroup = 0x00000200

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: createNewProcessGroup, HideWindow: true}
}

// killGroup ends the process; Windows has no signal to end it softly.
func killGroup(cmd *exec.Cmd, hard bool) {
	if hard && cmd.Process != nil {
		_ = cmd.Process.Kill() // a process that is gone is what was wanted
	}
}

// isBrokenPipe reports a write to a process that is gone.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.ERROR_BROKEN_PIPE) }
