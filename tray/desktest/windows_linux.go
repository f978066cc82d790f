package desktest

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// xdotool runs xdotool on this desktop and returns what it printed.
func (r *Rig) xdotool(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("xdotool", args...)
	cmd.Env = r.Env()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("xdotool %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

// Key presses and releases key combinations in xdotool's names, such as
// "ctrl+shift+space" or "Num_Lock".
func (r *Rig) Key(keys ...string) {
	r.t.Helper()
	r.xdotool(append([]string{"key"}, keys...)...)
}

// KeyDown holds a combination; the server repeats it as a keyboard does.
func (r *Rig) KeyDown(key string) { r.t.Helper(); r.xdotool("keydown", key) }

// KeyUp lets a combination go.
func (r *Rig) KeyUp(key string) { r.t.Helper(); r.xdotool("keyup", key) }

// Type types a text of letters that the keymap has.
func (r *Rig) Type(text string) { r.t.Helper(); r.xdotool("type", "--delay", "2", "--", text) }

// Click presses a mouse button at a place of the screen.
func (r *Rig) Click(x, y, button int) {
	r.t.Helper()
	r.xdotool("mousemove", itoa(x), itoa(y), "click", itoa(button))
}

// Active is the active window as the window manager has it; 0 is none.
func (r *Rig) Active() uint32 { return r.cardinal(r.root, "_NET_ACTIVE_WINDOW") }

// ActiveTitle is the title of the active window.
func (r *Rig) ActiveTitle() string { return r.Title(r.Active()) }

// Title is the title of a window, "" when it has none or is gone.
func (r *Rig) Title(w uint32) string {
	if w == 0 {
		return ""
	}
	if s := r.text(xproto.Window(w), "_NET_WM_NAME"); s != "" {
		return s
	}
	return r.text(xproto.Window(w), "WM_NAME")
}

// Windows are the windows that the window manager knows, oldest first.
func (r *Rig) Windows() []uint32 {
	b := r.property(r.root, "_NET_CLIENT_LIST")
	out := make([]uint32, 0, len(b)/4)
	for i := 0; i+4 <= len(b); i += 4 {
		out = append(out, xgb.Get32(b[i:]))
	}
	return out
}

// FindWindow is the first managed and visible window whose title contains part;
// 0 is none.
func (r *Rig) FindWindow(part string) uint32 {
	for _, w := range r.Windows() {
		if strings.Contains(r.Title(w), part) && r.Viewable(w) {
			return w
		}
	}
	return 0
}

// Viewable reports whether a window is on the screen.
func (r *Rig) Viewable(w uint32) bool {
	a, err := xproto.GetWindowAttributes(r.x, xproto.Window(w)).Reply()
	return err == nil && a.MapState == xproto.MapStateViewable
}

// Focus is the window that the X server sends keys to; 0 and 1 are none and
// the root.
func (r *Rig) Focus() uint32 {
	f, err := xproto.GetInputFocus(r.x).Reply()
	if err != nil {
		return 0
	}
	return uint32(f.Focus)
}

// Bounds are the place and size of a window on the screen.
func (r *Rig) Bounds(w uint32) image.Rectangle {
	g, err := xproto.GetGeometry(r.x, xproto.Drawable(w)).Reply()
	if err != nil {
		return image.Rectangle{}
	}
	p, err := xproto.TranslateCoordinates(r.x, xproto.Window(w), r.root, 0, 0).Reply()
	if err != nil {
		return image.Rectangle{}
	}
	return image.Rect(int(p.DstX), int(p.DstY), int(p.DstX)+int(g.Width), int(p.DstY)+int(g.Height))
}

// Screen is a picture of the whole screen.
func (r *Rig) Screen() *image.NRGBA {
	r.t.Helper()
	s := xproto.Setup(r.x).DefaultScreen(r.x)
	rep, err := xproto.GetImage(r.x, xproto.ImageFormatZPixmap, xproto.Drawable(r.root), 0, 0,
		s.WidthInPixels, s.HeightInPixels, 0xffffffff).Reply()
	if err != nil {
		r.t.Fatalf("picture of the screen: %v", err)
	}
	img := image.NewNRGBA(image.Rect(0, 0, int(s.WidthInPixels), int(s.HeightInPixels)))
	for i := 0; i+4 <= len(rep.Data) && i+4 <= len(img.Pix); i += 4 {
		img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = rep.Data[i+2], rep.Data[i+1], rep.Data[i], 255
	}
	return img
}

// Pixel is the colour of one point of the screen. It is quick enough to watch for
// the moment when something is painted.
func (r *Rig) Pixel(p image.Point) color.NRGBA {
	r.t.Helper()
	rep, err := xproto.GetImage(r.x, xproto.ImageFormatZPixmap, xproto.Drawable(r.root), int16(p.X), int16(p.Y), 1, 1, 0xffffffff).Reply()
	if err != nil || len(rep.Data) < 3 {
		r.t.Fatalf("colour at %v: %v", p, err)
	}
	return color.NRGBA{R: rep.Data[2], G: rep.Data[1], B: rep.Data[0], A: 255}
}

// Screenshot writes a picture of the screen as PNG.
func (r *Rig) Screenshot(path string) {
	r.t.Helper()
	WritePNG(r.t, path, r.Screen())
}

// WritePNG writes an image as PNG.
func WritePNG(t testing.TB, path string, img image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Window is a plain window of one colour that remembers the keys it got: the
// program that the user is working in.
type Window struct {
	ID uint32

	r *Rig
	x *xgb.Conn

	mu      sync.Mutex // guards what follows
	keys    int
	focused bool
}

// OpenWindow opens a window and waits until it has the focus.
func (r *Rig) OpenWindow(title string, fill color.RGBA) *Window {
	r.t.Helper()
	x, err := xgb.NewConnDisplay(r.Display)
	if err != nil {
		r.t.Fatalf("connect: %v", err)
	}
	id, err := xproto.NewWindowId(x)
	if err != nil {
		r.t.Fatal(err)
	}
	s := xproto.Setup(x).DefaultScreen(x)
	pixel := uint32(fill.R)<<16 | uint32(fill.G)<<8 | uint32(fill.B)
	err = xproto.CreateWindowChecked(x, s.RootDepth, id, s.Root, 100, 100, 640, 480, 0,
		xproto.WindowClassInputOutput, s.RootVisual, xproto.CwBackPixel|xproto.CwEventMask,
		[]uint32{pixel, xproto.EventMaskKeyPress | xproto.EventMaskFocusChange}).Check()
	if err != nil {
		r.t.Fatalf("create window: %v", err)
	}
	xproto.ChangeProperty(x, xproto.PropModeReplace, id, xproto.AtomWmName, xproto.AtomString, 8,
		uint32(len(title)), []byte(title))
	class := title + "\x00" + title + "\x00"
	xproto.ChangeProperty(x, xproto.PropModeReplace, id, xproto.AtomWmClass, xproto.AtomString, 8,
		uint32(len(class)), []byte(class))
	xproto.MapWindow(x, id)
	w := &Window{ID: uint32(id), r: r, x: x}
	done := make(chan struct{})
	go func() { defer close(done); w.events() }()
	r.t.Cleanup(func() { x.Close(); <-done })
	r.Wait("window "+title+" to have the focus", w.Focused)
	return w
}

// events counts keys and follows the focus until the connection ends.
func (w *Window) events() {
	for {
		ev, err := w.x.WaitForEvent()
		if ev == nil && err == nil {
			return
		}
		w.mu.Lock()
		switch e := ev.(type) {
		case xproto.KeyPressEvent:
			w.keys++
		case xproto.FocusInEvent:
			w.focused = w.focused || ownFocus(e.Mode, e.Detail)
		case xproto.FocusOutEvent:
			w.focused = w.focused && !ownFocus(e.Mode, e.Detail)
		}
		w.mu.Unlock()
	}
}

// ownFocus reports whether a focus event is about the window itself and not
// about a grab or the pointer.
func ownFocus(mode, detail byte) bool {
	return mode != xproto.NotifyModeGrab && mode != xproto.NotifyModeUngrab && detail != xproto.NotifyDetailPointer
}

// Focused reports whether the window has the keyboard.
func (w *Window) Focused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.focused
}

// Keys is how many key presses the window got.
func (w *Window) Keys() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys
}

// Close closes the window.
func (w *Window) Close() { xproto.DestroyWindow(w.x, xproto.Window(w.ID)); w.x.Sync() }
