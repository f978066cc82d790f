//go:build unix

package service

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Detach starts this program again with other arguments, in a session of its own
// and without the terminal, and returns at once.
func Detach(args ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(exe, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the background part of Perch: %w", err)
	}
	go cmd.Wait() // a client that lives long must not leave a zombie
	return nil
}
