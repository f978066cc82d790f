package exec

import (
	"os"
	osexec "os/exec"
	"runtime"
	"slices"
	"strings"
)

// allowedNames are the variables that reach a child: what programs need to run
// and to speak the user's language. No display, no session bus, no agent
// sockets, nothing that is commonly a secret.
var allowedNames = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "PWD",
	"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS",
	"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "PYENV_ROOT", "PIPX_HOME",
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "NVM_DIR", "NVM_BIN", "NODE_PATH", "PNPM_HOME", "VOLTA_HOME", "BUN_INSTALL", "DENO_DIR",
	"JAVA_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "GEM_HOME", "GEM_PATH", "RBENV_ROOT", "SDKMAN_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR",
	"LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "MANPATH", "INFOPATH",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "LOCALE_ARCHIVE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	// Windows.
	"SystemRoot", "SYSTEMROOT", "ComSpec", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)", "CommonProgramFiles", "windir", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
}

// quiet are variables that keep programs from waiting for somebody: pagers,
// prompts for passwords, colours.
var quiet = []string{
	"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "NO_COLOR=1", "DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1",
}

// defaultPath serves where the environment has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Allowed keeps the variables of an environment that may reach a child. further
// names are those of the setting sandbox.env.
func Allowed(environ, further []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		switch {
		case slices.Contains(further, name):
		case strings.HasPrefix(name, "LC_"):
		case !slices.Contains(allowedNames, name):
			continue
		case strings.HasSuffix(strings.ToLower(name), "_proxy") && strings.Contains(value, "@"):
			continue // it holds a password
		}
		out = append(out, kv)
	}
	return out
}

// childEnviron is the environment of a child. Variables that the setting names
// but the client did not send come from Perch's own.
func childEnviron(environ, further []string) []string {
	out := Allowed(environ, further)
	has := func(name string) bool {
		return slices.ContainsFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	for _, name := range further {
		if v, ok := os.LookupEnv(name); ok && !has(name) {
			out = append(out, name+"="+v)
		}
	}
	if !has("PATH") {
		p := os.Getenv("PATH")
		if p == "" {
			p = defaultPath
		}
		out = append(out, "PATH="+p)
	}
	for _, name := range []string{"HOME", "USER", "LANG", "TMPDIR", "SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "TEMP", "TMP"} {
		if v := os.Getenv(name); v != "" && !has(name) {
			out = append(out, name+"="+v)
		}
	}
	if !has("HOME") && runtime.GOOS != "windows" {
		if h, err := os.UserHomeDir(); err == nil {
			out = append(out, "HOME="+h)
		}
	}
	for _, kv := range quiet {
		if name, _, _ := strings.Cut(kv, "="); !has(name) {
			out = append(out, kv)
		}
	}
	return out
}

// lookup is the value of a variable of an environment.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// shellArgv is the shell's command line. Bash is taken where there is one, since
// that is what models write and what the checks before parse; its start files
// are not read.
func shellArgv(command string, environ []string) []string {
	if runtime.GOOS == "windows" {
		shell := lookup(environ, "ComSpec")
		if shell == "" {
			shell = "cmd.exe"
		}
		return []string{shell, "/d", "/s", "/c", command}
	}
	for _, bash := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if _, err := os.Stat(bash); err == nil {
			return []string{bash, "--noprofile", "--norc", "-c", command}
		}
	}
	if bash, err := osexec.LookPath("bash"); err == nil {
		return []string{bash, "--noprofile", "--norc", "-c", command}
	}
	return []string{"/bin/sh", "-c", command}
}
