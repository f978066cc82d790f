package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/godbus/dbus/v5"

	"perch/control"
)

// busAddress is where the session bus is. Nothing is started to find one.
func busAddress(env control.DesktopEnv) string {
	if env.Bus != "" {
		return env.Bus
	}
	if env.RuntimeDir != "" {
		path := filepath.Join(env.RuntimeDir, "bus")
		if _, err := os.Stat(path); err == nil {
			return "unix:path=" + path
		}
	}
	return ""
}

// busNames are the names on the session bus, those that can be started included.
func busNames(ctx context.Context, env control.DesktopEnv) (map[string]bool, error) {
	addr := busAddress(env)
	if addr == "" {
		return nil, errors.New("DBUS_SESSION_BUS_ADDRESS is not set")
	}
	conn, err := dbus.Connect(addr, dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	names := map[string]bool{}
	for _, method := range []string{"ListNames", "ListActivatableNames"} {
		var list []string
		if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus."+method, 0).Store(&list); err != nil {
			return nil, err
		}
		for _, n := range list {
			names[n] = true
		}
	}
	return names, nil
}
