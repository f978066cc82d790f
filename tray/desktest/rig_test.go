//go:build linux

package desktest

import (
	"image/color"
	"testing"

	"github.com/godbus/dbus/v5"
)

func TestDesktopGivesFocusAndKeysToItsWindows(t *testing.T) {
	for _, wm := range []string{"openbox", "i3", "xfwm4"} {
		t.Run(wm, func(t *testing.T) {
			t.Parallel()
			r := Start(t, Options{WM: wm})
			w := r.OpenWindow("editor", color.RGBA{R: 10, G: 20, B: 200, A: 255})
			r.Type("hello")
			r.Wait("five keys", func() bool { return w.Keys() == 5 })
			if r.ActiveTitle() != "editor" {
				t.Errorf("active window %q", r.ActiveTitle())
			}
			b := r.Bounds(w.ID)
			r.Wait("the window to be painted", func() bool {
				c := r.Screen().NRGBAAt(b.Min.X+b.Dx()/2, b.Min.Y+b.Dy()/2)
				return c == color.NRGBA{R: 10, G: 20, B: 200, A: 255}
			})
		})
	}
}

func TestRecorderNotesWhatItIsTold(t *testing.T) {
	r := Start(t, Options{WM: "none", Notifications: Recorder})
	c := r.Connect()
	var id uint32
	err := c.Object(notesName, notesPath).Call(notesName+".Notify", 0, "app", uint32(0), "", "title", "body",
		[]string{"default", "Open"}, map[string]dbus.Variant{}, int32(-1)).Store(&id)
	if err == nil && id == 0 {
		t.Error("no id")
	}
}
