package hotkey

import (
	"strings"
	"time"

	"perch/chat"
)

// Binding is a combination with the name under which its presses are told.
type Binding struct {
	ID    string // [Toggle] or "prompt:NAME"
	Combo string // as in the settings
	// Label says to the user what the combination does, for the desktop's own
	// dialog.
	Label string
}

// Toggle is the id of the hotkey that shows and hides the popup.
const Toggle = "toggle"

// PromptID is the id of a prompt action's hotkey.
func PromptID(name string) string { return "prompt:" + name }

// Events of perch-hotkey.
const (
	Ready   = "ready"   // the combination is held
	Pressed = "pressed" // it was pressed
	Taken   = "taken"   // another program holds it; perch-hotkey goes on trying
	Problem = "problem" // it cannot be had, Text says why
)

// Event is one line that perch-hotkey writes.
type Event struct {
	Event string `json:"event"`
	ID    string `json:"id,omitempty"`
	// Time is when the key went down.
	Time time.Time   `json:"time,omitzero"`
	Err  *chat.Error `json:"error,omitempty"`
}

// Args writes bindings as perch-hotkey's arguments.
func Args(bs []Binding) []string {
	var out []string
	for _, b := range bs {
		out = append(out, b.ID+"="+b.Combo)
	}
	return out
}

// ParseArgs reads perch-hotkey's arguments: ID=COMBO, or COMBO for [Toggle].
func ParseArgs(args []string) []Binding {
	var out []Binding
	for _, a := range args {
		b := Binding{ID: Toggle, Combo: a}
		// A combination has no = in it, a name may: the last one divides.
		if i := strings.LastIndex(a, "="); i >= 0 {
			b = Binding{ID: a[:i], Combo: a[i+1:]}
		}
		out = append(out, b)
	}
	return out
}
