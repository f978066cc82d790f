package cli

import (
	"os"

	"perch/control"
)

// Desktop is the way to the desktop that this process was started on, and
// ToolEnviron what tools get of its environment; both for the owner.
func Desktop() control.DesktopEnv { return desktopOf(os.Getenv, os.Environ()) }

// ToolEnviron is the environment of tools where no client sends one.
func ToolEnviron() []string {
	var out []string
	for k, v := range toolEnviron(os.Environ(), nil) {
		out = append(out, k+"="+v)
	}
	return out
}
