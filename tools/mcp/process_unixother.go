//go:build unix && !linux

package mcp

import "syscall"

// dieWithParent does nothing: the server's closed input tells it.
func dieWithParent(*syscall.SysProcAttr) {}
