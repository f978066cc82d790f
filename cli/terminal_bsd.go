//go:build unix && !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// dropTyped relies on the lines that are dropped while a question is dead: the
// way to empty the terminal itself differs from system to system.
func dropTyped(*os.File) {}
