package place

import (
	"fmt"
	"image"
)

// None is a desk that knows nothing: the toolkit's own placement stays.
type None struct{}

var _ Desk = None{}

// Look knows no screens.
func (None) Look() Desktop { return Desktop{} }

// Remember does nothing.
func (None) Remember(uintptr) {}

// Previous is none.
func (None) Previous() uint32 { return 0 }

// Dress does nothing.
func (None) Dress(uintptr, bool, uint32) {}

// Raise does nothing.
func (None) Raise(uintptr, Point) {}

// Focused says yes: the toolkit asked for the focus.
func (None) Focused(uintptr) bool { return true }

// Visible says yes: the toolkit showed it.
func (None) Visible(uintptr) bool { return true }

// GiveBack does nothing.
func (None) GiveBack(uintptr) {}

// Paste cannot reach other windows.
func (None) Paste() error { return fmt.Errorf("paste into the window before: no X display") }

// Move does nothing.
func (None) Move(uintptr) {}

// Picture cannot see.
func (None) Picture(uintptr) (image.Image, error) {
	return nil, fmt.Errorf("take a picture of the window: no X display")
}

// Close does nothing.
func (None) Close() {}
