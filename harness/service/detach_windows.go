package service

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// detachedProcess is DETACHED_PROCESS of the Windows API.
const detachedProcess = 0x00000008

// Detach starts this program again with other arguments, without the console,
// and returns at once.
func Detach(args ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(exe, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the background part of Perch: %w", err)
	}
	go cmd.Wait()
	return nil
}

// Started does nothing here: nobody waits for it.
func Started() {}
