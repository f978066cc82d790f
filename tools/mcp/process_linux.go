package mcp

import "syscall"

// dieWithParent asks the kernel to kill the server when Perch is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
