package desktest

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const (
	portalName = "org.freedesktop.portal.Desktop"
	portalPath = dbus.ObjectPath("/org/freedesktop/portal/desktop")
)

// Answers of a [Portal] to a request.
const (
	Grants  = 0
	Refuses = 1
	Waits   = -1 // for ever, as a dialog that nobody sees
)

// Portal is a desktop portal with screenshots and global shortcuts. As the real
// one does, it opens the root folder of the process that calls it to find out
// what it is, and refuses one that does not let it.
type Portal struct {
	r *Rig
	c *dbus.Conn

	mu       sync.Mutex // guards what follows
	picture  string     // the file that a screenshot gives
	answer   int
	bound    []string // "id trigger", of the newest binding
	sessions []dbus.ObjectPath
	closed   int
	refused  []string
}

// StartPortal starts a portal that grants everything. It is the portal of a
// Wayland desktop; the rig's X server stays what it is.
func (r *Rig) StartPortal() *Portal {
	r.t.Helper()
	p := &Portal{r: r, c: r.Connect()}
	props := prop.Map{
		"org.freedesktop.portal.Screenshot":      {"version": {Value: uint32(2)}},
		"org.freedesktop.portal.GlobalShortcuts": {"version": {Value: uint32(1)}},
	}
	if _, err := prop.Export(p.c, portalPath, props); err != nil {
		r.t.Fatal(err)
	}
	for _, iface := range []string{"org.freedesktop.portal.Screenshot", "org.freedesktop.portal.GlobalShortcuts"} {
		if err := p.c.Export(portalMethods{p}, portalPath, iface); err != nil {
			r.t.Fatal(err)
		}
	}
	rep, err := p.c.RequestName(portalName, dbus.NameFlagDoNotQueue)
	if err != nil || rep != dbus.RequestNameReplyPrimaryOwner {
		r.t.Fatalf("own %s: %v, reply %d", portalName, err, rep)
	}
	return p
}

// Stop takes the portal away, as a crash does.
func (p *Portal) Stop() { _ = p.c.Close() }

// Answer sets what requests are answered with from now on.
func (p *Portal) Answer(a int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = a
}

// Give sets the PNG file that a screenshot gives.
func (p *Portal) Give(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture = path
}

// Bound are the shortcuts of the newest binding, as "id trigger".
func (p *Portal) Bound() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.bound...)
}

// Closed is how many sessions and requests the callers closed.
func (p *Portal) Closed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Refused are the callers that did not let the portal look into them, and why.
func (p *Portal) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.refused...)
}

// Press tells that a shortcut was pressed.
func (p *Portal) Press(id string) {
	p.r.t.Helper()
	p.mu.Lock()
	session := p.sessions[len(p.sessions)-1]
	p.mu.Unlock()
	err := p.c.Emit(portalPath, "org.freedesktop.portal.GlobalShortcuts.Activated", session, id, uint64(1), map[string]dbus.Variant{})
	if err != nil {
		p.r.t.Fatal(err)
	}
}

// EndSession tells that the newest session has ended.
func (p *Portal) EndSession() {
	p.r.t.Helper()
	p.mu.Lock()
	session := p.sessions[len(p.sessions)-1]
	p.mu.Unlock()
	if err := p.c.Emit(session, "org.freedesktop.portal.Session.Closed", map[string]dbus.Variant{}); err != nil {
		p.r.t.Fatal(err)
	}
}

// check looks into the calling process.
func (p *Portal) check(sender dbus.Sender) *dbus.Error {
	var pid uint32
	if err := p.c.BusObject().Call("org.freedesktop.DBus.GetConnectionUnixProcessID", 0, string(sender)).Store(&pid); err != nil {
		return dbus.MakeFailedError(err)
	}
	root, err := os.Open(fmt.Sprintf("/proc/%d/root", pid))
	if err == nil {
		_ = root.Close()
	}
	if err != nil {
		p.mu.Lock()
		p.refused = append(p.refused, err.Error())
		p.mu.Unlock()
		return dbus.NewError("org.freedesktop.portal.Error.NotAllowed", []any{err.Error()})
	}
	return nil
}

// portalMethods are what the bus may call.
type portalMethods struct{ p *Portal }

// request answers a request, after its path was returned.
func (m portalMethods) request(sender dbus.Sender, options map[string]dbus.Variant, results map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	if err := m.p.check(sender); err != nil {
		return "", err
	}
	token, _ := options["handle_token"].Value().(string)
	path := portalPath + "/request/" + dbus.ObjectPath(strings.ReplaceAll(strings.TrimPrefix(string(sender), ":"), ".", "_")+"/"+token)
	_ = m.p.c.Export(closable(m), path, "org.freedesktop.portal.Request")
	m.p.mu.Lock()
	answer := m.p.answer
	m.p.mu.Unlock()
	if answer != Waits {
		go func() { _ = m.p.c.Emit(path, "org.freedesktop.portal.Request.Response", uint32(answer), results) }()
	}
	return path, nil
}

// Screenshot gives the picture.
func (m portalMethods) Screenshot(sender dbus.Sender, _ string, options map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	m.p.mu.Lock()
	uri := "file://" + m.p.picture
	m.p.mu.Unlock()
	return m.request(sender, options, map[string]dbus.Variant{"uri": dbus.MakeVariant(uri)})
}

// CreateSession makes a session for shortcuts.
func (m portalMethods) CreateSession(sender dbus.Sender, options map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	token, _ := options["session_handle_token"].Value().(string)
	session := portalPath + "/session/" + dbus.ObjectPath(token)
	_ = m.p.c.Export(closable(m), session, "org.freedesktop.portal.Session")
	m.p.mu.Lock()
	m.p.sessions = append(m.p.sessions, session)
	m.p.mu.Unlock()
	return m.request(sender, options, map[string]dbus.Variant{"session_handle": dbus.MakeVariant(string(session))})
}

// BindShortcuts binds shortcuts.
func (m portalMethods) BindShortcuts(sender dbus.Sender, session dbus.ObjectPath, list []struct {
	ID    string
	Props map[string]dbus.Variant
}, _ string, options map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	m.p.mu.Lock()
	if m.p.answer == Grants {
		m.p.bound = nil
		for _, s := range list {
			trigger, _ := s.Props["preferred_trigger"].Value().(string)
			m.p.bound = append(m.p.bound, s.ID+" "+trigger)
		}
	}
	m.p.mu.Unlock()
	return m.request(sender, options, map[string]dbus.Variant{})
}

// closable is a request or session that its caller may close.
type closable struct{ p *Portal }

// Close notes the closing.
func (c closable) Close() *dbus.Error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.closed++
	return nil
}
