package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

func fileIsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// terminalSize is the size of the console that v is.
func terminalSize(v any) size {
	if f, ok := v.(*os.File); ok {
		var i windows.ConsoleScreenBufferInfo
		if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &i) == nil {
			return size{int(i.Window.Right-i.Window.Left) + 1, int(i.Window.Bottom-i.Window.Top) + 1}
		}
	}
	return fallbackSize
}

// quiet switches the echo of a console off, for a secret, until the returned
// function is called.
func quiet(f *os.File) (restore func(), err error) {
	var mode uint32
	h := windows.Handle(f.Fd())
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(h, mode&^windows.ENABLE_ECHO_INPUT); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(h, mode) }, nil
}

// openTerminal opens the console that the program was started on.
func openTerminal() *os.File {
	f, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return f
}

// dropTyped throws away what was typed and not yet read.
func dropTyped(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }

// obeysCodes lets a console obey cursor codes and reports whether it does.
func obeysCodes(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	var mode uint32
	h := windows.Handle(f.Fd())
	return windows.GetConsoleMode(h, &mode) == nil &&
		windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
