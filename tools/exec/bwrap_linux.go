package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"perch/tools/places"
)

// bwrapPlaces are where bubblewrap is installed. The PATH is not asked: a command
// could have put a program of that name there.
var bwrapPlaces = []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

// sockets are where other programs of the user listen. Landlock does not keep a
// program from connecting to them (before its version 9), so bubblewrap takes
// them out of sight: buses, displays, agents that sign, and services that run
// containers as root. A pattern may match several.
var sockets = []string{
	"/run/user/%d", "/run/dbus", "/tmp/.X11-unix", "/tmp/.ICE-unix", "/tmp/ssh-*", "/tmp/dbus-*",
	"/run/docker.sock", "/run/containerd", "/run/podman", "/run/libvirt", "/run/cups", "/run/lxd", "/run/snapd.socket", "/run/avahi-daemon", "/run/pcscd",
}

// wanted are variables whose presence says that the user lets commands use a
// socket (through the setting sandbox.env).
var wanted = map[string][]string{
	"/tmp/.X11-unix": {"DISPLAY"}, "/tmp/.ICE-unix": {"DISPLAY"}, "/run/user/%d": {"DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"}, "/tmp/ssh-*": {"SSH_AUTH_SOCK"}, "/run/docker.sock": {"DOCKER_HOST"},
}

// findBwrap looks for a bubblewrap that works: a system may have it but not let
// an ordinary user make a namespace. The answer holds for the life of the process.
var findBwrap = sync.OnceValue(func() string {
	for _, p := range bwrapPlaces {
		if osexec.Command(p, "--dev-bind", "/", "/", "--", "/bin/true").Run() == nil {
			return p
		}
	}
	return ""
})

// hide fills in what bubblewrap hides, where there is one.
func (e *Executor) hide(s *spec) {
	if e.c.bwrap != nil {
		s.Bwrap = *e.c.bwrap
	} else {
		s.Bwrap = findBwrap()
	}
	if s.Bwrap == "" {
		return
	}
	granted := func(p string) bool {
		in := func(g string) bool { return places.Inside(p, g) || places.Inside(g, p) && g != "/tmp" }
		return slices.ContainsFunc(s.Write, in) || slices.ContainsFunc(s.Read, in) || places.Inside(p, settle(s.Dir))
	}
	add := func(p string) {
		if _, err := os.Stat(p); err == nil && !granted(p) {
			s.Hide = append(s.Hide, p)
		}
	}
	for _, pattern := range sockets {
		if slices.ContainsFunc(wanted[pattern], func(name string) bool { return lookup(s.Env, name) != "" }) {
			continue
		}
		if strings.Contains(pattern, "%d") {
			pattern = fmt.Sprintf(pattern, os.Getuid())
		}
		found, _ := filepath.Glob(pattern)
		for _, p := range found {
			add(settle(p))
		}
	}
	for _, p := range e.c.Places.Folders() {
		add(p)
	}
}

// bwrapArgs is bubblewrap's command line: everything as it is, with empty folders
// over what is hidden.
func bwrapArgs(s *spec) []string {
	args := []string{s.Bwrap, "--dev-bind", "/", "/"}
	for _, p := range s.Hide {
		if fi, err := os.Stat(p); err == nil && fi.IsDir() {
			args = append(args, "--tmpfs", p)
		} else {
			args = append(args, "--ro-bind", os.DevNull, p)
		}
	}
	return append(args, "--")
}
