package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// dieWithParent asks for a signal when the process that started this one ends,
// also when it is killed. The parent starts helpers from a thread that lives as
// long as it does.
func dieWithParent() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
}
