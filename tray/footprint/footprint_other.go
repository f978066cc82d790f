//go:build !linux

package footprint

// dropProgram leaves the program's pages to the system.
func dropProgram() {}
