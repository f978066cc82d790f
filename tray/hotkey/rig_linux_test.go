package hotkey

import (
	"context"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"perch/control"
	"perch/tray/desktest"
)

var (
	buildOnce sync.Once
	built     string
	buildErr  error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

// program builds perch-hotkey once.
func program(t *testing.T) string {
	t.Helper()
	desktest.Need(t, "gcc")
	buildOnce.Do(func() {
		dir, err := os.MkdirTemp("", "hotkey")
		if err != nil {
			buildErr = err
			return
		}
		built = filepath.Join(dir, Program)
		cmd := exec.Command("go", "build", "-o", built, "perch/tray/perch-hotkey")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("%w: %s", err, out)
		}
	})
	if buildErr != nil {
		t.Skipf("perch-hotkey does not build here: %v", buildErr)
	}
	return built
}

// held starts a supervisor on a desktop and waits until its hotkey is settled.
func held(t *testing.T, env control.DesktopEnv, o Options, combo string) (*Supervisor, control.HotkeyState) {
	t.Helper()
	o.Path = program(t)
	s := New(o)
	t.Cleanup(s.Close)
	s.Set(env, []Binding{{ID: Toggle, Combo: combo}})
	return s, s.Settled(t.Context())
}

func TestHotkeyIsPressedOnceWhateverTheLocks(t *testing.T) {
	r := desktest.Start(t, desktest.Options{})
	w := r.OpenWindow("editor", color.RGBA{B: 200, A: 255})
	var presses atomic.Int32
	_, st := held(t, r.DesktopEnv(), Options{Pressed: func(id string, at time.Time) {
		if id != Toggle || time.Since(at) > time.Minute {
			t.Errorf("pressed %q at %v", id, at)
		}
		presses.Add(1)
	}}, "ctrl+shift+space")
	if !st.Active || st.Problem != "" {
		t.Fatalf("state %+v", st)
	}
	want := int32(0)
	for _, lock := range []string{"", "Num_Lock", "Caps_Lock", "Num_Lock"} {
		if lock != "" {
			r.Key(lock)
		}
		want++
		r.Key("ctrl+shift+space")
		r.Wait(fmt.Sprintf("press %d after %q", want, lock), func() bool { return presses.Load() == want })
		// Presses of a person are further apart than a key bounces.
		r.Never("a second press", 2*quiet, func() bool { return presses.Load() != want })
	}
	if n := w.Keys(); n > 20 {
		t.Errorf("the window got %d keys", n)
	}
}

func TestHeldHotkeyIsOnePress(t *testing.T) {
	r := desktest.Start(t, desktest.Options{})
	var presses atomic.Int32
	held(t, r.DesktopEnv(), Options{Pressed: func(string, time.Time) { presses.Add(1) }}, "ctrl+shift+space")
	r.KeyDown("ctrl+shift+space")
	r.Wait("the press", func() bool { return presses.Load() == 1 })
	r.Never("a repeat of the held key", 1500*time.Millisecond, func() bool { return presses.Load() > 1 })
	r.KeyUp("ctrl+shift+space")
	r.Never("a press by letting go", 2*quiet, func() bool { return presses.Load() > 1 })
	r.Key("ctrl+shift+space")
	r.Wait("the next press", func() bool { return presses.Load() == 2 })
}

func TestTakenHotkeyIsSaidAndTakenUpWhenFree(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	other, st := held(t, r.DesktopEnv(), Options{}, "ctrl+shift+space")
	if !st.Active {
		t.Fatalf("the first is not active: %+v", st)
	}
	s, st := held(t, r.DesktopEnv(), Options{}, "ctrl+shift+space")
	if st.Active || !strings.Contains(st.Problem, "Another program holds Ctrl+Shift+Space") {
		t.Fatalf("state %+v", st)
	}
	// Another combination is taken at once, without a restart.
	s.Set(r.DesktopEnv(), []Binding{{ID: Toggle, Combo: "ctrl+alt+p"}})
	if st := s.Settled(t.Context()); !st.Active || st.Combo != "ctrl+alt+p" || st.Problem != "" {
		t.Fatalf("after the change: %+v", st)
	}
	s.Set(r.DesktopEnv(), []Binding{{ID: Toggle, Combo: "ctrl+shift+space"}})
	if st := s.Settled(t.Context()); st.Active {
		t.Fatalf("two hold the same: %+v", st)
	}
	other.Close()
	desktest.WaitFor(t, "the freed combination", 20*time.Second, func() bool { return s.State().Active })
}

func TestPausedHotkeyReachesTheWindowBelow(t *testing.T) {
	r := desktest.Start(t, desktest.Options{})
	w := r.OpenWindow("editor", color.RGBA{B: 200, A: 255})
	var presses atomic.Int32
	s, _ := held(t, r.DesktopEnv(), Options{Pressed: func(string, time.Time) { presses.Add(1) }}, "ctrl+shift+space")
	if st := s.Pause(t.Context(), true); st.Active || !st.Paused {
		t.Fatalf("paused: %+v", st)
	}
	// The grab goes with the process, which may still be ending.
	r.Wait("the key to reach the window", func() bool {
		before := w.Keys()
		r.Key("ctrl+shift+space")
		return desktest.Eventually(100*time.Millisecond, func() bool { return w.Keys() >= before+3 })
	})
	at := presses.Load()
	if st := s.Pause(t.Context(), false); !st.Active || st.Paused {
		t.Fatalf("resumed: %+v", st)
	}
	r.Key("ctrl+shift+space")
	r.Wait("a press", func() bool { return presses.Load() == at+1 })
}

func TestDyingHotkeyProcessIsStartedAgain(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	var presses atomic.Int32
	s, _ := held(t, r.DesktopEnv(), Options{Pressed: func(string, time.Time) { presses.Add(1) }}, "f9")
	pid := childOf(t, Program)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.Wait("another process", func() bool { p := childOf(t, Program); return p != 0 && p != pid && s.State().Active })
	r.Key("F9")
	r.Wait("a press", func() bool { return presses.Load() == 1 })
}

func TestHotkeyProcessIsSmallAndEndsWithItsInput(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	s, _ := held(t, r.DesktopEnv(), Options{}, "f9")
	pid := childOf(t, Program)
	const limit = 15 // MB
	if rss := desktest.ResidentMB(t, pid); rss > limit {
		t.Errorf("perch-hotkey holds %.1f MB, more than %d", rss, limit)
	}
	s.Close()
	r.Wait("the process to be gone", func() bool { return childOf(t, Program) == 0 })
}

func TestHotkeyWithoutDisplayIsASentence(t *testing.T) {
	for name, c := range map[string]struct {
		env  control.DesktopEnv
		want string
	}{
		"no display":         {control.DesktopEnv{}, "no display"},
		"display is gone":    {control.DesktopEnv{Display: ":93"}, "tried again"},
		"Wayland, no portal": {control.DesktopEnv{WaylandDisplay: "wayland-0", SessionType: "wayland", Display: ":0"}, "perch toggle"},
	} {
		_, st := held(t, c.env, Options{}, "ctrl+shift+space")
		if st.Active || !strings.Contains(st.Problem, c.want) {
			t.Errorf("%s: %+v", name, st)
		}
	}
	s := New(Options{Path: "/nonexistent/perch-hotkey"})
	s.Set(control.DesktopEnv{Display: ":93"}, []Binding{{ID: Toggle, Combo: ""}})
	if st := s.Settled(t.Context()); st.Problem != "" {
		t.Errorf("a hotkey that is off has a problem: %+v", st)
	}
	s.Close()
}

func TestBadComboIsSaidByTheProcess(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	_, st := held(t, r.DesktopEnv(), Options{}, "ctrl+spcae")
	if st.Active || !strings.Contains(st.Problem, "spcae") {
		t.Errorf("state %+v", st)
	}
}

// TestHotkeyFollowsTheKeyboardLayout holds that the key that has the letter now is
// the hotkey, and that a letter which no key has is a sentence and no grab of
// every key.
func TestHotkeyFollowsTheKeyboardLayout(t *testing.T) {
	desktest.Need(t, "setxkbmap")
	r := desktest.Start(t, desktest.Options{})
	w := r.OpenWindow("editor", color.RGBA{B: 200, A: 255})
	layout := func(name string) {
		t.Helper()
		if out, err := r.Command("setxkbmap", name).CombinedOutput(); err != nil {
			t.Fatalf("setxkbmap %s: %v %s", name, err, out)
		}
	}
	layout("us")
	var presses atomic.Int32
	s, st := held(t, r.DesktopEnv(), Options{Pressed: func(string, time.Time) { presses.Add(1) }}, "ctrl+alt+s")
	if !st.Active {
		t.Fatalf("state %+v", st)
	}
	at := int32(0)
	for _, name := range []string{"us", "dvorak", "us"} {
		layout(name)
		r.Wait("a press on layout "+name, func() bool {
			r.Key("ctrl+alt+s")
			return desktest.Eventually(2*quiet, func() bool { return presses.Load() > at })
		})
		at = presses.Load()
	}
	layout("ru")
	r.Wait("the sentence", func() bool { return strings.Contains(s.State().Problem, `no key "s"`) })
	before := w.Keys()
	r.Type("1")
	r.Wait("an ordinary key to reach the window", func() bool { return w.Keys() > before })
	layout("us")
	r.Wait("the hotkey to be back", func() bool { return s.State().Active })
}

// portal records what it was asked to bind.
type portal struct {
	mu    sync.Mutex
	bound [][]Binding
}

func (p *portal) BindShortcuts(_ context.Context, bs []Binding) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bound = append(p.bound, bs)
	return nil
}

func TestWaylandHotkeysAreBoundAllAtOnce(t *testing.T) {
	p := &portal{}
	s := New(Options{Portal: p})
	defer s.Close()
	s.Set(control.DesktopEnv{WaylandDisplay: "wayland-0"}, []Binding{{ID: Toggle, Combo: "ctrl+space"}, {ID: PromptID("x"), Combo: "f8"}})
	if st := s.Settled(t.Context()); !st.Active {
		t.Fatalf("state %+v", st)
	}
	if len(p.bound) != 1 || len(p.bound[0]) != 2 {
		t.Errorf("bound %+v", p.bound)
	}
	s.Pause(t.Context(), true)
	desktest.WaitFor(t, "the shortcuts to be let go", time.Second, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.bound) == 2 && len(p.bound[1]) == 0
	})
}

// childOf is the process id of this test's own child of that name, 0 for none.
func childOf(t *testing.T, name string) int {
	t.Helper()
	self := os.Getpid()
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err != nil {
			continue
		}
		var pid, ppid int
		var comm, state string
		head, rest, ok := strings.Cut(string(b), ") ")
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%s %d", &state, &ppid); err != nil || ppid != self || state == "Z" {
			continue
		}
		ids, c, _ := strings.Cut(head, " (")
		comm = c
		if comm == name {
			fmt.Sscan(ids, &pid)
			return pid
		}
	}
	return 0
}
