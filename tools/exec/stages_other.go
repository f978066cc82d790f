//go:build !linux

package exec

import "perch/config"

// SupervisorMain has no work here: the stages exist on Linux only.
func SupervisorMain([]string) int { return 2 }

// ConfineMain has no work here: the stages exist on Linux only.
func ConfineMain([]string) int { return 2 }

// noLandlock says why nothing is confined.
const noLandlock = "this system has no Landlock"

// landlockVersion is 0: only Linux has Landlock.
func landlockVersion() int { return 0 }

// allow has nothing to fill in where nothing confines.
func (e *Executor) allow(*spec, Command, config.Sandbox) {}
