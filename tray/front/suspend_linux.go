package front

import (
	"syscall"

	"perch/tray/child"
)

// suspend stops a process and reports whether it did.
func suspend(p *child.Process) bool { return p.Signal(syscall.SIGSTOP) == nil }

// wake lets a stopped process go on.
func wake(p *child.Process) { _ = p.Signal(syscall.SIGCONT) }
