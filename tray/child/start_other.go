//go:build !linux

package child

import "os/exec"

// startBound starts a process. Here a helper notices the end of Perch by the
// end of its standard input alone.
func startBound(cmd *exec.Cmd) error { return cmd.Start() }
