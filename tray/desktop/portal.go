package desktop

import "perch/chat"

// errNoShortcuts says that the desktop has no portal for hotkeys.
func errNoShortcuts() error {
	return chat.NewError(chat.ClassMisuse, "err.hotkey_wayland",
		"This Wayland desktop lets no program bind a hotkey. Bind a key to the command perch toggle in the desktop's keyboard settings.")
}
