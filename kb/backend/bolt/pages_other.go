//go:build !linux

package bolt

import (
	"runtime/debug"

	"go.etcd.io/bbolt"
)

func releasePages(*bbolt.DB) { debug.FreeOSMemory() }
