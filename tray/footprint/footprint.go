// Package footprint keeps a process small that has nothing to do.
package footprint

import "runtime/debug"

// Trim gives back memory that the process needed once: garbage, and those pages
// of the program itself that were only read while it started. The kernel would
// take both under pressure; an idle process does not wait for that. What is
// needed again comes back from the page cache by itself.
func Trim() {
	debug.FreeOSMemory()
	dropProgram()
}
