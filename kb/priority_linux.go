package kb

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness of the indexing thread: it gets what others leave.
const niceness = 15

// lowerPriority binds the goroutine to its thread and lowers that thread. The
// thread is not given back: a priority that was lowered cannot be raised again
// without privilege, so it ends with the goroutine.
func lowerPriority() func() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
	return func() {}
}
