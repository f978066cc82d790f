//go:build !linux

package front

import "perch/tray/child"

// suspend does nothing: here a hidden popup is kept warm.
func suspend(*child.Process) bool { return false }

// wake has nothing to wake.
func wake(*child.Process) {}
