//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// onFD runs fn on a file's descriptor. File.Fd would make the descriptor
// blocking, and a read that waits on it could never be ended by a close.
func onFD(f *os.File, fn func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) { err = fn(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

func fileIsTerminal(f *os.File) bool {
	_, err := termios(f)
	return err == nil
}

func termios(f *os.File) (t *unix.Termios, err error) {
	err = onFD(f, func(fd int) error { t, err = unix.IoctlGetTermios(fd, getTermios); return err })
	return t, err
}

// terminalSize is the size of the terminal that v is.
func terminalSize(v any) size {
	s := fallbackSize
	if f, ok := v.(*os.File); ok {
		_ = onFD(f, func(fd int) error {
			w, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
			if err == nil && w.Col > 0 && w.Row > 0 {
				s = size{int(w.Col), int(w.Row)}
			}
			return err
		})
	}
	return s
}

// quiet switches the echo of a terminal off, for a secret, until the returned
// function is called.
func quiet(f *os.File) (restore func(), err error) {
	t, err := termios(f)
	if err != nil {
		return nil, err
	}
	set := func(t *unix.Termios) error {
		return onFD(f, func(fd int) error { return unix.IoctlSetTermios(fd, setTermios, t) })
	}
	off := *t
	off.Lflag &^= unix.ECHO
	if err := set(&off); err != nil {
		return nil, err
	}
	return func() { _ = set(t) }, nil
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

// obeysCodes reports whether a terminal obeys cursor codes; all of today do.
func obeysCodes(any) bool { return true }
