//go:build linux || freebsd || openbsd || netbsd

package place

import (
	"fmt"
	"image"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// x11 speaks to the X server over a connection of its own: the toolkit's must
// only be used by its thread.
type x11 struct {
	conn   *xgb.Conn
	root   xproto.Window
	own    xproto.Window // an unmapped window, for reading the server's time
	randr  bool
	events chan xgb.Event

	mu       sync.Mutex // guards what follows
	atoms    map[string]xproto.Atom
	previous xproto.Window
}

// timeWait is how long the server may take to tell its time; a local one takes
// well below a millisecond.
const timeWait = 100 * time.Millisecond

// New connects to the display of the environment.
func New() (Desk, error) {
	if os.Getenv("DISPLAY") == "" {
		return None{}, fmt.Errorf("no X display: DISPLAY is not set")
	}
	xgb.Logger = log.New(io.Discard, "", 0) // its lines about lost connections are of no use to the user
	conn, err := xgb.NewConn()
	if err != nil {
		return None{}, fmt.Errorf("connect to the X display: %w", err)
	}
	setup := xproto.Setup(conn)
	screen := setup.DefaultScreen(conn)
	x := &x11{conn: conn, root: screen.Root, atoms: map[string]xproto.Atom{}, events: make(chan xgb.Event, 8)}
	x.randr = randr.Init(conn) == nil
	if x.own, err = xproto.NewWindowId(conn); err != nil {
		conn.Close()
		return None{}, fmt.Errorf("make a window id: %w", err)
	}
	err = xproto.CreateWindowChecked(conn, 0, x.own, x.root, -10, -10, 1, 1, 0, xproto.WindowClassInputOnly, 0,
		xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check()
	if err != nil {
		conn.Close()
		return None{}, fmt.Errorf("make a window: %w", err)
	}
	go x.read()
	return x, nil
}

// read takes events off the connection until it closes.
func (x *x11) read() {
	defer close(x.events)
	for {
		ev, err := x.conn.WaitForEvent()
		if ev == nil && err == nil {
			return
		}
		if _, ok := ev.(xproto.PropertyNotifyEvent); ok {
			select {
			case x.events <- ev:
			default: // nobody waits
			}
		}
	}
}

// Close ends the connection.
func (x *x11) Close() { x.conn.Close() }

func (x *x11) atom(name string) xproto.Atom {
	x.mu.Lock()
	defer x.mu.Unlock()
	if a, ok := x.atoms[name]; ok {
		return a
	}
	r, err := xproto.InternAtom(x.conn, false, uint16(len(name)), name).Reply()
	if err != nil || r == nil {
		return 0
	}
	x.atoms[name] = r.Atom
	return r.Atom
}

// time is the server's time now. Window managers compare it with the last key
// press, and refuse a raise that is older.
func (x *x11) time() xproto.Timestamp {
	for len(x.events) > 0 {
		<-x.events
	}
	xproto.ChangeProperty(x.conn, xproto.PropModeAppend, x.own, xproto.AtomWmName, xproto.AtomString, 8, 0, nil)
	select {
	case ev, ok := <-x.events:
		if p, is := ev.(xproto.PropertyNotifyEvent); ok && is {
			return p.Time
		}
	case <-time.After(timeWait):
	}
	return xproto.TimeCurrentTime
}

func (x *x11) cardinals(w xproto.Window, name string, most uint32) []uint32 {
	r, err := xproto.GetProperty(x.conn, false, w, x.atom(name), xproto.GetPropertyTypeAny, 0, most).Reply()
	if err != nil || r == nil || r.Format != 32 {
		return nil
	}
	out := make([]uint32, 0, len(r.Value)/4)
	for i := 0; i+4 <= len(r.Value); i += 4 {
		out = append(out, xgb.Get32(r.Value[i:]))
	}
	return out
}

func (x *x11) set(w xproto.Window, name string, kind xproto.Atom, values ...uint32) {
	buf := make([]byte, 4*len(values))
	for i, v := range values {
		xgb.Put32(buf[4*i:], v)
	}
	xproto.ChangeProperty(x.conn, xproto.PropModeReplace, w, x.atom(name), kind, 32, uint32(len(values)), buf)
}

// sync waits until the server has done all that was asked: the toolkit's own
// requests travel on another connection.
func (x *x11) sync() { _, _ = xproto.GetInputFocus(x.conn).Reply() }

// active is the window with the focus, as the window manager says, else as the
// server does.
func (x *x11) active() xproto.Window {
	if v := x.cardinals(x.root, "_NET_ACTIVE_WINDOW", 1); len(v) == 1 && v[0] != 0 {
		return xproto.Window(v[0])
	}
	r, err := xproto.GetInputFocus(x.conn).Reply()
	if err != nil || r == nil || r.Focus <= 1 || r.Focus == x.root {
		return 0
	}
	return r.Focus
}

// Look reads screens, focus and pointer.
func (x *x11) Look() Desktop {
	var d Desktop
	geo, err := xproto.GetGeometry(x.conn, xproto.Drawable(x.root)).Reply()
	if err != nil || geo == nil {
		return d
	}
	d.Screens = x.monitors()
	if len(d.Screens) == 0 {
		d.Screens = []Rect{{W: int(geo.Width), H: int(geo.Height)}}
	}
	desktop := 0
	if v := x.cardinals(x.root, "_NET_CURRENT_DESKTOP", 1); len(v) == 1 {
		desktop = int(v[0])
	}
	if v := x.cardinals(x.root, "_NET_WORKAREA", 256); len(v) >= 4*(desktop+1) {
		v = v[4*desktop:]
		d.Work = Rect{int(int32(v[0])), int(int32(v[1])), int(v[2]), int(v[3])}
	}
	if p, err := xproto.QueryPointer(x.conn, x.root).Reply(); err == nil && p != nil {
		d.Pointer = Point{int(p.RootX), int(p.RootY)}
	}
	if w := x.active(); w != 0 {
		d.Focus = x.bounds(w)
	}
	return d
}

func (x *x11) monitors() []Rect {
	if !x.randr {
		return nil
	}
	r, err := randr.GetMonitors(x.conn, x.root, true).Reply()
	if err != nil || r == nil {
		return nil
	}
	var out []Rect
	for _, m := range r.Monitors {
		if m.Width > 0 && m.Height > 0 {
			out = append(out, Rect{int(m.X), int(m.Y), int(m.Width), int(m.Height)})
		}
	}
	return out
}

func (x *x11) bounds(w xproto.Window) Rect {
	geo, err := xproto.GetGeometry(x.conn, xproto.Drawable(w)).Reply()
	if err != nil || geo == nil {
		return Rect{}
	}
	at, err := xproto.TranslateCoordinates(x.conn, w, x.root, 0, 0).Reply()
	if err != nil || at == nil {
		return Rect{}
	}
	return Rect{int(at.DstX), int(at.DstY), int(geo.Width), int(geo.Height)}
}

// Remember notes the window with the focus, unless it is own.
func (x *x11) Remember(own uintptr) {
	w := x.active()
	if w == xproto.Window(own) {
		return
	}
	x.mu.Lock()
	x.previous = w
	x.mu.Unlock()
}

// Previous is the remembered window.
func (x *x11) Previous() uint32 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return uint32(x.previous)
}

// Dress gives a window its role before it is mapped. Window managers drop the
// state when a window is withdrawn, so it is set at every show.
func (x *x11) Dress(window uintptr, pinned bool, background uint32) {
	w := xproto.Window(window)
	const opaque = 0xff000000
	xproto.ChangeWindowAttributes(x.conn, w, xproto.CwBackPixel|xproto.CwBitGravity,
		[]uint32{opaque | background, xproto.GravityNorthWest})
	const hasDecorations = 2 // flag of _MOTIF_WM_HINTS: the field that follows counts
	x.set(w, "_MOTIF_WM_HINTS", x.atom("_MOTIF_WM_HINTS"), hasDecorations, 0, 0, 0, 0)
	// Tiling managers float a utility window; others keep it out of task bars.
	x.set(w, "_NET_WM_WINDOW_TYPE", xproto.AtomAtom, uint32(x.atom("_NET_WM_WINDOW_TYPE_UTILITY")), uint32(x.atom("_NET_WM_WINDOW_TYPE_NORMAL")))
	state := []uint32{uint32(x.atom("_NET_WM_STATE_SKIP_TASKBAR")), uint32(x.atom("_NET_WM_STATE_SKIP_PAGER")), uint32(x.atom("_NET_WM_STATE_ABOVE"))}
	if pinned {
		state = append(state, uint32(x.atom("_NET_WM_STATE_STICKY")))
	}
	x.set(w, "_NET_WM_STATE", xproto.AtomAtom, state...)
	x.set(w, "_NET_WM_USER_TIME", xproto.AtomCardinal, uint32(x.time()))
	xproto.DeleteProperty(x.conn, w, x.atom("_NET_WM_DESKTOP")) // it opens on the desktop in use
	x.sync()
}

// Raise asks for the window to be shown above others with the focus. Window
// managers refuse that to a window nobody clicked, but not to a pager, which is
// what source 2 says.
func (x *x11) Raise(window uintptr, at Point) {
	w := xproto.Window(window)
	if at != (Point{}) {
		xproto.ConfigureWindow(x.conn, w, xproto.ConfigWindowX|xproto.ConfigWindowY, []uint32{uint32(int32(at.X)), uint32(int32(at.Y))})
	}
	x.activate(w)
	x.sync()
}

func (x *x11) activate(w xproto.Window) {
	now := x.time()
	if !x.supports("_NET_ACTIVE_WINDOW") {
		xproto.ConfigureWindow(x.conn, w, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove})
		xproto.SetInputFocus(x.conn, xproto.InputFocusParent, w, now)
		return
	}
	const sourcePager = 2
	x.message(w, "_NET_ACTIVE_WINDOW", sourcePager, uint32(now), uint32(x.active()), 0, 0)
}

func (x *x11) supports(name string) bool {
	a := uint32(x.atom(name))
	for _, v := range x.cardinals(x.root, "_NET_SUPPORTED", 1024) {
		if v == a {
			return true
		}
	}
	return false
}

// message sends a client message to the root window, where the window manager
// listens.
func (x *x11) message(w xproto.Window, kind string, data ...uint32) {
	ev := xproto.ClientMessageEvent{Format: 32, Window: w, Type: x.atom(kind), Data: xproto.ClientMessageDataUnionData32New(data)}
	xproto.SendEvent(x.conn, false, x.root, xproto.EventMaskSubstructureRedirect|xproto.EventMaskSubstructureNotify, string(ev.Bytes()))
}

// Focused reports whether the window, or one within it, has the focus.
func (x *x11) Focused(window uintptr) bool {
	r, err := xproto.GetInputFocus(x.conn).Reply()
	if err != nil || r == nil {
		return false
	}
	for w := r.Focus; w > 1 && w != x.root; {
		if w == xproto.Window(window) {
			return true
		}
		t, err := xproto.QueryTree(x.conn, w).Reply()
		if err != nil || t == nil {
			return false
		}
		w = t.Parent
	}
	return false
}

// Visible reports whether the window and all around it are mapped.
func (x *x11) Visible(window uintptr) bool {
	a, err := xproto.GetWindowAttributes(x.conn, xproto.Window(window)).Reply()
	return err == nil && a != nil && a.MapState == xproto.MapStateViewable
}

// GiveBack gives the focus to the remembered window, if the popup still has it:
// who clicked elsewhere meanwhile is left there.
func (x *x11) GiveBack(own uintptr) {
	prev := xproto.Window(x.Previous())
	if prev == 0 || !x.Focused(own) || !x.Visible(uintptr(prev)) {
		return
	}
	x.activate(prev)
	x.sync()
}

// pasteWait is how long the other window may take to get the focus.
const pasteWait = 500 * time.Millisecond

// Paste presses Ctrl+V in the remembered window.
func (x *x11) Paste() error {
	prev := xproto.Window(x.Previous())
	if prev == 0 || !x.Visible(uintptr(prev)) {
		return fmt.Errorf("paste into the window before: it is gone")
	}
	if err := xtest.Init(x.conn); err != nil {
		return fmt.Errorf("paste into the window before: the display has no test extension: %w", err)
	}
	x.activate(prev)
	for end := time.Now().Add(pasteWait); !x.Focused(uintptr(prev)); {
		if time.Now().After(end) {
			return fmt.Errorf("paste into the window before: it did not take the focus")
		}
		time.Sleep(5 * time.Millisecond)
	}
	const keysymV, keysymControl = 0x76, 0xffe3
	v, ctrl := x.keycode(keysymV), x.keycode(keysymControl)
	if v == 0 || ctrl == 0 {
		return fmt.Errorf("paste into the window before: this keyboard has no Ctrl+V")
	}
	for _, k := range []struct {
		kind byte
		code xproto.Keycode
	}{{xproto.KeyPress, ctrl}, {xproto.KeyPress, v}, {xproto.KeyRelease, v}, {xproto.KeyRelease, ctrl}} {
		xtest.FakeInput(x.conn, k.kind, byte(k.code), 0, x.root, 0, 0, 0)
	}
	x.sync()
	return nil
}

// keycode is the key that gives a symbol without modifiers, 0 for none.
func (x *x11) keycode(sym xproto.Keysym) xproto.Keycode {
	setup := xproto.Setup(x.conn)
	n := byte(setup.MaxKeycode - setup.MinKeycode + 1)
	m, err := xproto.GetKeyboardMapping(x.conn, setup.MinKeycode, n).Reply()
	if err != nil || m == nil || m.KeysymsPerKeycode == 0 {
		return 0
	}
	for i := range int(n) {
		if m.Keysyms[i*int(m.KeysymsPerKeycode)] == sym {
			return setup.MinKeycode + xproto.Keycode(i)
		}
	}
	return 0
}

// Picture is what a visible window shows.
func (x *x11) Picture(window uintptr) (image.Image, error) {
	d := xproto.Drawable(window)
	geo, err := xproto.GetGeometry(x.conn, d).Reply()
	if err != nil {
		return nil, fmt.Errorf("take a picture of window %d: %w", window, err)
	}
	const allPlanes = 0xffffffff
	r, err := xproto.GetImage(x.conn, xproto.ImageFormatZPixmap, d, 0, 0, geo.Width, geo.Height, allPlanes).Reply()
	if err != nil {
		return nil, fmt.Errorf("take a picture of window %d: %w", window, err)
	}
	img := image.NewRGBA(image.Rect(0, 0, int(geo.Width), int(geo.Height)))
	if len(r.Data) < len(img.Pix) {
		return nil, fmt.Errorf("take a picture of window %d: a display of depth %d is not supported; use 24", window, r.Depth)
	}
	for i := 0; i+4 <= len(img.Pix); i += 4 { // the server sends blue first
		img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = r.Data[i+2], r.Data[i+1], r.Data[i], 0xff
	}
	return img, nil
}

// Move begins moving the window with the pointer, as a title bar would.
func (x *x11) Move(window uintptr) {
	p, err := xproto.QueryPointer(x.conn, x.root).Reply()
	if err != nil || p == nil {
		return
	}
	xproto.UngrabPointer(x.conn, xproto.TimeCurrentTime)
	const moveByPointer, button, fromApplication = 8, 1, 1
	x.message(xproto.Window(window), "_NET_WM_MOVERESIZE", uint32(p.RootX), uint32(p.RootY), moveByPointer, button, fromApplication)
	x.sync()
}
