//go:build unix

package tools

import (
	"io/fs"
	"os"
	"syscall"
)

// nonBlock keeps the opening of a named pipe from waiting for a writer.
const nonBlock = syscall.O_NONBLOCK

// keepOwner gives a new file the owner of the old one, where that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
		if f.Chown(int(st.Uid), int(st.Gid)) == nil {
			f.Chmod(old.Mode().Perm()) // a change of owner may clear bits
		}
	}
}

// syncFolder makes a rename durable.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
