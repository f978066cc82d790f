//go:build unix

package extract

import (
	"os"
	"syscall"
)

// openRegular opens without waiting, should the path have become a pipe.
func openRegular(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
