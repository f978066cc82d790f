package popup

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"perch/popup/look"
)

// cropper shows a picture of the screen to draw a rectangle on: the region that
// is attached. It works alike wherever a picture can be taken.
type cropper struct {
	widget.BaseWidget
	pic    image.Image
	image  *canvas.Image
	frame  *canvas.Rectangle
	a, b   fyne.Position
	begun  bool
	chosen bool
}

var (
	_ fyne.Draggable     = (*cropper)(nil)
	_ desktop.Mouseable  = (*cropper)(nil)
	_ desktop.Cursorable = (*cropper)(nil)
)

func newCropper(pic image.Image) *cropper {
	c := &cropper{pic: pic, image: canvas.NewImageFromImage(pic), frame: canvas.NewRectangle(color.Transparent)}
	c.image.FillMode, c.image.ScaleMode = canvas.ImageFillStretch, canvas.ImageScaleSmooth
	c.frame.StrokeWidth = 2
	c.frame.Hide()
	c.ExtendBaseWidget(c)
	return c
}

// area is where the picture stands in the widget.
func (c *cropper) area() (at fyne.Position, size fyne.Size) {
	s, b := c.Size(), c.pic.Bounds()
	k := min(s.Width/float32(b.Dx()), s.Height/float32(b.Dy()))
	size = fyne.NewSize(float32(b.Dx())*k, float32(b.Dy())*k)
	return fyne.NewPos((s.Width-size.Width)/2, (s.Height-size.Height)/2), size
}

// Cursor is a crosshair.
func (c *cropper) Cursor() desktop.Cursor { return desktop.CrosshairCursor }

// MouseDown begins a rectangle.
func (c *cropper) MouseDown(e *desktop.MouseEvent) {
	c.a, c.b, c.begun, c.chosen = e.Position, e.Position, true, false
	c.Refresh()
}

// MouseUp ends the press.
func (c *cropper) MouseUp(*desktop.MouseEvent) { c.begun = false }

// Dragged draws the rectangle.
func (c *cropper) Dragged(e *fyne.DragEvent) {
	c.b, c.chosen = e.Position, true
	c.Refresh()
}

// DragEnd leaves the rectangle.
func (c *cropper) DragEnd() {}

// region is what was chosen, in pixels of the picture: all of it when nothing
// was drawn.
func (c *cropper) region() image.Rectangle {
	at, size := c.area()
	return regionOf(c.pic.Bounds(), at, size, c.a, c.b, c.chosen)
}

// leastRegion is the smallest side of a region in pixels; less is a slip.
const leastRegion = 8

func regionOf(bounds image.Rectangle, at fyne.Position, size fyne.Size, a, b fyne.Position, chosen bool) image.Rectangle {
	if !chosen || size.Width <= 0 {
		return bounds
	}
	k := float32(bounds.Dx()) / size.Width
	point := func(p fyne.Position) image.Point {
		return image.Pt(int((p.X-at.X)*k+0.5), int((p.Y-at.Y)*k+0.5)).Add(bounds.Min)
	}
	r := image.Rectangle{Min: point(a), Max: point(b)}.Canon().Intersect(bounds)
	if r.Dx() < leastRegion || r.Dy() < leastRegion {
		return bounds
	}
	return r
}

// CreateRenderer draws picture and rectangle.
func (c *cropper) CreateRenderer() fyne.WidgetRenderer { return &cropRenderer{c} }

type cropRenderer struct{ c *cropper }

func (r *cropRenderer) Layout(fyne.Size) {
	at, size := r.c.area()
	r.c.image.Move(at)
	r.c.image.Resize(size)
}
func (r *cropRenderer) MinSize() fyne.Size { return fyne.NewSize(200, 200) }
func (r *cropRenderer) Refresh() {
	r.c.frame.StrokeColor = look.Color(theme.ColorNamePrimary)
	r.c.frame.FillColor = look.Color(look.Marked)
	r.c.frame.Hidden = !r.c.chosen
	x, y := min(r.c.a.X, r.c.b.X), min(r.c.a.Y, r.c.b.Y)
	r.c.frame.Move(fyne.NewPos(x, y))
	r.c.frame.Resize(fyne.NewSize(max(r.c.a.X, r.c.b.X)-x, max(r.c.a.Y, r.c.b.Y)-y))
	r.c.frame.Refresh()
	canvas.Refresh(r.c)
}
func (r *cropRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.c.image, r.c.frame}
}
func (r *cropRenderer) Destroy() {}

// chooseRegion shows a picture to choose a region of, and attaches that.
func (u *ui) chooseRegion(data []byte) {
	p := u.p
	pic, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.fail(err)
		return
	}
	c := newCropper(pic)
	use := func() {
		out, err := cut(pic, c.region())
		u.closePage()
		if err != nil {
			p.fail(err)
			return
		}
		ic, err := imageChip(out, p.t("popup.chip.screenshot"), "camera", "screenshot")
		if err != nil {
			p.fail(err)
			return
		}
		p.attachChip(ic)
	}
	foot := container.NewBorder(nil, nil, nil, newButton("check", p.t("popup.region.use"), true, use), newCaption(p.t("popup.region.explain"), look.Muted))
	u.openPage(&page{title: p.t("popup.attach.region"), object: container.New(&insetLayout{look.Edge, look.Unit}, container.NewBorder(nil, foot, nil, nil, c))})
}

// cut is a region of a picture as PNG.
func cut(pic image.Image, r image.Rectangle) ([]byte, error) {
	out := image.NewNRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
	draw.Draw(out, out.Bounds(), pic, r.Min, draw.Src)
	var b bytes.Buffer
	err := png.Encode(&b, out)
	return b.Bytes(), err
}
