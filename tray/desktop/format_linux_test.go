package desktop

import (
	"encoding/binary"
	"image"
	"net"
	"path/filepath"
	"testing"
)

func TestPixelsOfEveryDepthAreUnpacked(t *testing.T) {
	for name, c := range map[string]struct {
		f    format
		data []byte
		want [2][3]byte
	}{
		"32 bits":             {format{4, 4, 0xff0000, 0xff00, 0xff}, []byte{3, 2, 1, 0, 6, 5, 4, 0}, [2][3]byte{{1, 2, 3}, {4, 5, 6}}},
		"24 bits packed":      {format{3, 4, 0xff0000, 0xff00, 0xff}, []byte{3, 2, 1, 6, 5, 4, 0, 0}, [2][3]byte{{1, 2, 3}, {4, 5, 6}}},
		"16 bits":             {format{2, 4, 0xf800, 0x7e0, 0x1f}, []byte{0x00, 0xf8, 0xff, 0xff}, [2][3]byte{{255, 0, 0}, {255, 255, 255}}},
		"30 bits deep colour": {format{4, 4, 0x3ff00000, 0xffc00, 0x3ff}, []byte{0xff, 0x03, 0, 0, 0, 0, 0xf0, 0x3f}, [2][3]byte{{0, 0, 255}, {255, 0, 0}}},
	} {
		img := image.NewRGBA(image.Rect(0, 0, 2, 1))
		c.f.unpack(img, 0, 1, c.data)
		for i, w := range c.want {
			if got := [3]byte(img.Pix[4*i : 4*i+3]); got != w || img.Pix[4*i+3] != 255 {
				t.Errorf("%s, pixel %d: %v, want %v", name, i, img.Pix[4*i:4*i+4], w)
			}
		}
		c.f.unpack(img, 0, 1, c.data[:1]) // a short answer is no panic
	}
}

// TestCompositorIsAskedForItsInterfaces plays a compositor that lists what it has.
func TestCompositorIsAskedForItsInterfaces(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("WAYLAND_DISPLAY", "w0")
	if compositorHas("wl_seat") {
		t.Error("a compositor that is not there has something")
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "w0"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	event := func(object, opcode uint32, body []byte) []byte {
		b := binary.NativeEndian.AppendUint32(nil, object)
		b = binary.NativeEndian.AppendUint32(b, uint32(8+len(body))<<16|opcode)
		return append(b, body...)
	}
	global := func(name string) []byte {
		s := append([]byte(name), 0)
		b := binary.NativeEndian.AppendUint32(nil, 1)
		b = binary.NativeEndian.AppendUint32(b, uint32(len(s)))
		for len(s)%4 != 0 {
			s = append(s, 0)
		}
		return event(registryID, 0, binary.NativeEndian.AppendUint32(append(b, s...), 1))
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			for _, b := range [][]byte{global("wl_seat"), global("zwlr_data_control_manager_v1"), event(callbackID, 0, make([]byte, 4))} {
				_, _ = c.Write(b)
			}
			_ = c.Close()
		}
	}()
	if !compositorHas("ext_data_control_manager_v1", "zwlr_data_control_manager_v1") || compositorHas("wl_data_control") {
		t.Error("the list was not understood")
	}
}

func TestClipboardWayOfADesktop(t *testing.T) {
	for _, c := range []struct {
		display string
		control bool
		want    way
	}{{":0", false, wayX11}, {":0", true, wayWayland}, {"", true, wayWayland}, {"", false, wayText}} {
		if got := choose(c.display, c.control); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
