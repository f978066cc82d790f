package providers

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unackedLimit ends a connection whose sent bytes nobody acknowledges, in
// milliseconds: keep-alive probes are not sent while any are outstanding. It also
// rules when unanswered probes end a connection: at the first one after it, which
// with those of the transport is after 8 s.
const unackedLimit = 7_500

// dialControl sets the limit on a new socket. A kernel that refuses it only
// notices later.
func dialControl(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unackedLimit)
	})
}
