package desktest

import (
	"sync"

	"github.com/godbus/dbus/v5"
)

const (
	notesName = "org.freedesktop.Notifications"
	notesPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// Notes is a notification service that records what it was told to show.
type Notes struct {
	r *Rig
	c *dbus.Conn

	mu    sync.Mutex // guards what follows
	notes []Note
	next  uint32
	caps  []string
}

// Note is one notification as it arrived.
type Note struct {
	ID       uint32
	Replaces uint32
	App      string
	Summary  string
	Body     string
	Actions  []string // key, label, key, label…
	Hints    map[string]dbus.Variant
}

// StartNotes starts a recorder that says it can do actions and body markup.
func (r *Rig) StartNotes() *Notes {
	r.t.Helper()
	return r.StartNotesWith("actions", "body", "body-markup")
}

// StartNotesWith starts a recorder with these capabilities.
func (r *Rig) StartNotesWith(capabilities ...string) *Notes {
	r.t.Helper()
	n := &Notes{r: r, c: r.Connect(), caps: capabilities}
	if err := n.c.Export(noteMethods{n}, notesPath, notesName); err != nil {
		r.t.Fatal(err)
	}
	rep, err := n.c.RequestName(notesName, dbus.NameFlagDoNotQueue)
	if err != nil || rep != dbus.RequestNameReplyPrimaryOwner {
		r.t.Fatalf("own %s: %v, reply %d", notesName, err, rep)
	}
	return n
}

// noteMethods are what the bus may call.
type noteMethods struct{ n *Notes }

// GetCapabilities says what this service can do.
func (m noteMethods) GetCapabilities() ([]string, *dbus.Error) { return m.n.caps, nil }

// GetServerInformation says what this service is.
func (m noteMethods) GetServerInformation() (name, vendor, version, spec string, err *dbus.Error) {
	return "recorder", "perch", "1", "1.2", nil
}

// Notify records a notification.
func (m noteMethods) Notify(app string, replaces uint32, icon, summary, body string, actions []string,
	hints map[string]dbus.Variant, timeout int32) (uint32, *dbus.Error) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.n.next++
	id := m.n.next
	if replaces != 0 {
		id = replaces
	}
	m.n.notes = append(m.n.notes, Note{ID: id, Replaces: replaces, App: app, Summary: summary, Body: body,
		Actions: actions, Hints: hints})
	return id, nil
}

// CloseNotification is obeyed by saying so.
func (m noteMethods) CloseNotification(id uint32) *dbus.Error {
	_ = m.n.c.Emit(notesPath, notesName+".NotificationClosed", id, uint32(3))
	return nil
}

// All are the notifications so far.
func (n *Notes) All() []Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Note(nil), n.notes...)
}

// WaitCount waits until count notifications have come and returns them.
func (n *Notes) WaitCount(count int) []Note {
	n.r.t.Helper()
	n.r.Wait("notifications", func() bool { return len(n.All()) >= count })
	return n.All()
}

// Invoke clicks an action of a notification.
func (n *Notes) Invoke(id uint32, action string) {
	n.r.t.Helper()
	if err := n.c.Emit(notesPath, notesName+".ActionInvoked", id, action); err != nil {
		n.r.t.Fatal(err)
	}
}

// Stop takes the service away.
func (n *Notes) Stop() { _ = n.c.Close() }
