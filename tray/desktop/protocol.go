package desktop

import (
	"encoding/json"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/hotkey"
)

// Calls from owner to role.
const (
	callMenu      = "menu"
	callRead      = "read_clipboard"
	callSelection = "read_selection"
	callWrite     = "write_clipboard"
	callShot      = "screenshot"
	callNotify    = "notify"
	callShortcuts = "bind_shortcuts"
)

// request is one line from owner to role.
type request struct {
	ID   int64           `json:"id"`
	Call string          `json:"call"`
	Arg  json.RawMessage `json:"arg,omitempty"`
}

// line is one line from role to owner: a reply or an event.
type line struct {
	ID     int64           `json:"id,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *chat.Error     `json:"error,omitempty"`
	Event  *Event          `json:"event,omitempty"`
}

// Kinds of [Event].
const (
	Up             = "up"        // the role works
	Action         = "action"    // something was clicked, Action says what
	Opened         = "opened"    // the menu is being opened
	Shortcut       = "shortcut"  // a portal hotkey was pressed
	Owns           = "owns"      // On: whether Perch's content is on the clipboard
	TrayShown      = "tray"      // On: whether a tray host shows the icon
	ShortcutsEnded = "shortcuts" // the portal let the hotkeys go
)

// Event is what happened on the desktop.
type Event struct {
	Kind string `json:"kind"`
	// Action and Arg are those of the menu entry, of [ClickIcon] or [ClickNote].
	Action string    `json:"action,omitempty"`
	Arg    string    `json:"arg,omitempty"`
	On     bool      `json:"on,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// Actions that are no menu entries.
const (
	ClickIcon = "icon"         // the icon itself was clicked
	ClickNote = "notification" // Arg is the session of the notification
)

// Menu is what the tray shows, whole.
type Menu struct {
	Icon    Icon    `json:"icon"`
	Name    string  `json:"name"`
	ToolTip string  `json:"tool_tip"`
	Entries []Entry `json:"entries"`
}

// Entry is one line of the tray's menu.
type Entry struct {
	Label  string `json:"label,omitempty"`
	Action string `json:"action,omitempty"`
	Arg    string `json:"arg,omitempty"`
	// A separator has nothing else set.
	Separator bool `json:"separator,omitempty"`
	Checkable bool `json:"checkable,omitempty"`
	Checked   bool `json:"checked,omitempty"`
	Disabled  bool `json:"disabled,omitempty"`
}

// Note is a notification.
type Note struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	// Session is told back by a click, and replaces its own older notification.
	Session string `json:"session,omitempty"`
	// Open labels the action, where the desktop has actions.
	Open string `json:"open,omitempty"`
}

// write is the argument of callWrite.
type write struct {
	Clip control.Clip `json:"clip"`
	// OnlyIfFree leaves the clipboard alone when somebody owns it: content that a
	// lost role owned is put back, but never over what was copied since.
	OnlyIfFree bool `json:"only_if_free,omitempty"`
}

// shortcuts is the argument of callShortcuts.
type shortcuts struct {
	Bindings []hotkey.Binding `json:"bindings"`
}
