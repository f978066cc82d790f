package login

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// systemctlTimeout bounds one call of systemctl, which answers at once unless
// the user's manager is stuck.
const systemctlTimeout = 5 * time.Second

// Default is the place of this user. env is the environment of the desktop.
func Default(env []string) (Place, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return Place{}, fmt.Errorf("find the folder for settings: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return Place{}, fmt.Errorf("find the own program: %w", err)
	}
	return Place{Config: config, Exe: exe, Systemd: systemctl(env, "is-active", "--quiet", "graphical-session.target") == nil,
		Reload: func() error { return systemctl(env, "daemon-reload") }}, nil
}

// systemctl runs systemctl for the user's own manager. Only a desktop that has
// reached graphical-session.target starts units with its session: not all do.
func systemctl(env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), systemctlTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl --user %s: %w: %s", args[0], err, out)
	}
	return nil
}
