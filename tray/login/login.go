// Package login starts Perch when the user logs in: by a systemd user unit where
// the session is run by systemd, else by an autostart entry of the desktop, and
// never by both.
package login

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Place is where the start at login is set up. The zero value is of no use; see
// [Default].
type Place struct {
	Config string // the user's configuration folder, ~/.config
	Exe    string // the program to start
	// Systemd says that the session is run by systemd, so that a unit is started
	// with it.
	Systemd bool
	// Reload makes systemd read its units again; nil is nothing to do.
	Reload func() error
}

// unit is the name of the systemd unit.
const unit = "perch.service"

// unitText starts Perch with the graphical session and ends it with it. A crash
// is followed by a restart, at most three within a minute.
const unitText = `[Unit]
Description=Perch, the assistant in the tray
PartOf=graphical-session.target
After=graphical-session.target
StartLimitIntervalSec=60
StartLimitBurst=3

[Service]
ExecStart=%s
Restart=on-failure
RestartSec=2

[Install]
WantedBy=graphical-session.target
`

// entryText is an autostart entry of the desktop.
const entryText = `[Desktop Entry]
Type=Application
Name=Perch
Comment=The assistant in the tray
Exec=%s
Icon=perch
Terminal=false
X-GNOME-Autostart-enabled=true
`

func (p Place) unitFile() string  { return filepath.Join(p.Config, "systemd", "user", unit) }
func (p Place) entryFile() string { return filepath.Join(p.Config, "autostart", "perch.desktop") }

// wantFile is the link that systemd makes when a unit is enabled.
func (p Place) wantFile() string {
	return filepath.Join(p.Config, "systemd", "user", "graphical-session.target.wants", unit)
}

// Enabled reports whether Perch starts at login.
func (p Place) Enabled() bool {
	_, unitErr := os.Lstat(p.wantFile())
	_, entryErr := os.Lstat(p.entryFile())
	return unitErr == nil || entryErr == nil
}

// Set switches the start at login on or off.
func (p Place) Set(on bool) error {
	// Whichever way it was on before, one way is left.
	if err := remove(p.wantFile(), p.entryFile()); err != nil {
		return fmt.Errorf("switch the start at login off: %w", err)
	}
	if !on {
		if err := remove(p.unitFile()); err != nil {
			return fmt.Errorf("switch the start at login off: %w", err)
		}
		return p.reload()
	}
	if !p.Systemd {
		return write(p.entryFile(), fmt.Sprintf(entryText, quoteDesktop(p.Exe)))
	}
	if err := write(p.unitFile(), fmt.Sprintf(unitText, quoteUnit(p.Exe))); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.wantFile()), 0o755); err != nil {
		return fmt.Errorf("switch the start at login on: %w", err)
	}
	if err := os.Symlink(filepath.Join("..", unit), p.wantFile()); err != nil {
		return fmt.Errorf("switch the start at login on: %w", err)
	}
	return p.reload()
}

func (p Place) reload() error {
	if p.Reload == nil || !p.Systemd {
		return nil
	}
	return p.Reload()
}

// write writes a file of configuration with its folder.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("switch the start at login on: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("switch the start at login on: %w", err)
	}
	return nil
}

// remove removes files that may be missing.
func remove(paths ...string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
