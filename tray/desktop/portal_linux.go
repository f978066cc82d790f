package desktop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"

	"perch/chat"
	"perch/tray/hotkey"
)

const (
	portalName      = "org.freedesktop.portal.Desktop"
	portalPath      = dbus.ObjectPath("/org/freedesktop/portal/desktop")
	requestIface    = "org.freedesktop.portal.Request"
	sessionIface    = "org.freedesktop.portal.Session"
	shortcutsIface  = "org.freedesktop.portal.GlobalShortcuts"
	screenshotIface = "org.freedesktop.portal.Screenshot"
	registryIface   = "org.freedesktop.host.portal.Registry"
	// appID is the name of Perch's desktop file, under which portals remember
	// what the user allowed.
	appID = "perch"
	// portalProbe bounds the question whether a portal is there; a portal that is
	// started for it takes a second or two.
	portalProbe = 10 * time.Second
)

// Responses of a portal.
const (
	portalOK        = 0
	portalCancelled = 1
)

// errRefused says that the user or the desktop said no.
var errRefused = errors.New("the desktop refused it")

// tokens number the requests of this process.
var tokens atomic.Int64

// portalCall makes a portal request and waits for its response, however long
// the user takes, but never longer than ctx.
func portalCall(ctx context.Context, conn *dbus.Conn, method string, options map[string]dbus.Variant, args ...any) (map[string]dbus.Variant, error) {
	token := fmt.Sprintf("perch%d", tokens.Add(1))
	options["handle_token"] = dbus.MakeVariant(token)
	// The response may come before the call returns its path, which is therefore
	// worked out beforehand, as the portal's documentation has it.
	sender := strings.ReplaceAll(strings.TrimPrefix(conn.Names()[0], ":"), ".", "_")
	path := dbus.ObjectPath("/org/freedesktop/portal/desktop/request/" + sender + "/" + token)
	match := []dbus.MatchOption{dbus.WithMatchInterface(requestIface), dbus.WithMatchMember("Response")}
	if err := conn.AddMatchSignal(match...); err != nil {
		return nil, fmt.Errorf("listen to the portal: %w", err)
	}
	defer conn.RemoveMatchSignal(match...)
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	defer conn.RemoveSignal(signals)

	var handle dbus.ObjectPath
	obj := conn.Object(portalName, portalPath)
	if err := obj.CallWithContext(ctx, method, 0, append(args, options)...).Store(&handle); err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	for {
		select {
		case s, ok := <-signals:
			if !ok {
				return nil, errBusLost
			}
			// Portals from before the rule answer at the path they returned.
			if s.Name != requestIface+".Response" || s.Path != path && s.Path != handle {
				continue
			}
			var code uint32
			var results map[string]dbus.Variant
			if err := dbus.Store(s.Body, &code, &results); err != nil {
				return nil, fmt.Errorf("the portal's response: %w", err)
			}
			if code != portalOK {
				return nil, errRefused
			}
			return results, nil
		case <-ctx.Done():
			// Take the question off the screen; nobody waits for its answer.
			conn.Object(portalName, handle).Go(requestIface+".Close", dbus.FlagNoReplyExpected, nil)
			return nil, ctx.Err()
		}
	}
}

// portalHas reports whether the portal offers an interface.
func portalHas(ctx context.Context, conn *dbus.Conn, iface string) bool {
	ctx, cancel := context.WithTimeout(ctx, portalProbe)
	defer cancel()
	var v dbus.Variant
	return conn.Object(portalName, portalPath).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, iface, "version").Store(&v) == nil
}

// shortcutKeys are hotkeys by the GlobalShortcuts portal.
type shortcutKeys struct {
	r *role

	mu         sync.Mutex // guards what follows
	conn       *dbus.Conn
	session    dbus.ObjectPath
	registered bool
}

// connect uses a bus.
func (k *shortcutKeys) connect(conn *dbus.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn = conn
	_ = watchName(conn, portalName)
	// Without the match presses are not heard; bind says so by its own calls.
	_ = conn.AddMatchSignal(dbus.WithMatchInterface(shortcutsIface), dbus.WithMatchMember("Activated"))
	_ = conn.AddMatchSignal(dbus.WithMatchInterface(sessionIface), dbus.WithMatchMember("Closed"))
}

// bus is the connection, nil when there is none.
func (k *shortcutKeys) bus() *dbus.Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conn
}

// bind binds all shortcuts at once, as the portal wants it; none unbinds.
func (k *shortcutKeys) bind(ctx context.Context, bs []hotkey.Binding) error {
	k.mu.Lock()
	conn, session := k.conn, k.session
	k.session = ""
	k.mu.Unlock()
	if conn == nil {
		return errNoShortcuts()
	}
	if session != "" {
		conn.Object(portalName, session).CallWithContext(ctx, sessionIface+".Close", 0)
	}
	if len(bs) == 0 {
		return nil
	}
	k.register(ctx, conn)
	if !portalHas(ctx, conn, shortcutsIface) {
		return errNoShortcuts()
	}
	created, err := portalCall(ctx, conn, shortcutsIface+".CreateSession",
		map[string]dbus.Variant{"session_handle_token": dbus.MakeVariant(fmt.Sprintf("perch%d", tokens.Add(1)))})
	if err != nil {
		return shortcutsError(err)
	}
	handle, _ := created["session_handle"].Value().(string)
	if handle == "" {
		return errNoShortcuts()
	}
	type shortcut struct {
		ID    string
		Props map[string]dbus.Variant
	}
	var list []shortcut
	for _, b := range bs {
		c, err := hotkey.Parse(b.Combo)
		if err != nil {
			return err
		}
		list = append(list, shortcut{b.ID, map[string]dbus.Variant{
			"description": dbus.MakeVariant(b.Label), "preferred_trigger": dbus.MakeVariant(c.PortalTrigger())}})
	}
	// Presses may come from now on.
	k.mu.Lock()
	k.session = dbus.ObjectPath(handle)
	k.mu.Unlock()
	if _, err := portalCall(ctx, conn, shortcutsIface+".BindShortcuts", map[string]dbus.Variant{},
		dbus.ObjectPath(handle), list, ""); err != nil {
		return shortcutsError(err)
	}
	return nil
}

// register tells the portal which program this is. Older portals cannot be told
// and find out by themselves.
func (k *shortcutKeys) register(ctx context.Context, conn *dbus.Conn) {
	k.mu.Lock()
	done := k.registered
	k.registered = true
	k.mu.Unlock()
	if !done {
		conn.Object(portalName, portalPath).CallWithContext(ctx, registryIface+".Register", 0, appID, map[string]dbus.Variant{})
	}
}

// signal takes presses and the end of the session.
func (k *shortcutKeys) signal(s *dbus.Signal) {
	k.mu.Lock()
	session := k.session
	k.mu.Unlock()
	switch {
	case session == "":
	case s.Name == shortcutsIface+".Activated" && len(s.Body) >= 2:
		from, _ := s.Body[0].(dbus.ObjectPath)
		id, _ := s.Body[1].(string)
		if from == session {
			k.r.event(Event{Kind: Shortcut, Arg: id, Time: time.Now()})
		}
	case s.Name == sessionIface+".Closed" && s.Path == session:
		k.ended()
	}
}

// ended notes that the portal has let the hotkeys go.
func (k *shortcutKeys) ended() {
	k.mu.Lock()
	had := k.session != ""
	k.session, k.registered = "", false
	k.mu.Unlock()
	if had {
		k.r.event(Event{Kind: ShortcutsEnded})
	}
}

// shortcutsError is a sentence for what went wrong.
func shortcutsError(err error) error {
	if errors.Is(err, errRefused) {
		return chat.NewError(chat.ClassMisuse, "err.hotkey_refused",
			"The desktop did not bind the hotkey. Allow it in the desktop's settings, or bind a key to the command perch toggle there.").Wrap(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return chat.NewError(chat.ClassMisuse, "err.hotkey_unanswered",
			"The desktop's question about the hotkey was not answered. Set the hotkey again in the settings.").Wrap(err)
	}
	return err
}
