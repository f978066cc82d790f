package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"math/bits"
	"net/url"
	"os"

	"github.com/godbus/dbus/v5"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xinerama"
	"github.com/jezek/xgb/xproto"

	"perch/chat"
	"perch/control"
)

// band is how many rows are asked of the X server at once: a picture of a wall
// of screens must not be held twice.
const band = 256

// screenshot takes a picture: of Wayland's screens by the portal, which alone
// may, of an X11 screen directly.
func (r *role) screenshot(ctx context.Context, s control.Shot) ([]byte, error) {
	if os.Getenv("WAYLAND_DISPLAY") != "" && os.Getenv("XDG_SESSION_TYPE") != "x11" {
		return portalShot(ctx, r.keys.bus(), s)
	}
	return x11Shot(os.Getenv("DISPLAY"), s)
}

// x11Shot takes a picture of an X11 screen.
func x11Shot(display string, s control.Shot) ([]byte, error) {
	if display == "" {
		return nil, chat.NewError(chat.ClassMisuse, "err.shot_no_display",
			"There is no screen to take a picture of. Start perch in a desktop session.")
	}
	x, err := xgb.NewConnDisplay(display)
	if err != nil {
		return nil, errShot(fmt.Errorf("display %s: %w", display, err))
	}
	defer x.Close()
	screen := xproto.Setup(x).DefaultScreen(x)
	whole := image.Rect(0, 0, int(screen.WidthInPixels), int(screen.HeightInPixels))
	window, err := windowRect(x, screen.Root, xproto.Window(s.Window))
	if err != nil && s.What == ShotWindow {
		return nil, err
	}
	rect := part(s, whole, monitors(x), window, pointer(x, screen.Root))
	if rect.Empty() {
		return nil, errNothingThere()
	}
	img, err := grab(x, screen, rect)
	if err != nil {
		return nil, errShot(err)
	}
	return encode(img)
}

// monitors are the places of the monitors; none where the server does not say.
func monitors(x *xgb.Conn) []image.Rectangle {
	if xinerama.Init(x) != nil {
		return nil
	}
	rep, err := xinerama.QueryScreens(x).Reply()
	if err != nil {
		return nil
	}
	var out []image.Rectangle
	for _, s := range rep.ScreenInfo {
		out = append(out, image.Rect(int(s.XOrg), int(s.YOrg), int(s.XOrg)+int(s.Width), int(s.YOrg)+int(s.Height)))
	}
	return out
}

// pointer is where the mouse is.
func pointer(x *xgb.Conn, root xproto.Window) image.Point {
	p, err := xproto.QueryPointer(x, root).Reply()
	if err != nil {
		return image.Point{}
	}
	return image.Pt(int(p.RootX), int(p.RootY))
}

// windowRect is the place of a window with its frame; 0 is the active one.
func windowRect(x *xgb.Conn, root, w xproto.Window) (image.Rectangle, error) {
	if w == 0 {
		b := property(x, root, "_NET_ACTIVE_WINDOW")
		if len(b) < 4 || xgb.Get32(b) == 0 {
			return image.Rectangle{}, chat.NewError(chat.ClassMisuse, "err.shot_no_window",
				"No window is active. Click the window first, or take the whole screen.")
		}
		w = xproto.Window(xgb.Get32(b))
	}
	g, err := xproto.GetGeometry(x, xproto.Drawable(w)).Reply()
	if err != nil {
		return image.Rectangle{}, chat.NewError(chat.ClassMisuse, "err.shot_window_gone",
			"That window is no longer there. Take the whole screen, or choose another window.").Wrap(err)
	}
	at, err := xproto.TranslateCoordinates(x, w, root, 0, 0).Reply()
	if err != nil {
		return image.Rectangle{}, errShot(err)
	}
	rect := image.Rect(int(at.DstX), int(at.DstY), int(at.DstX)+int(g.Width), int(at.DstY)+int(g.Height))
	if f := property(x, w, "_NET_FRAME_EXTENTS"); len(f) >= 16 {
		rect.Min.X -= int(xgb.Get32(f))
		rect.Max.X += int(xgb.Get32(f[4:]))
		rect.Min.Y -= int(xgb.Get32(f[8:]))
		rect.Max.Y += int(xgb.Get32(f[12:]))
	}
	return rect, nil
}

// property reads a property of a window; nil when it is not there.
func property(x *xgb.Conn, w xproto.Window, name string) []byte {
	a, err := xproto.InternAtom(x, true, uint16(len(name)), name).Reply()
	if err != nil || a.Atom == xproto.AtomNone {
		return nil
	}
	rep, err := xproto.GetProperty(x, false, w, a.Atom, xproto.GetPropertyTypeAny, 0, 1<<10).Reply()
	if err != nil {
		return nil
	}
	return rep.Value
}

// grab copies a part of the screen.
func grab(x *xgb.Conn, screen *xproto.ScreenInfo, rect image.Rectangle) (*image.RGBA, error) {
	f, err := formatOf(x, screen)
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(image.Rect(0, 0, rect.Dx(), rect.Dy()))
	for y := 0; y < rect.Dy(); y += band {
		h := min(band, rect.Dy()-y)
		rep, err := xproto.GetImage(x, xproto.ImageFormatZPixmap, xproto.Drawable(screen.Root),
			int16(rect.Min.X), int16(rect.Min.Y+y), uint16(rect.Dx()), uint16(h), 0xffffffff).Reply()
		if err != nil {
			return nil, fmt.Errorf("read the screen: %w", err)
		}
		f.unpack(img, y, h, rep.Data)
	}
	return img, nil
}

// format is how the server packs pixels.
type format struct {
	bytes            int // of a pixel
	pad              int // a row is a multiple of so many bytes
	red, green, blue uint32
}

// formatOf is the format of a screen.
func formatOf(x *xgb.Conn, screen *xproto.ScreenInfo) (format, error) {
	setup := xproto.Setup(x)
	if setup.ImageByteOrder != xproto.ImageOrderLSBFirst {
		return format{}, errors.New("the X server packs pixels in an order that is not supported")
	}
	var f format
	for _, p := range setup.PixmapFormats {
		if p.Depth == screen.RootDepth {
			f.bytes, f.pad = int(p.BitsPerPixel)/8, int(p.ScanlinePad)/8
		}
	}
	for _, d := range screen.AllowedDepths {
		for _, v := range d.Visuals {
			if v.VisualId == screen.RootVisual {
				f.red, f.green, f.blue = v.RedMask, v.GreenMask, v.BlueMask
			}
		}
	}
	if f.bytes < 2 || f.bytes > 4 || f.red == 0 || f.green == 0 || f.blue == 0 {
		return format{}, fmt.Errorf("a screen of %d bits is not supported", screen.RootDepth)
	}
	return f, nil
}

// unpack copies h rows to an image, from row y on.
func (f format) unpack(img *image.RGBA, y, h int, data []byte) {
	w := img.Rect.Dx()
	stride := (w*f.bytes + f.pad - 1) / f.pad * f.pad
	for row := range h {
		if (row+1)*stride > len(data) {
			return
		}
		in, out := data[row*stride:], img.Pix[(y+row)*img.Stride:]
		for i := range w {
			var v uint32
			for b := range f.bytes {
				v |= uint32(in[i*f.bytes+b]) << (8 * b)
			}
			out[4*i], out[4*i+1], out[4*i+2], out[4*i+3] = channel(v, f.red), channel(v, f.green), channel(v, f.blue), 255
		}
	}
}

// channel is one colour of a pixel, stretched to eight bits.
func channel(v, mask uint32) byte {
	shift, width := bits.TrailingZeros32(mask), bits.OnesCount32(mask)
	c := (v & mask) >> shift
	if width >= 8 {
		return byte(c >> (width - 8))
	}
	return byte(c * 255 / (1<<width - 1))
}

// portalShot takes a picture by the portal. It gives the whole desktop, of which
// a region is cut; the file that the portal made for it is removed.
func portalShot(ctx context.Context, conn *dbus.Conn, s control.Shot) ([]byte, error) {
	if conn == nil {
		return nil, chat.NewError(chat.ClassMisuse, "err.no_bus", "There is no session bus. Start perch in a desktop session.")
	}
	options := map[string]dbus.Variant{"modal": dbus.MakeVariant(false), "interactive": dbus.MakeVariant(s.What == ShotWindow)}
	results, err := portalCall(ctx, conn, screenshotIface+".Screenshot", options, "")
	switch {
	case errors.Is(err, errRefused):
		return nil, chat.NewError(chat.ClassPermission, "err.shot_refused",
			"The desktop refused the screenshot. Allow it for Perch in the desktop's privacy settings.").Wrap(err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, chat.NewError(chat.ClassTransient, "err.shot_unanswered",
			"The desktop's question about the screenshot was not answered. Try again and allow it.").Wrap(err)
	case err != nil:
		return nil, errShot(err)
	}
	uri, _ := results["uri"].Value().(string)
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return nil, errShot(fmt.Errorf("the portal's answer %q is no file", uri))
	}
	f, err := os.Open(u.Path)
	if err != nil {
		return nil, errShot(err)
	}
	defer f.Close()
	defer os.Remove(u.Path)
	img, err := png.Decode(f)
	if err != nil {
		return nil, errShot(err)
	}
	if s.What != ShotRegion {
		return encode(img)
	}
	rect := part(s, img.Bounds(), nil, image.Rectangle{}, image.Point{})
	if rect.Empty() {
		return nil, errNothingThere()
	}
	cut := image.NewRGBA(image.Rect(0, 0, rect.Dx(), rect.Dy()))
	draw.Draw(cut, cut.Bounds(), img, rect.Min, draw.Src)
	return encode(cut)
}
