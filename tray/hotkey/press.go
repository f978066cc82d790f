package hotkey

import "time"

const (
	// quiet is how long a key must have been up before another press counts.
	// Key repeat arrives as up and down a few milliseconds apart, and one press
	// sent by a tool as three downs within 25 ms; nobody means two presses
	// within 150 ms.
	quiet = 150 * time.Millisecond
	// pair is how close an up and a down may come in the wrong order: they reach
	// us on two ways. A person holds a key for 30 ms at least.
	pair = 8 * time.Millisecond
	// stuck is how long a key is believed to be down without a word. Repeat
	// begins within 2 s at the slowest keyboard setting; a press after that is a
	// new one whose release before it was lost.
	stuck = 3 * time.Second
)

// Presses turns downs and ups of a key into presses: however often a held key
// repeats, it was pressed once. An up and a down that come together are a repeat
// if the key was held, and a short press if it was not, whichever comes first.
// The zero value is ready.
type Presses struct {
	held  bool
	last  time.Time // of the last down or up that counted
	extra time.Time // of a down while held, or an up while not: half a pair
}

// Down takes a key going down and reports whether it was pressed just now.
func (p *Presses) Down(at time.Time) bool {
	since := at.Sub(p.last)
	if p.last.IsZero() {
		since = stuck
	}
	if p.held {
		p.last, p.extra = at, at
		return since >= stuck
	}
	// After its own up, this down is over already.
	p.held = p.extra.IsZero() || at.Sub(p.extra) >= pair
	p.last, p.extra = at, time.Time{}
	return since >= quiet
}

// Up takes a key going up.
func (p *Presses) Up(at time.Time) {
	switch {
	case !p.held:
		p.extra = at
	case !p.extra.IsZero() && at.Sub(p.extra) < pair:
		// The other half of a repeat: still held.
		p.last, p.extra = at, time.Time{}
	default:
		p.held, p.last, p.extra = false, at, time.Time{}
	}
}
