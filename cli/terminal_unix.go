//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

func fileIsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// terminalSize is the size of the terminal that v is.
func terminalSize(v any) size {
	if f, ok := v.(*os.File); ok {
		if w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && w.Col > 0 && w.Row > 0 {
			return size{int(w.Col), int(w.Row)}
		}
	}
	return fallbackSize
}

// quiet switches the echo of a terminal off, for a secret, until the returned
// function is called.
func quiet(f *os.File) (restore func(), err error) {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return nil, err
	}
	off := *t
	off.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(f.Fd()), setTermios, &off); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(int(f.Fd()), setTermios, t) }, nil
}

// openTerminal opens the terminal that the program was started on, for answers
// while standard input carries something else.
func openTerminal() *os.File {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return f
}
