package desktest

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"perch/control"
)

const (
	// startTimeout bounds the start of one program of the rig; Xvfb needs well
	// under a second on a quiet machine, ten on a busy one.
	startTimeout = 30 * time.Second
	// waitStep is the pause between two looks at a condition.
	waitStep = 5 * time.Millisecond
	// DefaultWait is how long [Rig.Wait] looks before it gives up.
	DefaultWait = 30 * time.Second
)

// Notification services that a rig can have.
const (
	NoNotifications = ""         // nobody owns the name
	Recorder        = "recorder" // records and can be clicked, see [Notes]
	Dunst           = "dunst"    // the real program
)

// Options say what the desktop is made of. The zero value has openbox, a bus, no
// tray host and no notification service.
type Options struct {
	WM            string // "openbox" (default), "i3", "xfwm4" or "none"
	Screen        string // default "1280x800x24"
	TrayHost      bool
	Notifications string
	NoBus         bool
	// Scale is the dots per inch divided by 96, for toolkits that read it; 0 is 1.
	Scale float64
}

// Rig is a running desktop.
type Rig struct {
	Display string // ":7"
	Bus     string // address of the session bus, "" without one
	Dir     string // the home folder of everything started here
	Runtime string // XDG_RUNTIME_DIR
	Host    *Host  // the tray host, nil without one
	Notes   *Notes // the recorder, nil without one

	t       testing.TB
	x       *xgb.Conn
	root    xproto.Window
	server  *exec.Cmd // the X server
	options Options
	// atoms are those that were asked for.
	atoms map[string]xproto.Atom
}

// Need skips the test unless all programs are installed.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	var missing []string
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		t.Skipf("not installed: %s", strings.Join(missing, ", "))
	}
}

// Start starts a desktop that ends with the test. It skips the test where a
// program is missing.
func Start(t testing.TB, o Options) *Rig {
	t.Helper()
	if o.WM == "" {
		o.WM = "openbox"
	}
	if o.Screen == "" {
		o.Screen = "1280x800x24"
	}
	need := []string{"Xvfb", "xdotool"}
	if !o.NoBus {
		need = append(need, "dbus-daemon")
	}
	if o.WM != "none" {
		need = append(need, o.WM)
	}
	if o.Notifications == Dunst {
		need = append(need, "dunst")
	}
	Need(t, need...)

	// The folder is made by hand: its name must stay short, since sockets live
	// in it.
	dir, err := os.MkdirTemp("", "desk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &Rig{t: t, Dir: dir, Runtime: filepath.Join(dir, "run"), atoms: map[string]xproto.Atom{}}
	if err := os.Mkdir(r.Runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	r.options = o
	r.startX(o)
	if !o.NoBus {
		r.startBus()
	}
	if o.WM != "none" {
		r.StartWM(o.WM)
	}
	if o.TrayHost {
		r.Host = r.StartHost()
	}
	switch o.Notifications {
	case Recorder:
		r.Notes = r.StartNotes()
	case Dunst:
		r.StartDunst()
	}
	return r
}

// xgb's own log would fill the tests' with lines about what is no fault: no
// authority file, a server that ended.
func init() { xgb.Logger = log.New(io.Discard, "", 0) }

// startX starts the X server and connects to it.
func (r *Rig) startX(o Options) {
	r.t.Helper()
	pr, pw, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	defer pr.Close()
	dpi := "96"
	if o.Scale > 0 {
		dpi = strconv.Itoa(int(96 * o.Scale))
	}
	args := []string{"-displayfd", "3", "-screen", "0", o.Screen, "-dpi", dpi, "-nolisten", "tcp", "-noreset", "+extension", "XTEST"}
	if r.Display != "" {
		args = append([]string{r.Display}, args[2:]...)
	}
	cmd := r.command("Xvfb", args...)
	cmd.ExtraFiles = []*os.File{pw}
	r.server = r.run(cmd)
	pw.Close()
	if r.Display == "" {
		_ = pr.SetReadDeadline(time.Now().Add(startTimeout))
		line, err := bufio.NewReader(pr).ReadString('\n')
		if err != nil {
			r.t.Fatalf("Xvfb did not say its display: %v", err)
		}
		r.Display = ":" + strings.TrimSpace(line)
	}
	var x *xgb.Conn
	r.Wait("a connection to "+r.Display, func() bool {
		x, err = xgb.NewConnDisplay(r.Display)
		return err == nil
	})
	r.t.Cleanup(x.Close)
	r.x, r.root, r.atoms = x, xproto.Setup(x).DefaultScreen(x).Root, map[string]xproto.Atom{}
}

// RestartX ends the X server as a crash does and starts another one in its place.
// The window manager goes with the old one; start another where one is needed.
func (r *Rig) RestartX() {
	r.t.Helper()
	if err := r.server.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_, _ = r.server.Process.Wait()
	n := strings.TrimPrefix(r.Display, ":")
	for _, left := range []string{"/tmp/.X" + n + "-lock", "/tmp/.X11-unix/X" + n} {
		_ = os.Remove(left)
	}
	r.startX(r.options)
}

// busConfig is a session bus without service activation: what is on this
// desktop is only what the test put there. The settings daemon of Xfce is the
// exception, for its window manager does not start without it.
const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
 <type>session</type>
 <listen>unix:path=%s/bus</listen>
 <auth>EXTERNAL</auth>
 <servicedir>%s/services</servicedir>
 <policy context="default">
  <allow send_destination="*" eavesdrop="true"/>
  <allow eavesdrop="true"/>
  <allow own="*"/>
 </policy>
</busconfig>
`

// xfconfService lets the bus start Xfce's settings daemon.
const xfconfService = "/usr/share/dbus-1/services/org.xfce.Xfconf.service"

// startBus starts the session bus.
func (r *Rig) startBus() {
	r.t.Helper()
	conf := filepath.Join(r.Dir, "bus.conf")
	services := filepath.Join(r.Dir, "services")
	if err := os.Mkdir(services, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if b, err := os.ReadFile(xfconfService); err == nil {
		if err := os.WriteFile(filepath.Join(services, filepath.Base(xfconfService)), b, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.WriteFile(conf, fmt.Appendf(nil, busConfig, r.Runtime, r.Dir), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.Bus = "unix:path=" + filepath.Join(r.Runtime, "bus")
	r.run(r.command("dbus-daemon", "--config-file="+conf, "--nofork", "--nopidfile"))
	r.Wait("the session bus", func() bool {
		c, err := dbus.Connect(r.Bus)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// Env is the environment of a program on this desktop: nothing of the test's
// own desktop, if it has one, is left in it.
func (r *Rig) Env() []string {
	env := []string{
		"HOME=" + r.Dir, "XDG_RUNTIME_DIR=" + r.Runtime, "XDG_CONFIG_HOME=" + filepath.Join(r.Dir, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(r.Dir, ".local", "share"), "XDG_CACHE_HOME=" + filepath.Join(r.Dir, ".cache"),
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_AT_BRIDGE=1", "LIBGL_ALWAYS_SOFTWARE=1",
		"XDG_SESSION_TYPE=x11", "XDG_CURRENT_DESKTOP=Perch-Test",
	}
	if r.Display != "" {
		env = append(env, "DISPLAY="+r.Display)
	}
	if r.Bus != "" {
		env = append(env, "DBUS_SESSION_BUS_ADDRESS="+r.Bus)
	} else {
		env = append(env, "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent")
	}
	return env
}

// DesktopEnv is the same for the control socket.
func (r *Rig) DesktopEnv() control.DesktopEnv {
	return control.DesktopEnv{Display: r.Display, Bus: r.Bus, SessionType: "x11", RuntimeDir: r.Runtime,
		Desktop: "Perch-Test", Extra: map[string]string{"LANG": "C.UTF-8"}}
}

// Command prepares a program on this desktop; [Rig.Run] starts it.
func (r *Rig) Command(name string, args ...string) *exec.Cmd {
	cmd := r.command(name, args...)
	cmd.Env = r.Env()
	return cmd
}

// command prepares a program that goes down with the test, whatever it starts.
func (r *Rig) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = r.Env()
	cmd.Dir = r.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Run starts a program that ends with the test, before the programs that were
// started earlier. Its output goes to the test's log when the test fails.
func (r *Rig) Run(cmd *exec.Cmd) *exec.Cmd { r.t.Helper(); return r.run(cmd) }

func (r *Rig) run(cmd *exec.Cmd) *exec.Cmd {
	r.t.Helper()
	out, err := os.CreateTemp(r.Dir, filepath.Base(cmd.Path)+"-*.log")
	if err != nil {
		r.t.Fatal(err)
	}
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = out
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatalf("start %s: %v", cmd.Path, err)
	}
	r.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if r.t.Failed() {
			if _, err := out.Seek(0, io.SeekStart); err == nil {
				b, _ := io.ReadAll(io.LimitReader(out, 8<<10))
				if len(b) > 0 {
					r.t.Logf("output of %s:\n%s", filepath.Base(cmd.Path), b)
				}
			}
		}
		out.Close()
	})
	return cmd
}

// Wait looks at a condition until it holds, and fails the test with what was
// waited for after [DefaultWait].
func (r *Rig) Wait(what string, holds func() bool) {
	r.t.Helper()
	WaitFor(r.t, what, DefaultWait, holds)
}

// WaitFor looks at a condition until it holds, and fails the test after limit.
func WaitFor(t testing.TB, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	if !Eventually(limit, holds) {
		t.Fatalf("waited %v in vain for %s", limit, what)
	}
}

// Eventually reports whether a condition came to hold within limit.
func Eventually(limit time.Duration, holds func() bool) bool {
	end := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(waitStep)
	}
	return true
}

// Never fails the test if a condition comes to hold within d; it is for what
// must not happen, which no event can announce.
func (r *Rig) Never(what string, d time.Duration, holds func() bool) {
	r.t.Helper()
	if Eventually(d, holds) {
		r.t.Fatalf("happened within %v: %s", d, what)
	}
}
