//go:build unix

package snapshot

import (
	"os"
	"syscall"
)

// errNotDir says that a part of a path is no folder any more.
const errNotDir = syscall.ENOTDIR

// syncDir makes new names in a folder durable.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
