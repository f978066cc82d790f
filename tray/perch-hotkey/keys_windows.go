package main

import (
	"strconv"
	"strings"

	xhotkey "golang.design/x/hotkey"

	"perch/tray/hotkey"
)

// virtualKeys are the virtual-key codes of winuser.h for keys whose code is not
// that of their letter.
var virtualKeys = map[string]xhotkey.Key{
	"space": 0x20, "backspace": 0x08, "tab": 0x09, "return": 0x0d, "pause": 0x13, "scrolllock": 0x91, "escape": 0x1b,
	"pageup": 0x21, "pagedown": 0x22, "end": 0x23, "home": 0x24, "left": 0x25, "up": 0x26, "right": 0x27, "down": 0x28,
	"print": 0x2c, "insert": 0x2d, "delete": 0x2e, "menu": 0x5d, "semicolon": 0xba, "equal": 0xbb, "plus": 0xbb,
	"comma": 0xbc, "minus": 0xbd, "period": 0xbe, "slash": 0xbf, "grave": 0xc0, "bracketleft": 0xdb,
	"backslash": 0xdc, "bracketright": 0xdd, "apostrophe": 0xde,
}

// firstFunctionKey is VK_F1.
const firstFunctionKey = 0x70

// codes are the library's modifiers and key for a combination.
func codes(c hotkey.Combo) ([]xhotkey.Modifier, xhotkey.Key, bool) {
	var mods []xhotkey.Modifier
	for m, x := range map[hotkey.Mods]xhotkey.Modifier{hotkey.Ctrl: xhotkey.ModCtrl, hotkey.Shift: xhotkey.ModShift,
		hotkey.Alt: xhotkey.ModAlt, hotkey.Super: xhotkey.ModWin} {
		if c.Mods&m != 0 {
			mods = append(mods, x)
		}
	}
	if k, ok := virtualKeys[c.Key]; ok {
		return mods, k, true
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(c.Key, "f")); err == nil && strings.HasPrefix(c.Key, "f") {
		return mods, xhotkey.Key(firstFunctionKey + n - 1), true
	}
	if len(c.Key) == 1 {
		return mods, xhotkey.Key(strings.ToUpper(c.Key)[0]), true
	}
	return nil, 0, false
}

// keycode is not 0: Windows takes keys by their virtual code on every layout.
func keycode(hotkey.Combo) int { return 1 }

// watchLayout tells nothing here, for the same reason.
func watchLayout() *layouts { return &layouts{} }
