package child

import (
	"os"
	"sort"
	"strings"

	"perch/control"
)

// passed are the variables of Perch itself that a helper gets: places, language
// and what makes programs find each other. Nothing that may hold a key is in it.
var passed = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR", "PERCH_HOME",
	"LANG", "LANGUAGE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	"XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH", "GOCOVERDIR",
	"SystemRoot", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "TMP",
}

// passedPrefixes are beginnings of such names: locale, and the graphics and
// window libraries' own settings.
var passedPrefixes = []string{"LC_", "LIBGL_", "MESA_", "FYNE_", "GTK_", "QT_", "GDK_", "XCURSOR_", "IBUS_", "FCITX_"}

// Environ is the environment of a helper on a desktop: a short list from
// Perch's own, and what leads to that desktop.
func Environ(env control.DesktopEnv) []string { return environ(os.Environ(), env) }

func environ(own []string, env control.DesktopEnv) []string {
	set := map[string]string{}
	for _, kv := range own {
		if name, value, ok := strings.Cut(kv, "="); ok && passes(name) {
			set[name] = value
		}
	}
	for name, value := range env.Extra {
		// A client may be any program that holds the token: it chooses language
		// and input method, and loads no code into a helper.
		if clientMay(name) {
			set[name] = value
		}
	}
	for name, value := range map[string]string{
		"DISPLAY": env.Display, "WAYLAND_DISPLAY": env.WaylandDisplay, "XAUTHORITY": env.XAuthority,
		"DBUS_SESSION_BUS_ADDRESS": env.Bus, "XDG_SESSION_TYPE": env.SessionType,
		"XDG_RUNTIME_DIR": env.RuntimeDir, "XDG_CURRENT_DESKTOP": env.Desktop,
	} {
		if value != "" {
			set[name] = value
		}
	}
	out := make([]string, 0, len(set))
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}

// passes reports whether a variable may reach a helper.
func passes(name string) bool {
	for _, p := range passed {
		if name == p {
			return true
		}
	}
	for _, p := range passedPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// clientMay reports whether a client may set a variable: locale, input method,
// cursor and scale.
func clientMay(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "XMODIFIERS", "XIM", "GTK_IM_MODULE", "QT_IM_MODULE", "QT_IM_MODULES",
		"GDK_SCALE", "GDK_DPI_SCALE", "QT_SCALE_FACTOR", "FYNE_SCALE", "FYNE_THEME", "DESKTOP_SESSION":
		return true
	}
	for _, p := range []string{"LC_", "XCURSOR_", "IBUS_", "FCITX_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
