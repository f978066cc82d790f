package desktop

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"testing"
)

// panels are the lightest and darkest grounds that panels have, and what their
// usual themes have.
var panels = []color.NRGBA{{R: 0xf6, G: 0xf5, B: 0xf4, A: 0xff}, {R: 0xef, G: 0xf0, B: 0xf1, A: 0xff},
	{R: 0x2b, G: 0x2b, B: 0x2b, A: 0xff}, {R: 0x1d, G: 0x20, B: 0x23, A: 0xff}, {A: 0xff}}

// luminance and contrast are those of WCAG 2.
func luminance(c color.NRGBA) float64 {
	lin := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B)
}

func contrast(a, b color.NRGBA) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestIconColoursStandOutOnLightAndDarkPanels(t *testing.T) {
	const least = 3 // WCAG's limit for graphics
	for name, c := range map[string]color.NRGBA{"bird": birdColor, "busy": busyColor, "waiting": waitingColor, "error": errorColor} {
		for _, p := range panels {
			if got := contrast(c, p); got < least {
				t.Errorf("%s on %v: contrast %.2f", name, p, got)
			}
		}
	}
}

func TestIconStatesDifferInShape(t *testing.T) {
	states := []Icon{IconIdle, IconBusy, IconWaiting, IconError}
	for i, a := range states {
		for _, b := range states[i+1:] {
			x, y := paint(a), paint(b)
			n := 0
			for p := 3; p < len(x.Pix); p += 4 { // the coverage, whatever the colour
				if x.Pix[p] > 128 != (y.Pix[p] > 128) {
					n++
				}
			}
			if share := float64(n) / (iconSize * iconSize); share < 0.03 {
				t.Errorf("%s and %s differ in %.1f %% of the icon", a, b, 100*share)
			}
		}
	}
}

// TestIconSheet writes a picture of all icons on all panels where PERCH_ICONS
// names a file.
func TestIconSheet(t *testing.T) {
	path := os.Getenv("PERCH_ICONS")
	if path == "" {
		t.Skip("set PERCH_ICONS to a file for a picture of the icons")
	}
	states := []Icon{IconIdle, IconBusy, IconWaiting, IconError}
	const cell = 80
	sheet := image.NewNRGBA(image.Rect(0, 0, cell*len(states)*2, cell*len(panels)))
	for row, p := range panels {
		draw.Draw(sheet, image.Rect(0, row*cell, sheet.Rect.Dx(), (row+1)*cell), image.NewUniform(p), image.Point{}, draw.Src)
		for col, s := range states {
			img := paint(s)
			at := image.Pt(col*cell+8, row*cell+8)
			draw.Draw(sheet, img.Bounds().Add(at), img, image.Point{}, draw.Over)
			// As panels of 24 pixels show it: averaged down.
			for y := range 24 {
				for x := range 24 {
					sheet.Set((len(states)+col)*cell+28+x, row*cell+28+y, over(average(img, x, y, 24), p))
				}
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, sheet); err != nil {
		t.Fatal(err)
	}
}

func average(img *image.NRGBA, x, y, n int) color.NRGBA {
	var r, g, b, a, count int
	for py := y * iconSize / n; py < (y+1)*iconSize/n; py++ {
		for px := x * iconSize / n; px < (x+1)*iconSize/n; px++ {
			c := img.NRGBAAt(px, py)
			r, g, b, a = r+int(c.R)*int(c.A), g+int(c.G)*int(c.A), b+int(c.B)*int(c.A), a+int(c.A)
			count++
		}
	}
	if a == 0 {
		return color.NRGBA{}
	}
	return color.NRGBA{R: uint8(r / a), G: uint8(g / a), B: uint8(b / a), A: uint8(a / count)}
}

func over(c, ground color.NRGBA) color.NRGBA {
	mix := func(x, y uint8) uint8 { return uint8((int(x)*int(c.A) + int(y)*(255-int(c.A))) / 255) }
	return color.NRGBA{R: mix(c.R, ground.R), G: mix(c.G, ground.G), B: mix(c.B, ground.B), A: 255}
}
