// Package fronttest is a popup without windows, for tests: the test binary plays
// it when it is started as one. It knows several ways to fail.
package fronttest

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"perch/control"
)

// The variables that make a process a popup. Their names pass into a popup's
// environment.
const (
	socketVar = "FYNE_TEST_SOCKET"
	modeVar   = "FYNE_TEST_MODE"
)

// Modes of a popup.
const (
	Works      = ""
	Dies       = "dies"       // ends at once
	Stuck      = "stuck"      // answers nothing
	StuckOnce  = "stuck once" // the first process answers nothing
	Owns       = "owns"       // owns a selection
	WedgesOnce = "wedges"     // the first process answers nothing after it was hidden
)

// PlayIfAsked plays a popup and does not return, if this process was started as
// one. Call it first in TestMain.
func PlayIfAsked() {
	if os.Getenv(socketVar) != "" {
		play(os.Getenv(socketVar), os.Getenv(modeVar))
	}
}

// hello is a popup's first line.
type hello struct {
	Display string
	PID     int
}

// play plays a popup until it is told to quit or its standard input ends.
func play(socket, mode string) {
	first := os.Mkdir(socket+".once", 0o700) == nil
	switch {
	case mode == Dies:
		os.Exit(3)
	case mode == StuckOnce && first:
		mode = Stuck
	}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	c, err := net.Dial("unix", socket)
	if err != nil {
		os.Exit(1)
	}
	enc, dec := json.NewEncoder(c), json.NewDecoder(c)
	if enc.Encode(hello{os.Getenv("DISPLAY"), os.Getpid()}) != nil {
		os.Exit(1)
	}
	visible, session := false, ""
	for {
		var cmd control.FrontCommand
		if dec.Decode(&cmd) != nil {
			os.Exit(0)
		}
		was := visible
		switch cmd.What {
		case "show", "settings", "sessions", "knowledge", "prompt":
			visible = true
		case "hide":
			visible = false
		case "toggle":
			visible = !visible
		case "quit":
			os.Exit(0)
		}
		if cmd.Session != "" {
			session = cmd.Session
		}
		if mode == Stuck {
			continue
		}
		if enc.Encode(control.FrontAck{ID: cmd.ID, Visible: visible, Focused: visible, Session: session, OwnsSelection: mode == Owns}) != nil {
			os.Exit(0)
		}
		if mode == WedgesOnce && first && was && !visible {
			mode = Stuck
		}
	}
}

// Bridge makes the popups of this test reach a [control.Front], as the control
// socket does. Orders are recorded.
type Bridge struct {
	front control.Front

	mu     sync.Mutex // guards orders
	orders []control.FrontCommand
}

// Connect lets popups in a mode connect until the test ends. close ends the
// front, so that its popups go before the socket.
func Connect(t testing.TB, f control.Front, mode string, closeFront func()) *Bridge {
	t.Helper()
	dir, err := os.MkdirTemp("", "front")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{socketVar: socket, modeVar: mode} {
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
	}
	b := &Bridge{front: f}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		closeFront()
		_ = ln.Close()
		wg.Wait()
		_ = os.Unsetenv(socketVar)
		_ = os.Unsetenv(modeVar)
		_ = os.RemoveAll(dir)
	})
	return b
}

// serve is a popup's connection.
func (b *Bridge) serve(c net.Conn) {
	defer c.Close()
	dec, enc := json.NewDecoder(c), json.NewEncoder(c)
	var h hello
	if dec.Decode(&h) != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for {
			var a control.FrontAck
			if dec.Decode(&a) != nil {
				return
			}
			_ = b.front.Ack(ctx, h.Display, a)
		}
	}()
	_ = b.front.Attach(ctx, h.Display, h.PID, func(c control.FrontCommand) error {
		b.mu.Lock()
		b.orders = append(b.orders, c)
		b.mu.Unlock()
		return enc.Encode(c)
	})
}

// Orders are those given so far.
func (b *Bridge) Orders() []control.FrontCommand {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]control.FrontCommand(nil), b.orders...)
}

// Got reports whether an order of that kind with that session was given.
func (b *Bridge) Got(what, session string) bool {
	for _, c := range b.Orders() {
		if c.What == what && c.Session == session {
			return true
		}
	}
	return false
}
