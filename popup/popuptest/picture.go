package popuptest

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// Picture is a PNG with a soft gradient, for where a screenshot would be.
func Picture(w, h int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.RGBA{R: uint8(40 + 120*x/w), G: uint8(110 + 90*y/h), B: 140, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil
	}
	return b.Bytes()
}
