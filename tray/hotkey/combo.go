// Package hotkey is the global hotkey as Perch sees it: the names of key
// combinations, the rule that makes one press of them one toggle, and the
// supervision of perch-hotkey, the process that holds the grab.
//
// The package needs neither cgo nor a display. A hotkey that cannot be had is a
// state with a sentence that says what to do, never a failure of anything else.
package hotkey

import (
	"fmt"
	"strings"

	"perch/chat"
)

// Mods are modifier keys.
type Mods uint8

// The modifier keys. Alt is Mod1 and Super is Mod4 under X11.
const (
	Ctrl Mods = 1 << iota
	Shift
	Alt
	Super
)

// modNames are the accepted names; the first of each is the one written.
var modNames = []struct {
	mod   Mods
	names []string
}{
	{Ctrl, []string{"ctrl", "control", "strg"}},
	{Shift, []string{"shift"}},
	{Alt, []string{"alt", "option", "mod1"}},
	{Super, []string{"super", "win", "meta", "cmd", "mod4"}},
}

// x11Masks are the bits of X.h.
var x11Masks = map[Mods]uint32{Shift: 1 << 0, Ctrl: 1 << 2, Alt: 1 << 3, Super: 1 << 6}

// Combo is a key combination. The zero value is none: the hotkey is off.
type Combo struct {
	Mods Mods
	Key  string // a name of the table of keys
}

// Parse reads a combination such as "ctrl+shift+space". "" is none. The error
// names the part that is wrong.
func Parse(s string) (Combo, error) {
	if strings.TrimSpace(s) == "" {
		return Combo{}, nil
	}
	var c Combo
	for _, part := range strings.Split(s, "+") {
		name := strings.ToLower(strings.TrimSpace(part))
		if name == "" {
			return Combo{}, chat.NewError(chat.ClassMisuse, "err.hotkey_empty_part",
				"The hotkey %q has a + with nothing beside it. Write it like ctrl+shift+space; the key + itself is called plus.", s)
		}
		if m, ok := modByName(name); ok {
			c.Mods |= m
			continue
		}
		if alias, ok := keyAliases[name]; ok {
			name = alias
		}
		if _, ok := keysyms[name]; !ok {
			return Combo{}, chat.NewError(chat.ClassMisuse, "err.hotkey_unknown_key",
				"The hotkey %q has an unknown key %q. Use letters, digits, f1 to f20, or names such as space, insert, pause; modifiers are ctrl, shift, alt and super.", s, part)
		}
		if c.Key != "" {
			return Combo{}, chat.NewError(chat.ClassMisuse, "err.hotkey_two_keys",
				"The hotkey %q has two keys, %q and %q. Use modifiers (ctrl, shift, alt, super) and one key.", s, c.Key, name)
		}
		c.Key = name
	}
	if c.Key == "" {
		return Combo{}, chat.NewError(chat.ClassMisuse, "err.hotkey_no_key",
			"The hotkey %q has modifiers only. Add a key, such as space.", s)
	}
	if c.Mods&^Shift == 0 && !alone[c.Key] {
		return Combo{}, chat.NewError(chat.ClassMisuse, "err.hotkey_types",
			"The hotkey %q would take a key that is needed for typing. Add ctrl, alt or super.", s)
	}
	return c, nil
}

func modByName(name string) (Mods, bool) {
	for _, m := range modNames {
		for _, n := range m.names {
			if n == name {
				return m.mod, true
			}
		}
	}
	return 0, false
}

// String writes the combination as the settings have it.
func (c Combo) String() string {
	if c.Key == "" {
		return ""
	}
	var parts []string
	for _, m := range modNames {
		if c.Mods&m.mod != 0 {
			parts = append(parts, m.names[0])
		}
	}
	return strings.Join(append(parts, c.Key), "+")
}

// Label writes the combination as people do: Ctrl+Shift+Space.
func (c Combo) Label() string {
	parts := strings.Split(c.String(), "+")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "+")
}

// Keysym is the X11 keysym of the key.
func (c Combo) Keysym() uint32 { return keysyms[c.Key] }

// X11Mods is the X11 modifier mask.
func (c Combo) X11Mods() uint32 {
	var mask uint32
	for m, bit := range x11Masks {
		if c.Mods&m != 0 {
			mask |= bit
		}
	}
	return mask
}

// PortalTrigger is the combination in the format of the shortcuts
// specification: CTRL, SHIFT, ALT and LOGO with + before an xkb key name.
func (c Combo) PortalTrigger() string {
	var parts []string
	for _, m := range []struct {
		mod  Mods
		name string
	}{{Ctrl, "CTRL"}, {Shift, "SHIFT"}, {Alt, "ALT"}, {Super, "LOGO"}} {
		if c.Mods&m.mod != 0 {
			parts = append(parts, m.name)
		}
	}
	return strings.Join(append(parts, xkbName(c.Key)), "+")
}

// xkbName is the key's name in xkbcommon-keysyms.h without its prefix.
func xkbName(key string) string {
	if n, ok := xkbNames[key]; ok {
		return n
	}
	if strings.HasPrefix(key, "f") && len(key) > 1 {
		return strings.ToUpper(key)
	}
	return key
}

// keyAliases are other names of keys.
var keyAliases = map[string]string{
	"enter": "return", "esc": "escape", "del": "delete", "ins": "insert", "pgup": "pageup", "pgdn": "pagedown",
	"pgdown": "pagedown", "printscreen": "print", "break": "pause", "`": "grave", "-": "minus", "=": "equal",
	",": "comma", ".": "period", "/": "slash", ";": "semicolon", "'": "apostrophe", "[": "bracketleft",
	"]": "bracketright", "\\": "backslash", "leertaste": "space",
}

// keysyms are the keys by name with their codes of X11's keysymdef.h.
var keysyms = map[string]uint32{
	"space": 0x20, "apostrophe": 0x27, "plus": 0x2b, "comma": 0x2c, "minus": 0x2d, "period": 0x2e, "slash": 0x2f,
	"semicolon": 0x3b, "equal": 0x3d, "bracketleft": 0x5b, "backslash": 0x5c, "bracketright": 0x5d, "grave": 0x60,
	"backspace": 0xff08, "tab": 0xff09, "return": 0xff0d, "pause": 0xff13, "scrolllock": 0xff14, "escape": 0xff1b,
	"home": 0xff50, "left": 0xff51, "up": 0xff52, "right": 0xff53, "down": 0xff54, "pageup": 0xff55,
	"pagedown": 0xff56, "end": 0xff57, "print": 0xff61, "insert": 0xff63, "menu": 0xff67, "delete": 0xffff,
}

// xkbNames are names that are not spelled as here.
var xkbNames = map[string]string{
	"backspace": "BackSpace", "tab": "Tab", "return": "Return", "pause": "Pause", "scrolllock": "Scroll_Lock",
	"escape": "Escape", "home": "Home", "left": "Left", "up": "Up", "right": "Right", "down": "Down",
	"pageup": "Page_Up", "pagedown": "Page_Down", "end": "End", "print": "Print", "insert": "Insert",
	"menu": "Menu", "delete": "Delete",
}

// alone are keys that may be a hotkey without a modifier: nobody types with them.
var alone = map[string]bool{"pause": true, "scrolllock": true, "print": true, "menu": true}

func init() {
	for c := 'a'; c <= 'z'; c++ {
		keysyms[string(c)] = uint32(c)
	}
	for c := '0'; c <= '9'; c++ {
		keysyms[string(c)] = uint32(c)
	}
	for n := range 20 {
		name := fmt.Sprintf("f%d", n+1)
		keysyms[name] = 0xffbe + uint32(n)
		alone[name] = true
	}
}
