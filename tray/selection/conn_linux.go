package selection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Names of the selections.
const (
	Clipboard = "CLIPBOARD"
	Primary   = "PRIMARY"
)

// maxContent is the most that is read from a selection, in bytes: an owner that
// never ends must not fill the memory.
const maxContent = 128 << 20

// ErrNoDisplay says that the X server cannot be reached.
var ErrNoDisplay = errors.New("the X display cannot be reached")

// Content is what a selection holds. Both may be set: a program may offer the
// same thing as text and as a picture.
type Content struct {
	Text string
	PNG  []byte
}

// xgb's own log goes to stderr and reports no fault: a missing authority file,
// a display that ended.
func init() { xgb.Logger = log.New(io.Discard, "", 0) }

// conn is a connection with a window of its own and its events in a channel.
type conn struct {
	x      *xgb.Conn
	win    xproto.Window
	events chan xgb.Event

	mu    sync.Mutex // guards atoms
	atoms map[string]xproto.Atom
}

// dial connects to a display and makes a window that nobody sees.
func dial(display string) (*conn, error) {
	x, err := xgb.NewConnDisplay(display)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoDisplay, display, err)
	}
	c := &conn{x: x, atoms: map[string]xproto.Atom{}, events: make(chan xgb.Event, 16)}
	s := xproto.Setup(x).DefaultScreen(x)
	if c.win, err = xproto.NewWindowId(x); err != nil {
		x.Close()
		return nil, fmt.Errorf("make a window: %w", err)
	}
	err = xproto.CreateWindowChecked(x, 0, c.win, s.Root, -10, -10, 1, 1, 0, xproto.WindowClassInputOnly, 0,
		xproto.CwOverrideRedirect|xproto.CwEventMask, []uint32{1, xproto.EventMaskPropertyChange}).Check()
	if err != nil {
		x.Close()
		return nil, fmt.Errorf("make a window: %w", err)
	}
	go c.pump()
	return c, nil
}

// pump hands on events until the connection ends. Errors are about windows of
// other programs that went away in the meantime; they are no fault of ours.
func (c *conn) pump() {
	defer close(c.events)
	for {
		ev, err := c.x.WaitForEvent()
		if ev == nil && err == nil {
			return
		}
		if ev != nil {
			c.events <- ev
		}
	}
}

// close ends the connection and its goroutine.
func (c *conn) close() {
	c.x.Close()
	for range c.events {
	}
}

// next is the next event. It fails when ctx or the connection ends.
func (c *conn) next(ctx context.Context) (xgb.Event, error) {
	select {
	case ev, ok := <-c.events:
		if !ok {
			return nil, ErrNoDisplay
		}
		return ev, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// atom is the number of a name.
func (c *conn) atom(name string) (xproto.Atom, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.atoms[name]; ok {
		return a, nil
	}
	rep, err := xproto.InternAtom(c.x, false, uint16(len(name)), name).Reply()
	if err != nil {
		return 0, fmt.Errorf("intern %s: %w", name, err)
	}
	c.atoms[name] = rep.Atom
	return rep.Atom, nil
}

// name is the name of an atom.
func (c *conn) name(a xproto.Atom) (string, error) {
	c.mu.Lock()
	for n, known := range c.atoms {
		if known == a {
			c.mu.Unlock()
			return n, nil
		}
	}
	c.mu.Unlock()
	rep, err := xproto.GetAtomName(c.x, a).Reply()
	if err != nil {
		return "", fmt.Errorf("name of atom %d: %w", a, err)
	}
	c.mu.Lock()
	c.atoms[rep.Name] = a
	c.mu.Unlock()
	return rep.Name, nil
}

// now is the server's time: the ICCCM forbids to take a selection at "now".
func (c *conn) now(ctx context.Context) (xproto.Timestamp, error) {
	a, err := c.atom("PERCH_TIME")
	if err != nil {
		return 0, err
	}
	xproto.ChangeProperty(c.x, xproto.PropModeAppend, c.win, a, xproto.AtomString, 8, 0, nil)
	for {
		ev, err := c.next(ctx)
		if err != nil {
			return 0, err
		}
		if p, ok := ev.(xproto.PropertyNotifyEvent); ok && p.Window == c.win && p.Atom == a {
			return p.Time, nil
		}
	}
}
