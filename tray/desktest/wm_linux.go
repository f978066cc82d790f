package desktest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jezek/xgb/xproto"
)

// i3Config makes i3 start without its questions.
const i3Config = `font pango:monospace 8
focus_on_window_activation smart
focus_follows_mouse no
`

// StartWM starts a window manager and waits until it has taken over.
func (r *Rig) StartWM(name string) {
	r.t.Helper()
	args := map[string][]string{
		"openbox": {"--sm-disable"},
		"i3":      {"-c", filepath.Join(r.Dir, "i3.conf")},
		"xfwm4":   {"--compositor=off", "--sm-client-disable"},
	}
	a, ok := args[name]
	if !ok {
		r.t.Fatalf("unknown window manager %q", name)
	}
	if name == "i3" {
		if err := os.WriteFile(filepath.Join(r.Dir, "i3.conf"), []byte(i3Config), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.run(r.command(name, a...))
	r.Wait("window manager "+name, func() bool {
		w := r.cardinal(r.root, "_NET_SUPPORTING_WM_CHECK")
		if w == 0 {
			return false
		}
		return strings.Contains(strings.ToLower(r.text(xproto.Window(w), "_NET_WM_NAME")), name)
	})
	r.Wait(name+" to manage a window", r.manages)
}

// manageWait is how long a window manager at work needs at most for one window.
const manageWait = 300 * time.Millisecond

// manages reports whether the window manager takes up a new window. openbox
// announces itself before it does, and loses windows that come in between.
func (r *Rig) manages() bool {
	id, err := xproto.NewWindowId(r.x)
	if err != nil {
		return false
	}
	s := xproto.Setup(r.x).DefaultScreen(r.x)
	xproto.CreateWindow(r.x, s.RootDepth, id, r.root, 0, 0, 50, 50, 0, xproto.WindowClassInputOutput, s.RootVisual, 0, nil)
	xproto.MapWindow(r.x, id)
	listed := func() bool { return slices.Contains(r.Windows(), uint32(id)) }
	ok := Eventually(manageWait, listed)
	xproto.DestroyWindow(r.x, id)
	return ok && Eventually(manageWait, func() bool { return !listed() })
}

// StartDunst starts the notification daemon and waits for its name on the bus.
func (r *Rig) StartDunst() {
	r.t.Helper()
	r.run(r.command("dunst", "-conf", os.DevNull))
	r.WaitName("org.freedesktop.Notifications")
}

// atom interns an atom.
func (r *Rig) atom(name string) xproto.Atom {
	if a, ok := r.atoms[name]; ok {
		return a
	}
	rep, err := xproto.InternAtom(r.x, false, uint16(len(name)), name).Reply()
	if err != nil {
		r.t.Fatalf("intern atom %s: %v", name, err)
	}
	r.atoms[name] = rep.Atom
	return rep.Atom
}

// property reads a property of a window; nil when it is not there.
func (r *Rig) property(w xproto.Window, name string) []byte {
	rep, err := xproto.GetProperty(r.x, false, w, r.atom(name), xproto.GetPropertyTypeAny, 0, 1<<20).Reply()
	if err != nil {
		return nil
	}
	return rep.Value
}

// cardinal reads a property of one 32-bit number; 0 when it is not there.
func (r *Rig) cardinal(w xproto.Window, name string) uint32 {
	b := r.property(w, name)
	if len(b) < 4 {
		return 0
	}
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// text reads a property of text.
func (r *Rig) text(w xproto.Window, name string) string {
	return strings.TrimRight(string(r.property(w, name)), "\x00")
}
