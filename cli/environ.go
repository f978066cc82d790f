package cli

import (
	"sort"
	"strings"

	"perch/config"
	"perch/control"
)

// toolVariables are the variables of a client that the tools of its runs get:
// what decides which programs are found and how they speak, and nothing that
// opens a door. Names that end in * stand for all that begin so.
var toolVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "TZ",
	"LANG", "LANGUAGE", "LC_*", "EDITOR", "VISUAL", "PAGER",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "POETRY_HOME", "UV_CACHE_DIR",
	"GOPATH", "GOROOT", "GOBIN", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "GOOS", "GOARCH", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GRADLE_USER_HOME", "M2_HOME",
	"NVM_DIR", "NVM_BIN", "NODE_PATH", "NODE_ENV", "NPM_CONFIG_PREFIX", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR",
	"GEM_HOME", "GEM_PATH", "RBENV_ROOT", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "PKG_CONFIG_PATH", "MAKEFLAGS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"SystemRoot", "SYSTEMROOT", "ComSpec", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "TMP", "ProgramFiles",
}

// secretWords mark names that are never passed on, whoever lists them.
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"}

// toolEnviron picks the variables for the tools of a run. more are the names
// that the settings add; a value that holds a password in an address is left out.
func toolEnviron(environ, more []string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || secretName(name) || !listed(name, toolVariables) && !listed(name, more) || hasPassword(value) {
			continue
		}
		out[name] = value
	}
	return out
}

func listed(name string, list []string) bool {
	for _, l := range list {
		if l == name {
			return true
		}
		if prefix, ok := strings.CutSuffix(l, "*"); ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func secretName(name string) bool {
	up := strings.ToUpper(name)
	for _, w := range secretWords {
		if strings.Contains(up, w) {
			return true
		}
	}
	return false
}

// hasPassword reports an address with a name and password in it, as proxies have.
func hasPassword(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	host, _, _ := strings.Cut(rest, "/")
	return strings.Contains(host, "@")
}

// keySuffix is how vendors name the variables of their keys.
const keySuffix = "_API_KEY"

// heldKeys names the vendor variables that the client has, without values.
func heldKeys(environ []string, c config.Config) []string {
	wanted := map[string]bool{"HF_TOKEN": true, c.Web.SearchKeyEnv: true}
	for _, p := range c.Providers {
		wanted[p.APIKeyEnv] = true
	}
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name != "" && value != "" && (wanted[name] || strings.HasSuffix(name, keySuffix)) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// desktopVariables are further variables that a window needs: input methods,
// fonts and language.
var desktopVariables = []string{
	"XMODIFIERS", "GTK_IM_MODULE", "QT_IM_MODULE", "SDL_IM_MODULE", "IBUS_ADDRESS", "LANG", "LANGUAGE", "LC_*",
	"XCURSOR_THEME", "XCURSOR_SIZE", "GDK_SCALE", "FYNE_SCALE", "FYNE_THEME", "LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER",
	"DESKTOP_SESSION", "XDG_SESSION_DESKTOP", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
}

// desktopOf reads the way to the desktop from an environment.
func desktopOf(getenv func(string) string, environ []string) control.DesktopEnv {
	e := control.DesktopEnv{
		Display: getenv("DISPLAY"), WaylandDisplay: getenv("WAYLAND_DISPLAY"), XAuthority: getenv("XAUTHORITY"),
		Bus: getenv("DBUS_SESSION_BUS_ADDRESS"), SessionType: getenv("XDG_SESSION_TYPE"),
		RuntimeDir: getenv("XDG_RUNTIME_DIR"), Desktop: getenv("XDG_CURRENT_DESKTOP"),
	}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && listed(name, desktopVariables) {
			if e.Extra == nil {
				e.Extra = map[string]string{}
			}
			e.Extra[name] = value
		}
	}
	return e
}

// hasDesktop reports whether windows can be shown. Where the system has no
// display variable, it always has a desktop.
func hasDesktop(e control.DesktopEnv, goos string) bool {
	return goos == "windows" || goos == "darwin" || e.Display != "" || e.WaylandDisplay != ""
}
