//go:build unix

package service

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"perch/chat"
)

// readyLine is what a detached owner says when it serves.
const readyLine = "ready"

// detachedVar tells a process that it was started by Detach.
const detachedVar = "PERCH_DETACHED"

// Detach starts this program again with other arguments, in a session of its own
// and without the terminal, and waits until it calls [Started] or ends. What a
// process that ends early says on its standard error is the error.
func Detach(args ...string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(exe, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), detachedVar+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the background part of Perch: %w", err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start the background part of Perch: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the background part of Perch: %w", err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) == readyLine {
		out.Close()
		errs.Close()
		go cmd.Wait() // a client that lives long must not leave a zombie
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(errs, 4096))
	if err := cmd.Wait(); err == nil {
		return nil // another one was faster
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(said)), "perch: ")
	if text == "" {
		text = "The background part of Perch ended at once. Look into its log."
	}
	return chat.NewError(chat.ClassStore, "err.owner_start", "%s", text)
}

// Started tells the process that called Detach that this one serves, and lets go
// of what it inherited. Without such a process it does nothing.
func Started() {
	if os.Getenv(detachedVar) == "" {
		return
	}
	os.Unsetenv(detachedVar)
	fmt.Println(readyLine)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for _, fd := range []int{1, 2} {
		_ = dup(int(null.Fd()), fd) // else a later write meets a closed pipe, which is ignored
	}
}
