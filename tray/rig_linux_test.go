package tray

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/tray/desktest"
	"perch/tray/desktop"
	"perch/tray/front"
	"perch/tray/front/fronttest"
	"perch/tray/login"
)

var (
	buildOnce sync.Once
	hotkeyBin string
	buildErr  error
)

// program builds perch-hotkey once.
func program(t *testing.T) string {
	t.Helper()
	desktest.Need(t, "gcc")
	buildOnce.Do(func() {
		dir, err := os.MkdirTemp("", "tray")
		if err != nil {
			buildErr = err
			return
		}
		atEnd = append(atEnd, func() { _ = os.RemoveAll(dir) })
		hotkeyBin = filepath.Join(dir, "perch-hotkey")
		cmd := exec.Command("go", "build", "-o", hotkeyBin, "perch/tray/perch-hotkey")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("%w: %s", err, out)
		}
	})
	if buildErr != nil {
		t.Skipf("perch-hotkey does not build here: %v", buildErr)
	}
	return hotkeyBin
}

// owner is an owner's side of the tray, with its state in hand.
type owner struct {
	*Tray
	*fronttest.Bridge

	mu      sync.Mutex // guards what follows
	conf    config.Config
	state   control.State
	changed chan struct{}
	quits   int
}

// watch is the owner's WatchState.
func (o *owner) watch(ctx context.Context, send func(control.State) error) error {
	for {
		o.mu.Lock()
		st, changed := o.state, o.changed
		o.mu.Unlock()
		if err := send(st); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (o *owner) set(st control.State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = st
	close(o.changed)
	o.changed = make(chan struct{})
}

// start makes a tray on a desktop with popups in a mode.
func start(t *testing.T, r *desktest.Rig, mode string) *owner {
	t.Helper()
	o := &owner{conf: config.Default(), changed: make(chan struct{})}
	o.Tray = New(Options{
		Watch: o.watch,
		Config: func() config.Config {
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.conf
		},
		Quit:   func() { o.mu.Lock(); o.quits++; o.mu.Unlock() },
		Role:   []string{os.Args[0], desktop.Argument},
		Popup:  []string{os.Args[0]},
		Hotkey: program(t),
		Login: func([]string) (login.Place, error) {
			return login.Place{Config: filepath.Join(r.Dir, ".config"), Exe: "/opt/perch"}, nil
		},
		Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	})
	o.hostGrace = 50 * time.Millisecond
	o.Bridge = fronttest.Connect(t, o.Front(), mode, o.Close)
	if err := o.Start(r.DesktopEnv()); err != nil {
		t.Fatal(err)
	}
	return o
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func sessions(titles ...string) control.State {
	var st control.State
	for _, title := range titles {
		st.Recent = append(st.Recent, control.SessionInfo{ID: "id-" + title, Title: title, Used: time.Now()})
	}
	return st
}

func TestTrayDoesWhatIsClickedAndPressed(t *testing.T) {
	r := desktest.Start(t, desktest.Options{TrayHost: true, Notifications: desktest.Recorder})
	o := start(t, r, fronttest.Works)
	r.OpenWindow("editor", color.RGBA{B: 200, A: 255})
	o.set(sessions("one", "two"))
	r.Wait("the hotkey and the menu", func() bool {
		_, ok := r.Host.Find("Ask (Ctrl+Shift+Space)")
		_, two := r.Host.Find("two · now")
		return ok && two && o.Status().Hotkey.Active && o.Status().Shown
	})
	before := time.Now()
	r.Key("ctrl+shift+space")
	r.Wait("the toggle", func() bool {
		for _, c := range o.Orders() {
			if c.What == "toggle" && c.Pressed.After(before) {
				return true
			}
		}
		return false
	})
	for entry, want := range map[string][2]string{
		"two": {"show", "id-two"}, "New session": {"show", "new"}, "All sessions": {"sessions", ""},
		"Knowledge": {"knowledge", ""}, "Settings": {"settings", ""}, "Ask": {"show", ""},
	} {
		r.Host.Click(entry)
		r.Wait("what "+entry+" does", func() bool { return o.Got(want[0], want[1]) })
	}

	// States of the icon.
	idle := r.Host.Icon()
	for _, act := range []control.Activity{control.Running, control.Waiting, control.Failed} {
		st := sessions("one")
		st.Activity = act
		o.set(st)
		r.Wait("the icon for "+string(act), func() bool { return r.Host.ToolTip() != "Perch" && r.Host.Icon() != idle })
	}

	r.Host.Click("Pause hotkey")
	r.Wait("the pause", func() bool {
		e, ok := r.Host.Find("Pause hotkey")
		return ok && e.Checked && o.Status().Hotkey.Paused
	})
	r.Host.Click("Pause hotkey")
	r.Wait("the end of the pause", func() bool { s := o.Status().Hotkey; return s.Active && !s.Paused })

	for _, check := range o.Checks() {
		if c := check(t.Context()); !c.OK || c.Detail == "" {
			t.Errorf("check %+v", c)
		}
	}

	r.Host.Click("Start at login")
	r.Wait("the entry", func() bool { e, _ := r.Host.Find("Start at login"); return e.Checked })
	if _, err := os.Stat(filepath.Join(r.Dir, ".config", "autostart", "perch.desktop")); err != nil {
		t.Error(err)
	}

	// Another hotkey in the settings.
	o.mu.Lock()
	o.conf.Hotkey = "ctrl+alt+p"
	o.conf.Prompts = []config.Prompt{{Name: "Translate", Hotkey: "ctrl+alt+t"}}
	o.mu.Unlock()
	o.Reload()
	r.Wait("the new hotkey", func() bool { _, ok := r.Host.Find("Ask (Ctrl+Alt+P)"); return ok })
	r.Key("ctrl+alt+t")
	r.Wait("the prompt", func() bool {
		for _, c := range o.Orders() {
			if c.What == "prompt" && c.Prompt == "Translate" {
				return true
			}
		}
		return false
	})
	r.Host.Click("Quit")
	r.Wait("the end", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.quits == 1 })
}

func TestLongRunIsAnnouncedAndOpenedByAClick(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true, Notifications: desktest.Recorder})
	o := start(t, r, fronttest.Works)
	out := Outcome{Session: "s1", Title: "Build", Took: time.Minute, Result: &chat.Result{Text: "It builds.", StopReason: chat.StopEnd}}
	for range 5 {
		o.Tell(out)
	}
	n := r.Notes.WaitCount(1)[0]
	if n.Summary != "Build" || n.Body != "It builds." {
		t.Errorf("%q, %q", n.Summary, n.Body)
	}
	r.Notes.Invoke(n.ID, "default")
	r.Wait("the session", func() bool { return o.Got("show", "s1") })
	r.Wait("the popup", func() bool { return o.front.Looking("s1") })
	// What is in front of the user is not announced, and what was stopped is not.
	o.Tell(out)
	o.Tell(Outcome{Session: "s2", Took: time.Minute, Result: &chat.Result{StopReason: chat.StopAborted}})
	r.Never("another notification", 100*time.Millisecond, func() bool { return len(r.Notes.All()) > 1 })
}

func TestMissingTrayHostIsSaidOnce(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", Notifications: desktest.Recorder})
	o := start(t, r, fronttest.Works)
	n := r.Notes.WaitCount(1)[0]
	if !strings.Contains(n.Body, "perch toggle") {
		t.Errorf("said %q", n.Body)
	}
	h := r.StartHost()
	r.Wait("the icon", func() bool { return o.Status().Shown && h.Icons() == 1 })
	h.Stop()
	r.Wait("its loss", func() bool { return !o.Status().Shown })
	r.Never("the same word again", 200*time.Millisecond, func() bool { return len(r.Notes.All()) > 1 })
	if p := o.Status().Problems; len(p) != 1 || !strings.Contains(p[0], "tray icons") {
		t.Errorf("problems %q", p)
	}
}

func TestPressThatShowsNothingIsSaid(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true, Notifications: desktest.Recorder})
	o := start(t, r, fronttest.Dies)
	r.Wait("the hotkey", func() bool { return o.Status().Hotkey.Active })
	r.Key("ctrl+shift+space")
	n := r.Notes.WaitCount(1)[0]
	if !strings.Contains(n.Body, "popup does not answer") {
		t.Errorf("said %q", n.Body)
	}
}

func TestScreenshotIsTakenWithoutThePopup(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	o := start(t, r, fronttest.Works)
	if _, err := o.Front().Command(t.Context(), r.DesktopEnv(), control.FrontCommand{What: "show", Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	at := len(o.Orders())
	png, err := o.Screenshot(t.Context(), control.Shot{What: "screen"})
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Fatalf("%d bytes, %v", len(png), err)
	}
	var whats []string
	for _, c := range o.Orders()[at:] {
		if c.What != front.Ping {
			whats = append(whats, c.What+c.Session)
		}
	}
	if strings.Join(whats, " ") != "hide shows1" {
		t.Errorf("orders %q", whats)
	}
}

// TestTrayOutlivesTheXServer holds that hotkey and clipboard are back after the
// display was, and the icon was never away.
func TestTrayOutlivesTheXServer(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	o := start(t, r, fronttest.Works)
	r.Wait("the hotkey", func() bool { return o.Status().Hotkey.Active && o.Status().Shown })
	r.RestartX()
	r.Wait("the hotkey again", func() bool {
		r.Key("ctrl+shift+space")
		return desktest.Eventually(300*time.Millisecond, func() bool { return o.Got("toggle", "") })
	})
	if err := o.WriteClipboard(t.Context(), control.Clip{Text: "again"}); err != nil {
		t.Error(err)
	}
	if c, err := o.ReadClipboard(t.Context()); err != nil || c.Text != "again" {
		t.Errorf("read %q, %v", c.Text, err)
	}
	if !o.Status().Shown || r.Host.Icons() != 1 {
		t.Error("the icon has gone")
	}
}

// TestServedDesktopHasNoIcon holds that an owner without a tray has clipboard and
// notifications but neither icon nor hotkey.
func TestServedDesktopHasNoIcon(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	tr := New(Options{Role: []string{os.Args[0], desktop.Argument}})
	defer tr.Close()
	if _, err := tr.ReadClipboard(t.Context()); chat.AsError(err).ID != "err.no_desktop" {
		t.Errorf("before there is a desktop: %v", err)
	}
	for _, check := range tr.Checks() {
		if c := check(t.Context()); c.OK || !c.Warn || c.Detail == "" {
			t.Errorf("check without a desktop: %+v", c)
		}
	}
	tr.Serve(r.DesktopEnv())
	if tr.role.Running() {
		t.Error("a process for what nobody asked for")
	}
	if err := tr.WriteClipboard(t.Context(), control.Clip{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if s := tr.Status(); s.Tray || s.Shown || r.Host.Icons() != 0 || !tr.Busy() {
		t.Errorf("status %+v, %d icons, busy %v", s, r.Host.Icons(), tr.Busy())
	}
}

// ownerVar makes the test binary an owner that is to be killed.
const ownerVar = "TRAY_TEST_OWNER"

// playOwnerIfAsked plays an owner with a tray until it is killed.
func playOwnerIfAsked() {
	hotkey := os.Getenv(ownerVar)
	if hotkey == "" {
		return
	}
	tr := New(Options{Watch: func(ctx context.Context, send func(control.State) error) error {
		_ = send(control.State{})
		<-ctx.Done()
		return ctx.Err()
	}, Role: []string{os.Args[0], desktop.Argument}, Popup: []string{"sleep", "1000"}, Hotkey: hotkey,
		Login: func([]string) (login.Place, error) { return login.Place{}, fmt.Errorf("not here") }})
	err := tr.Start(control.DesktopEnv{Display: os.Getenv("DISPLAY"), Bus: os.Getenv("DBUS_SESSION_BUS_ADDRESS"), SessionType: "x11"})
	if err != nil {
		os.Exit(1)
	}
	select {}
}

// TestNothingIsLeftOfAKilledOwner holds that a restart finds the hotkey free, the
// tray without a dead icon and no process of the one before.
func TestNothingIsLeftOfAKilledOwner(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	bin := program(t)
	cmd := r.Command(os.Args[0])
	cmd.Env = append(cmd.Env, ownerVar+"="+bin)
	r.Run(cmd)
	var helpers []int
	r.Wait("the three helpers", func() bool { helpers = children(cmd.Process.Pid); return len(helpers) == 3 && r.Host.Icons() == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.Wait("the helpers to end", func() bool {
		for _, pid := range helpers {
			if s := desktest.ProcState(pid); s != "" && s != "Z" {
				return false
			}
		}
		return true
	})
	o := start(t, r, fronttest.Works)
	r.Wait("the next tray", func() bool { return o.Status().Hotkey.Active && o.Status().Shown && r.Host.Icons() == 1 })
}

// children are the processes that a process started.
func children(pid int) []int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	all := string(b)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil && !strings.Contains(task, fmt.Sprintf("/task/%d/", pid)) {
			all += " " + string(b)
		}
	}
	var out []int
	for _, f := range strings.Fields(all) {
		var n int
		if _, err := fmt.Sscan(f, &n); err == nil {
			out = append(out, n)
		}
	}
	return out
}
