package desktop

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// Icon is a state of the tray icon.
type Icon string

// The states of the icon.
const (
	IconIdle    Icon = "idle"
	IconBusy    Icon = "busy"
	IconWaiting Icon = "waiting"
	IconError   Icon = "error"
)

const (
	// iconSize is the icon's side in pixels: panels are 16 to 48 high, at twice
	// the scale too, and scale down well.
	iconSize = 64
	// samples a side are taken of each pixel for smooth edges.
	samples = 4
)

// The colours are of middle lightness, so that they stand out by 3:1 at least on
// light and on dark panels alike; a test holds that. The states differ in shape
// as well, for those who do not see the colours apart.
var (
	birdColor    = color.NRGBA{R: 0x12, G: 0x96, B: 0x8f, A: 0xff}
	busyColor    = color.NRGBA{R: 0x2a, G: 0x7d, B: 0xd6, A: 0xff}
	waitingColor = color.NRGBA{R: 0xc7, G: 0x63, B: 0x12, A: 0xff}
	errorColor   = color.NRGBA{R: 0xdc, G: 0x3f, B: 0x3f, A: 0xff}
)

// shape says whether a point is inside; the icon is the square from 0 to 1.
type shape func(x, y float64) bool

func ellipse(cx, cy, rx, ry, turn float64) shape {
	sin, cos := math.Sincos(turn)
	return func(x, y float64) bool {
		x, y = x-cx, y-cy
		u, v := (x*cos+y*sin)/rx, (y*cos-x*sin)/ry
		return u*u+v*v <= 1
	}
}

func circle(cx, cy, r float64) shape { return ellipse(cx, cy, r, r, 0) }

func box(x0, y0, x1, y1 float64) shape {
	return func(x, y float64) bool { return x >= x0 && x <= x1 && y >= y0 && y <= y1 }
}

func triangle(ax, ay, bx, by, cx, cy float64) shape {
	side := func(px, py, qx, qy, x, y float64) bool { return (qx-px)*(y-py)-(qy-py)*(x-px) >= 0 }
	return func(x, y float64) bool {
		a, b, c := side(ax, ay, bx, by, x, y), side(bx, by, cx, cy, x, y), side(cx, cy, ax, ay, x, y)
		return a == b && b == c
	}
}

func union(shapes ...shape) shape {
	return func(x, y float64) bool {
		for _, s := range shapes {
			if s(x, y) {
				return true
			}
		}
		return false
	}
}

func minus(a, b shape) shape { return func(x, y float64) bool { return a(x, y) && !b(x, y) } }

// bird is a bird that sits on a perch and looks to the left.
var bird = minus(union(
	ellipse(0.54, 0.49, 0.30, 0.23, 0.62),                    // body
	circle(0.35, 0.27, 0.175),                                // head
	triangle(0.20, 0.20, 0.20, 0.35, 0.03, 0.29),             // beak
	triangle(0.62, 0.56, 0.74, 0.45, 0.99, 0.80),             // tail
	box(0.44, 0.66, 0.48, 0.83), box(0.54, 0.66, 0.58, 0.83), // legs
	box(0.04, 0.80, 0.90, 0.89), // perch
), circle(0.31, 0.24, 0.045)) // eye

// The badge sits in the lower right corner, in a gap cut out of the bird.
const badgeX, badgeY, badgeR, badgeGap = 0.745, 0.745, 0.235, 0.06

// badges are the marks of the states, in shape and colour.
var badges = map[Icon]struct {
	shape shape
	color color.NRGBA
}{
	IconBusy: {union(circle(badgeX-0.16, badgeY, 0.07), circle(badgeX+0.01, badgeY, 0.07), circle(badgeX+0.18, badgeY, 0.07)), busyColor},
	IconWaiting: {minus(circle(badgeX, badgeY, badgeR),
		union(box(badgeX-0.035, badgeY-0.15, badgeX+0.035, badgeY+0.03), circle(badgeX, badgeY+0.12, 0.045))), waitingColor},
	IconError: {minus(triangle(badgeX, badgeY-0.27, badgeX+0.25, badgeY+0.22, badgeX-0.25, badgeY+0.22),
		union(box(badgeX-0.03, badgeY-0.09, badgeX+0.03, badgeY+0.07), circle(badgeX, badgeY+0.14, 0.035))), errorColor},
}

// paint draws an icon.
func paint(state Icon) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, iconSize, iconSize))
	body := bird
	badge, marked := badges[state]
	if marked {
		body = minus(bird, circle(badgeX, badgeY, badgeR+badgeGap))
	}
	for py := range iconSize {
		for px := range iconSize {
			inBody, inBadge := 0, 0
			for s := range samples * samples {
				x := (float64(px) + (float64(s%samples)+0.5)/samples) / iconSize
				y := (float64(py) + (float64(s/samples)+0.5)/samples) / iconSize
				switch {
				case marked && badge.shape(x, y):
					inBadge++
				case body(x, y):
					inBody++
				}
			}
			if c, n := birdColor, inBody; n > 0 || inBadge > 0 {
				if inBadge > n {
					c = badge.color
				}
				c.A = uint8(255 * (inBody + inBadge) / (samples * samples))
				img.SetNRGBA(px, py, c)
			}
		}
	}
	return img
}

// iconPNG is an icon as PNG.
func iconPNG(state Icon) []byte {
	var b bytes.Buffer
	// Encoding into memory cannot fail.
	_ = png.Encode(&b, paint(state))
	return b.Bytes()
}
