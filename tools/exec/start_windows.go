package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// launch starts a command in a job object, which ends all its descendants: when
// it is closed, and so also when Perch is killed.
func launch(_ context.Context, _ string, s *spec, stdin []byte, out, outW *os.File) (*process, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("set up the job object: %w", err)
	}
	cmd := osexec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow: true,
		// Suspended, so that it cannot start a child before it is in the job.
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			windows.CloseHandle(job)
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
		windows.CloseHandle(job)
		return nil, fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	if err := admit(job, uint32(cmd.Process.Pid)); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		windows.CloseHandle(job)
		return nil, err
	}
	p := &process{out: out, done: make(chan struct{}), exited: make(chan struct{})}
	p.confinement.Why = noLandlock
	var once sync.Once
	end := func() { once.Do(func() { windows.TerminateJobObject(job, 1) }) }
	p.killing, p.forget = end, end
	go func() {
		defer close(p.done)
		defer close(p.exited)
		cmd.Wait()
		p.setEnd(endReport{Code: cmd.ProcessState.ExitCode()})
		if !s.Background {
			windows.CloseHandle(job)
		}
	}()
	return p, nil
}

// admit puts a suspended process into the job and lets it run.
func admit(job windows.Handle, pid uint32) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("open the command's process: %w", err)
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("put the command into its job object: %w", err)
	}
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer windows.CloseHandle(snap)
	e := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snap, &e); err == nil; err = windows.Thread32Next(snap, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		t, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return fmt.Errorf("open the command's thread: %w", err)
		}
		_, err = windows.ResumeThread(t)
		windows.CloseHandle(t)
		if err != nil {
			return fmt.Errorf("start the command's thread: %w", err)
		}
		return nil
	}
	return errors.New("the command has no thread")
}
