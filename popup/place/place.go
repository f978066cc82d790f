// Package place decides where the popup opens and speaks to the window system
// about it: the screen in use, focus taken and given back. The decision is a
// pure function; what differs between systems stands in files of its own.
package place

import "image"

// Rect is a rectangle in pixels of the whole desktop.
type Rect struct{ X, Y, W, H int }

// Point is a place in pixels of the whole desktop.
type Point struct{ X, Y int }

// Empty reports whether the rectangle has no area.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Has reports whether the point lies in the rectangle.
func (r Rect) Has(p Point) bool {
	return p.X >= r.X && p.Y >= r.Y && p.X < r.X+r.W && p.Y < r.Y+r.H
}

func (r Rect) overlap(o Rect) int {
	w := min(r.X+r.W, o.X+o.W) - max(r.X, o.X)
	h := min(r.Y+r.H, o.Y+o.H) - max(r.Y, o.Y)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h
}

// Desktop is what the decision rests on.
type Desktop struct {
	Screens []Rect
	// Work is the part of the desktop that panels leave free, empty when unknown.
	Work Rect
	// Focus is the window with the focus, empty when there is none.
	Focus Rect
	// Pointer is where the pointer is; it decides when no window has the focus.
	Pointer Point
}

// topShare is how far down a screen the popup's upper edge is: with a window
// that grows downwards, the line one reads first stays in the upper third.
const topShare = 1.0 / 6

// edge is the least distance from the edges of a screen, in pixels.
const edge = 8

// On returns where a window of w by h pixels opens: centred in the upper third of
// the screen that holds most of the focused window, or of the one with the
// pointer, never beyond what panels leave free. A window larger than that is
// moved to its corner.
func On(d Desktop, w, h int) Point {
	area := ScreenOf(d)
	if free := intersect(area, d.Work); !free.Empty() {
		area = free
	}
	p := Point{X: area.X + (area.W-w)/2, Y: area.Y + int(float64(area.H)*topShare)}
	if p.Y+h > area.Y+area.H-edge {
		p.Y = area.Y + area.H - edge - h
	}
	p.X, p.Y = max(p.X, area.X), max(p.Y, area.Y)
	return p
}

// ScreenOf is the screen in use.
func ScreenOf(d Desktop) Rect {
	if len(d.Screens) == 0 {
		if !d.Work.Empty() {
			return d.Work
		}
		return Rect{W: 1280, H: 800}
	}
	best, most := -1, 0
	if !d.Focus.Empty() {
		for i, s := range d.Screens {
			if o := s.overlap(d.Focus); o > most {
				best, most = i, o
			}
		}
	}
	if best < 0 {
		for i, s := range d.Screens {
			if s.Has(d.Pointer) {
				best = i
				break
			}
		}
	}
	return d.Screens[max(best, 0)]
}

// Room is the greatest height in pixels that the popup may grow to on the screen
// in use without leaving it.
func Room(d Desktop) int {
	area := ScreenOf(d)
	if free := intersect(area, d.Work); !free.Empty() {
		area = free
	}
	return area.H - int(float64(area.H)*topShare) - edge
}

func intersect(a, b Rect) Rect {
	x, y := max(a.X, b.X), max(a.Y, b.Y)
	return Rect{X: x, Y: y, W: min(a.X+a.W, b.X+b.W) - x, H: min(a.Y+a.H, b.Y+b.H) - y}
}

// Desk is the window system. Its methods may be called from any goroutine; each
// takes a few round trips to the display at most. Errors are reported once by
// New; later ones make the methods do nothing, since a popup at the wrong place
// is better than none.
type Desk interface {
	// Look reads screens, focus and pointer.
	Look() Desktop
	// Remember notes the window with the focus, unless it is own.
	Remember(own uintptr)
	// Previous is the remembered window, 0 for none.
	Previous() uint32
	// Dress gives a window that is not shown yet its role: no title bar, not in
	// the task bar, above others, pinned on every desktop. background is the colour, as 0xRRGGBB, of what
	// the toolkit has not painted yet.
	Dress(window uintptr, pinned bool, background uint32)
	// Raise shows a window above others with the focus, as a pager would, and
	// moves it to a place.
	Raise(window uintptr, at Point)
	// Focused reports whether a window has the focus.
	Focused(window uintptr) bool
	// Visible reports whether a window is shown.
	Visible(window uintptr) bool
	// GiveBack gives the focus to the remembered window if own still has it.
	GiveBack(own uintptr)
	// Paste presses Ctrl+V in the remembered window, once it has the focus. It
	// reports an error when that window is gone or does not take the focus.
	Paste() error
	// Move begins moving the window with the pointer.
	Move(window uintptr)
	// Picture is what a visible window shows, for the pictures of the manual.
	Picture(window uintptr) (image.Image, error)
	// Close ends the connection.
	Close()
}
