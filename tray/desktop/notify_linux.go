package desktop

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gen2brain/beeep"
	"github.com/godbus/dbus/v5"

	"perch/chat"
)

const (
	notesName = "org.freedesktop.Notifications"
	notesPath = dbus.ObjectPath("/org/freedesktop/Notifications")
	// appName is what notifications are sorted under.
	appName = "Perch"
	// defaultTimeout lets the desktop say how long a notification stays.
	defaultTimeout = int32(-1)
	// serverTimeout bounds one call to the service, which may be starting.
	serverTimeout = 10 * time.Second
)

// notifier shows notifications by the desktop's service, with an action to open
// the session where the service has actions, and otherwise by beeep.
type notifier struct {
	r *role

	mu       sync.Mutex // guards what follows
	conn     *dbus.Conn
	caps     []string          // nil is not asked yet
	sessions map[uint32]string // what a click on a notification opens
	last     map[string]uint32 // the newest notification of a session
}

// connect uses a bus.
func (n *notifier) connect(conn *dbus.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conn, n.sessions, n.last = conn, map[uint32]string{}, map[string]uint32{}
	for _, member := range []string{"ActionInvoked", "NotificationClosed"} {
		// Without the match clicks are not heard; showing still works.
		_ = conn.AddMatchSignal(dbus.WithMatchObjectPath(notesPath), dbus.WithMatchInterface(notesName), dbus.WithMatchMember(member))
	}
	_ = watchName(conn, notesName)
}

// forget drops what is known of a service that went or was replaced.
func (n *notifier) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.caps, n.sessions, n.last = nil, map[uint32]string{}, map[string]uint32{}
}

// notify shows a notification.
func (n *notifier) notify(ctx context.Context, note Note) error {
	err := n.byService(ctx, note)
	if err == nil {
		return nil
	}
	// beeep has further ways: notify-send and kdialog.
	if berr := beeep.Notify(note.Title, note.Body, ""); berr != nil {
		return chat.NewError(chat.ClassMisuse, "err.no_notifications",
			"This desktop shows no notifications (%v). Install a notification service, such as dunst.", err).Wrap(err)
	}
	return nil
}

// byService shows a notification over the bus.
func (n *notifier) byService(ctx context.Context, note Note) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		return chat.NewError(chat.ClassMisuse, "err.no_bus", "There is no session bus. Start perch in a desktop session.")
	}
	obj := n.conn.Object(notesName, notesPath)
	if n.caps == nil {
		caps := []string{}
		if err := obj.CallWithContext(ctx, notesName+".GetCapabilities", 0).Store(&caps); err != nil {
			return err
		}
		n.caps = caps
	}
	var actions []string
	if slices.Contains(n.caps, "actions") && note.Session != "" {
		// "default" is a click on the notification itself.
		actions = []string{"default", note.Open, "open", note.Open}
	}
	hints := map[string]dbus.Variant{"desktop-entry": dbus.MakeVariant("perch"), "category": dbus.MakeVariant("im.received")}
	var id uint32
	err := obj.CallWithContext(ctx, notesName+".Notify", 0, appName, n.last[note.Session], "", oneLine(note.Title),
		body(note.Body, slices.Contains(n.caps, "body-markup")), actions, hints, defaultTimeout).Store(&id)
	if err != nil {
		return err
	}
	if note.Session != "" {
		n.sessions[id], n.last[note.Session] = note.Session, id
	}
	return nil
}

// signal takes clicks.
func (n *notifier) signal(s *dbus.Signal) {
	if s.Path != notesPath || len(s.Body) < 2 {
		return
	}
	id, ok := s.Body[0].(uint32)
	if !ok {
		return
	}
	n.mu.Lock()
	session, ours := n.sessions[id]
	closed := s.Name == notesName+".NotificationClosed"
	if closed {
		delete(n.sessions, id)
		if n.last[session] == id {
			delete(n.last, session)
		}
	}
	n.mu.Unlock()
	if ours && !closed {
		n.r.event(Event{Kind: Action, Action: ClickNote, Arg: session, Time: time.Now()})
	}
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// body is a text as the service takes it: where it reads markup, the text's own
// angle brackets must not be any.
func body(text string, hasMarkup bool) string {
	if hasMarkup {
		return markup.Replace(text)
	}
	return text
}

// oneLine keeps a title to one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// containsAny reports whether s contains one of the parts.
func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
