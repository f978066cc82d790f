package bolt

import (
	"runtime/debug"
	"unsafe"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// releasePages takes the file's pages out of this process's memory. They are
// shared, read-only and backed by the file, so the kernel reads them again when
// they are needed.
func releasePages(db *bbolt.DB) {
	debug.FreeOSMemory()
	_ = db.View(func(tx *bbolt.Tx) error { // the map stays put while a transaction is open
		info := db.Info()
		if info == nil || info.Data == 0 {
			return nil
		}
		size := int(tx.Size())
		//nolint:govet // the address is of a mapping, not of Go's memory
		p := *(*unsafe.Pointer)(unsafe.Pointer(&info.Data))
		_ = unix.Madvise(unsafe.Slice((*byte)(p), size), unix.MADV_DONTNEED)
		return nil
	})
}
