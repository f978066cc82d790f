//go:build !linux

package desktop

import (
	"context"
	"errors"
	"image"

	"github.com/kbinani/screenshot"

	"perch/control"
)

// screenshot takes a picture of the screen. Single windows are not told apart
// here: the first screen is taken instead.
func (r *role) screenshot(_ context.Context, s control.Shot) ([]byte, error) {
	n := screenshot.NumActiveDisplays()
	if n == 0 {
		return nil, errShot(errors.New("no screen was found"))
	}
	var monitors []image.Rectangle
	var whole image.Rectangle
	for i := range n {
		b := screenshot.GetDisplayBounds(i)
		monitors = append(monitors, b)
		whole = whole.Union(b)
	}
	if s.What == ShotWindow {
		s.What = ShotScreen
	}
	rect := part(s, whole, monitors, image.Rectangle{}, image.Point{})
	if rect.Empty() {
		return nil, errNothingThere()
	}
	img, err := screenshot.CaptureRect(rect)
	if err != nil {
		return nil, errShot(err)
	}
	return encode(img)
}
