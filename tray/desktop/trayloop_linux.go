package desktop

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/systray"
	"github.com/godbus/dbus/v5"
)

const (
	watcherName  = "org.kde.StatusNotifierWatcher"
	watcherPath  = "/StatusNotifierWatcher"
	busName      = "org.freedesktop.DBus"
	ownerChanged = "org.freedesktop.DBus.NameOwnerChanged"
	itemPath     = "/StatusNotifierItem" // of the library
	// registerCheck is when a tray that came is looked into for the icon: the
	// library needs milliseconds to put it there.
	registerCheck = time.Second
	// busRetry is the pause between two looks for a session bus that is missing.
	// It costs something only as long as there is none.
	busRetry = 10 * time.Second
)

// errBusLost ends the role: the library's connection is made once in a process.
// The supervisor starts another role, which waits for the bus to come back.
var errBusLost = errors.New("the session bus has gone")

// serve has the icon and the bus until ctx ends. The role works without a bus,
// too, and takes it up when it comes.
func (r *role) serve(ctx context.Context, cancel context.CancelCauseFunc) {
	conn := dialBus()
	if conn == nil {
		r.event(Event{Kind: Up})
		if conn = waitBus(ctx); conn == nil {
			return
		}
		defer conn.Close()
		r.connect(conn)
	} else {
		defer conn.Close()
		r.connect(conn)
		r.event(Event{Kind: Up})
	}
	signals := make(chan *dbus.Signal, 64)
	conn.Signal(signals)
	if err := watchName(conn, watcherName); err != nil {
		log.Printf("watch for a tray host: %v", err)
	}
	// The library says on its log that there is no tray host, at each try.
	log.SetOutput(quietTray{os.Stderr})
	wanted := r.icon.wanted
	var end func()
	defer func() {
		if end != nil {
			end()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wanted:
			wanted = nil
			end = r.showIcon(conn)
		case <-systray.TrayOpenedCh:
			r.event(Event{Kind: Opened})
		case s, ok := <-signals:
			if !ok {
				cancel(errBusLost)
				return
			}
			r.signal(conn, s)
		}
	}
}

// showIcon puts the icon into the tray and returns how to take it out.
func (r *role) showIcon(conn *dbus.Conn) (end func()) {
	systray.SetOnTapped(func() { r.event(Event{Kind: Action, Action: ClickIcon, Time: time.Now()}) })
	start, end := systray.RunWithExternalLoop(r.icon.show, nil)
	start()
	r.event(Event{Kind: TrayShown, On: hasHost(conn)})
	time.AfterFunc(registerCheck, register)
	return end
}

// register puts the icon into a tray that does not list it. The library looks
// for a tray first and listens for one afterwards: one that comes between the two
// would never show the icon.
func register() {
	// This is the library's connection, too: the icon belongs to it.
	conn, err := dbus.SessionBus()
	if err != nil || !hasName(conn, watcherName) {
		return
	}
	obj := conn.Object(watcherName, watcherPath)
	v, err := obj.GetProperty(watcherName + ".RegisteredStatusNotifierItems")
	if err != nil {
		return
	}
	items, ok := v.Value().([]string)
	if !ok {
		return
	}
	for _, own := range conn.Names() {
		if slices.ContainsFunc(items, func(i string) bool { return strings.HasPrefix(i, own) }) {
			return
		}
	}
	obj.Go(watcherName+".RegisterStatusNotifierItem", dbus.FlagNoReplyExpected, nil, itemPath)
}

// connect gives a bus to the parts that use one.
func (r *role) connect(conn *dbus.Conn) {
	r.notes.connect(conn)
	r.keys.connect(conn)
}

// signal hands a signal to the part that it is for.
func (r *role) signal(conn *dbus.Conn, s *dbus.Signal) {
	if s.Name == ownerChanged && len(s.Body) == 3 {
		name, _ := s.Body[0].(string)
		now, _ := s.Body[2].(string)
		switch name {
		case watcherName:
			if !r.icon.isWanted() {
				return
			}
			if now != "" {
				time.AfterFunc(registerCheck, register)
			}
			r.event(Event{Kind: TrayShown, On: now != ""})
		case notesName:
			r.notes.forget()
		case portalName:
			r.keys.ended()
		}
		return
	}
	r.notes.signal(s)
	r.keys.signal(s)
}

// dialBus connects to the session bus, nil where there is none.
func dialBus() *dbus.Conn {
	if !hasBusAddress() {
		return nil
	}
	c, err := dbus.ConnectSessionBus()
	if err != nil {
		return nil
	}
	return c
}

// waitBus waits for a session bus.
func waitBus(ctx context.Context) *dbus.Conn {
	for {
		t := time.NewTimer(busRetry)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil
		}
		if c := dialBus(); c != nil {
			return c
		}
	}
}

// hasBusAddress reports whether it is known where the bus would be. Without it
// the library would start a bus of its own, which no desktop listens to.
func hasBusAddress() bool {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"))
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}

// watchName asks to be told when a bus name changes its owner.
func watchName(conn *dbus.Conn, name string) error {
	return conn.AddMatchSignal(dbus.WithMatchSender(busName), dbus.WithMatchInterface(busName),
		dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, name))
}

// hasName reports whether a bus name has an owner.
func hasName(conn *dbus.Conn, name string) bool {
	var has bool
	return conn.BusObject().Call(busName+".NameHasOwner", 0, name).Store(&has) == nil && has
}

// hasHost reports whether something shows tray icons.
func hasHost(conn *dbus.Conn) bool {
	if !hasName(conn, watcherName) {
		return false
	}
	v, err := conn.Object(watcherName, watcherPath).GetProperty(watcherName + ".IsStatusNotifierHostRegistered")
	if err != nil {
		return true // a watcher that does not say
	}
	on, ok := v.Value().(bool)
	return on || !ok
}

// quietTray drops the library's lines about a missing tray host, which the role
// tells by itself.
type quietTray struct{ w io.Writer }

// Write drops or writes one line.
func (q quietTray) Write(b []byte) (int, error) {
	if containsAny(string(b), "failed to register", "StatusNotifierWatcher") {
		return len(b), nil
	}
	return q.w.Write(b)
}

// iconBytes is an icon in the format of this system.
func iconBytes(i Icon) []byte { return iconPNG(i) }
