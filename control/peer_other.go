//go:build !linux

package control

import "net"

// samePeer relies on the folder's permissions: there is no portable way to ask
// for the process at the other end.
func samePeer(net.Conn) bool { return true }
