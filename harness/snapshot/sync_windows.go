package snapshot

import "syscall"

// errNotDir says that a part of a path is no folder any more.
const errNotDir = syscall.ERROR_PATH_NOT_FOUND

// syncDir does nothing: folders cannot be synced.
func syncDir(string) {}
