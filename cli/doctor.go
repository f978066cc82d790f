package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"perch/config"
	"perch/control"
)

// doctorTime bounds all checks of the owner together: providers are asked over
// the network.
const doctorTime = 60 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	var bundle string
	c := a.command("doctor", "cli.doctor", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		checks := a.checks(ctx)
		if bundle != "" {
			if err := a.writeBundle(bundle, checks); err != nil {
				return err
			}
			a.note(a.t("cli.bundle_done", bundle))
		}
		if asJSON {
			if err := a.printJSON(checks); err != nil {
				return err
			}
		} else if err := a.printChecks(checks); err != nil {
			return err
		}
		for _, c := range checks {
			if !c.OK && !c.Warn {
				return &failure{exitFailed, nil}
			}
		}
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, a.t("cli.flag_json"))
	c.Flags().StringVar(&bundle, "bundle", "", a.t("cli.flag_bundle"))
	return c
}

func (a *app) printChecks(checks []control.Check) error {
	for _, c := range checks {
		mark := "✓"
		switch {
		case c.OK:
		case c.Warn:
			mark = "!"
		default:
			mark = "✗"
		}
		line := fmt.Sprintf("%s %s  %s", mark, pad(c.Name, 16), visible(c.Detail))
		if c.Advice != "" && !c.OK {
			line += "\n    " + visible(c.Advice)
		}
		if err := a.print(line); err != nil {
			return err
		}
	}
	return nil
}

// checks are those of this side, which has the user's environment, and those of
// the owner, which has the store and the providers.
func (a *app) checks(ctx context.Context) []control.Check {
	out := []control.Check{
		a.folderCheck("settings folder", filepath.Dir(a.Paths.ConfigFile)),
		a.folderCheck("data folder", a.Paths.Data),
		a.settingsCheck(),
	}
	env := desktopOf(a.Getenv, a.Environ)
	out = append(out, a.programChecks(env)...)
	out = append(out, a.desktopChecks(ctx, env)...)
	owner := a.ownerChecks(ctx)
	for _, c := range out {
		if hasCheck(owner, c.Name) {
			continue
		}
		if c.OK {
			c.Advice = ""
		}
		owner = append(owner, c)
	}
	return owner
}

func hasCheck(list []control.Check, name string) bool {
	for _, c := range list {
		if c.Name == name {
			return true
		}
	}
	return false
}

// ownerChecks asks the running Perch, starting one if need be.
func (a *app) ownerChecks(ctx context.Context) []control.Check {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	c, err := a.owner()
	if err != nil {
		return []control.Check{{Name: "perch", Detail: a.sentence(err), Advice: a.t("cli.see_log", a.Paths.Log())}}
	}
	v := c.Version()
	first := control.Check{Name: "perch", OK: true, Detail: a.t("cli.doctor_running", v.Version, v.PID)}
	if v.Version != a.Version.Version {
		first.OK, first.Warn, first.Advice = false, true, a.t("cli.doctor_restart", a.Version.Version)
	}
	list, err := c.Doctor(ctx)
	if err != nil {
		return []control.Check{first, {Name: "owner", Detail: a.sentence(err), Advice: a.t("cli.see_log", a.Paths.Log())}}
	}
	return append([]control.Check{first}, list...)
}

// folderCheck tries to write a file.
func (a *app) folderCheck(name, dir string) control.Check {
	c := control.Check{Name: name, Detail: dir, Advice: a.t("cli.doctor_folder")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.Detail = fmt.Sprintf("%s: %v", dir, reason(err))
		return c
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		c.Detail = fmt.Sprintf("%s: %v", dir, reason(err))
		return c
	}
	f.Close()
	os.Remove(f.Name())
	c.OK = true
	return c
}

func (a *app) settingsCheck() control.Check {
	c := control.Check{Name: "settings", OK: true, Detail: a.Paths.ConfigFile}
	if _, err := os.Stat(a.Paths.ConfigFile); errors.Is(err, os.ErrNotExist) {
		c.Detail = a.t("cli.doctor_no_settings", a.Paths.ConfigFile)
	}
	if _, err := config.Load(a.Paths.ConfigFile); err != nil {
		c.OK, c.Detail = false, a.sentence(err)
	}
	return c
}

// programChecks looks for the programs that stand beside perch.
func (a *app) programChecks(env control.DesktopEnv) []control.Check {
	var out []control.Check
	for _, name := range []string{"perch-popup", "perch-hotkey"} {
		c := control.Check{Name: name, Warn: !hasDesktop(env, runtime.GOOS), Advice: a.t("cli.doctor_program")}
		if path, err := beside(name); err == nil {
			c.OK, c.Detail = true, path
		} else {
			c.Detail = a.t("cli.doctor_missing", name)
		}
		out = append(out, c)
	}
	return out
}

// desktopChecks look at what a popup, a tray icon and a notification need.
func (a *app) desktopChecks(ctx context.Context, env control.DesktopEnv) []control.Check {
	if runtime.GOOS != "linux" {
		return nil
	}
	if !hasDesktop(env, runtime.GOOS) {
		return []control.Check{{Name: "display", Warn: true, Detail: a.t("cli.no_display_short"), Advice: a.t("cli.doctor_display")}}
	}
	out := []control.Check{a.displayCheck(env), a.fontCheck(ctx, "fonts CJK", ":lang=zh", "fonts-noto-cjk"), a.fontCheck(ctx, "fonts emoji", ":lang=und-zsye", "fonts-noto-color-emoji")}
	return append(out, a.busChecks(ctx, env)...)
}

// displayCheck tries to reach the display.
func (a *app) displayCheck(env control.DesktopEnv) control.Check {
	c := control.Check{Name: "display", OK: true, Detail: strings.TrimSpace(env.Display + " " + env.WaylandDisplay), Advice: a.t("cli.doctor_display")}
	path := ""
	switch {
	case strings.HasPrefix(env.Display, ":"):
		n, _, _ := strings.Cut(env.Display[1:], ".")
		path = "/tmp/.X11-unix/X" + n
	case env.Display == "" && env.WaylandDisplay != "":
		if path = env.WaylandDisplay; !filepath.IsAbs(path) {
			path = filepath.Join(env.RuntimeDir, path)
		}
	}
	if path == "" {
		return c // a display of another machine
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil && strings.HasPrefix(path, "/tmp/.X11") {
		conn, err = net.DialTimeout("unix", "@"+path, time.Second)
	}
	if err != nil {
		c.OK, c.Detail = false, a.t("cli.doctor_unreachable", c.Detail)
		return c
	}
	conn.Close()
	return c
}

// fontCheck asks fontconfig for a font; pkg is Debian's package with one.
func (a *app) fontCheck(ctx context.Context, name, pattern, pkg string) control.Check {
	c := control.Check{Name: name, Warn: true, Advice: a.t("cli.doctor_font", pkg)}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "fc-list", pattern, "family").Output()
	line := firstLine(string(out))
	switch {
	case err != nil:
		c.Detail = a.t("cli.doctor_missing", "fc-list")
	case line == "":
		c.Detail = a.t("cli.doctor_missing", pkg)
	default:
		c.OK, c.Detail = true, line
	}
	return c
}

// busService is a service that is looked for on the bus.
type busService struct {
	name   string   // of the check
	owners []string // names on the bus, any of which will do
	advice string
	warn   bool
}

var busServices = []busService{
	{"tray host", []string{"org.kde.StatusNotifierWatcher"}, "cli.doctor_tray", true},
	{"notifications", []string{"org.freedesktop.Notifications"}, "cli.doctor_notify", true},
	{"keyring", []string{"org.freedesktop.secrets"}, "cli.doctor_keyring", true},
}

// busChecks looks for the services of the desktop's bus.
func (a *app) busChecks(ctx context.Context, env control.DesktopEnv) []control.Check {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	names, err := busNames(ctx, env)
	if err != nil {
		return []control.Check{{Name: "session bus", Warn: true, Detail: err.Error(), Advice: a.t("cli.doctor_bus")}}
	}
	out := []control.Check{{Name: "session bus", OK: true, Detail: busAddress(env)}}
	for _, s := range busServices {
		c := control.Check{Name: s.name, Warn: s.warn, Detail: a.t("cli.doctor_no_service", s.owners[0]), Advice: a.t(s.advice)}
		for _, o := range s.owners {
			if names[o] {
				c.OK, c.Detail = true, o
			}
		}
		out = append(out, c)
	}
	return out
}
