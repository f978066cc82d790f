package desktest

import (
	"strconv"

	"github.com/godbus/dbus/v5"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Connect opens a bus connection that ends with the test.
func (r *Rig) Connect() *dbus.Conn {
	r.t.Helper()
	c, err := dbus.Connect(r.Bus)
	if err != nil {
		r.t.Fatalf("connect to the session bus: %v", err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Own opens a connection that owns a name.
func (r *Rig) Own(name string) *dbus.Conn {
	r.t.Helper()
	c := r.Connect()
	rep, err := c.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil || rep != dbus.RequestNameReplyPrimaryOwner {
		r.t.Fatalf("own %s: %v, reply %d", name, err, rep)
	}
	return c
}

// HasName reports whether somebody owns a name.
func (r *Rig) HasName(name string) bool {
	c, err := dbus.Connect(r.Bus)
	if err != nil {
		return false
	}
	defer c.Close()
	var has bool
	return c.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&has) == nil && has
}

// WaitName waits until somebody owns a name.
func (r *Rig) WaitName(name string) {
	r.t.Helper()
	r.Wait("the bus name "+name, func() bool { return r.HasName(name) })
}
