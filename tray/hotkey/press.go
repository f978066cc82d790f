package hotkey

import "time"

const (
	// quiet is how long a key must have been up before another press counts.
	// Key repeat arrives as up and down a few milliseconds apart, and one press
	// sent by a tool as three downs within 25 ms; nobody means two presses
	// within 150 ms.
	quiet = 150 * time.Millisecond
	// stuck is how long a key is believed to be down without a word. Repeat
	// begins within 2 s at the slowest keyboard setting; a press after that is a
	// new one whose release before it was lost.
	stuck = 3 * time.Second
)

// Presses turns downs and ups of a key into presses: however often a held key
// repeats, it was pressed once. The zero value is ready.
type Presses struct {
	held bool
	last time.Time // of the last down or up
}

// Down takes a key going down and reports whether it was pressed just now.
func (p *Presses) Down(at time.Time) bool {
	since := at.Sub(p.last)
	fresh := p.last.IsZero() || (!p.held && since >= quiet) || (p.held && since >= stuck)
	p.held, p.last = true, at
	return fresh
}

// Up takes a key going up.
func (p *Presses) Up(at time.Time) { p.held, p.last = false, at }
