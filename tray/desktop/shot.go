package desktop

import (
	"bytes"
	"image"
	"image/png"

	"perch/chat"
	"perch/control"
)

// What a [control.Shot] can ask for.
const (
	ShotScreen = "screen" // the monitor in use
	ShotAll    = "all"    // all monitors
	ShotWindow = "window"
	ShotRegion = "region"
)

// part is the rectangle of the whole desktop that a shot asks for, cut to it.
// window is the asked or active window with its frame, pointer where the mouse
// is; an empty result means that there is nothing to take.
func part(s control.Shot, whole image.Rectangle, monitors []image.Rectangle, window image.Rectangle, pointer image.Point) image.Rectangle {
	switch s.What {
	case ShotAll:
		return whole
	case ShotWindow:
		return window.Intersect(whole)
	case ShotRegion:
		x, y, w, h := s.Rect[0], s.Rect[1], s.Rect[2], s.Rect[3]
		return image.Rect(x, y, x+w, y+h).Intersect(whole)
	}
	return monitorOf(monitors, window, pointer, whole).Intersect(whole)
}

// monitorOf is the monitor in use: the one with most of the active window, else
// the one under the mouse, else the first, else everything.
func monitorOf(monitors []image.Rectangle, window image.Rectangle, pointer image.Point, whole image.Rectangle) image.Rectangle {
	best, area := image.Rectangle{}, 0
	for _, m := range monitors {
		i := m.Intersect(window)
		if a := i.Dx() * i.Dy(); a > area {
			best, area = m, a
		}
	}
	if area > 0 {
		return best
	}
	for _, m := range monitors {
		if pointer.In(m) {
			return m
		}
	}
	if len(monitors) > 0 {
		return monitors[0]
	}
	return whole
}

// encode writes a picture as PNG, fast: it is read once by a model or a person.
func encode(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(&b, img); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// errNothingThere says that the part asked for is outside the screen.
func errNothingThere() error {
	return chat.NewError(chat.ClassMisuse, "err.shot_empty",
		"There is nothing on the screen to take a picture of there. Choose the screen or another region.")
}

func errShot(err error) error {
	return chat.NewError(chat.ClassMisuse, "err.shot_failed",
		"The screenshot failed: %v. Run perch doctor to see what is missing.", err).Wrap(err)
}
