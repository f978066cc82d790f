package tray

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"perch/tray/desktest"
	"perch/tray/desktop"
	"perch/tray/hotkey"
)

// figure prints one line of the table of figures.
func figure(t *testing.T, what, value, goal, beside string) {
	t.Helper()
	t.Logf("FIGURE\ttray\t%s\t%s\t%s\t%s", what, value, goal, beside)
}

// quietTime is how long an idle process is watched: PERCH_FIGURES where it is a
// duration.
func quietTime() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("PERCH_FIGURES")); err == nil {
		return d
	}
	return time.Minute
}

// bin is a program that make build made; the test is skipped without it.
func bin(t *testing.T, name string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(cmp.Or(os.Getenv("PERCH_BIN"), "../bin"), name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err != nil {
		t.Skipf("%s is missing; run make build", p)
	}
	return p
}

// TestFigures prints what the tray costs and how soon a press shows the popup,
// with the built programs, where PERCH_FIGURES is set.
func TestFigures(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("set PERCH_FIGURES=1 to measure for some minutes")
	}
	perch := bin(t, "perch")
	bin(t, "perch-hotkey")
	bin(t, "perch-popup")
	r := desktest.Start(t, desktest.Options{TrayHost: true, Notifications: desktest.Recorder})
	editor := r.OpenWindow("editor", color.RGBA{R: 1, G: 2, B: 3, A: 255})
	cmd := r.Command(perch)
	home := filepath.Join(r.Dir, "perch")
	cmd.Env = append(cmd.Env, "PERCH_HOME="+home)
	r.Run(cmd)
	r.Wait("the tray with its hotkey", func() bool { _, ok := r.Host.Find("(Ctrl+Shift+Space)"); return ok })

	cold := press(r)
	r.Wait("the popup", func() bool { return !editor.Focused() })
	figure(t, "popup cold: hotkey to focused", ms(time.Since(cold)), "≤ 1500 ms", "started ahead by the tray, first window")
	popup := r.Active()
	r.Wait("the popup's window to be active", func() bool { popup = r.Active(); return popup != 0 && popup != editor.ID && !r.Bounds(popup).Empty() })
	at := centre(r.Bounds(popup))

	var focused, painted []time.Duration
	hide := func() {
		settle()
		press(r)
		r.Wait("the focus to be back", editor.Focused)
		settle()
	}
	for range 21 {
		hide()
		under := r.Pixel(at)
		began := press(r)
		var f, p time.Duration
		r.Wait("the popup", func() bool {
			if f == 0 && !editor.Focused() {
				f = time.Since(began)
			}
			if p == 0 && r.Pixel(at) != under {
				p = time.Since(began)
			}
			return f > 0 && p > 0
		})
		focused, painted = append(focused, f), append(painted, p)
	}
	figure(t, "popup warm: hotkey to focused, median", ms(median(focused)), "≤ 20 ms", "worst "+ms(slices.Max(focused)))
	figure(t, "popup warm: hotkey to painted, median", ms(median(painted)), "≤ 25 ms", "worst "+ms(slices.Max(painted)))
	hide()

	pids := helpers(cmd.Process.Pid)
	pids["perch"] = cmd.Process.Pid
	r.Wait("the popup to be suspended", func() bool { return desktest.ProcState(pids["perch-popup"]) == "T" })
	before := map[string]int{}
	for name, pid := range pids {
		before[name] = desktest.Ticks(t, pid)
	}
	timer := time.NewTimer(quietTime())
	<-timer.C
	used := func(name string) int { return desktest.Ticks(t, pids[name]) - before[name] }
	mb := func(names ...string) string {
		sum := 0.0
		for _, n := range names {
			sum += desktest.ResidentMB(t, pids[n])
		}
		return fmt.Sprintf("%.1f MB", sum)
	}
	over := " in " + quietTime().String()
	figure(t, "tray idle: memory of perch and desktop role", mb("perch", desktop.Argument), "≤ 25 MB",
		"perch "+mb("perch")+", role "+mb(desktop.Argument))
	figure(t, "tray idle: processor", fmt.Sprintf("%d ticks%s", used("perch")+used(desktop.Argument), over), "≤ 1 tick", "a tick is 10 ms")
	figure(t, "hotkey process", mb(hotkey.Program), "≤ 15 MB", fmt.Sprintf("%d ticks%s", used(hotkey.Program), over))
	figure(t, "hidden popup: processor", fmt.Sprintf("%d ticks%s", used("perch-popup"), over), "0 ticks", "suspended; "+mb("perch-popup"))
	began := press(r)
	r.Wait("the popup", func() bool { return !editor.Focused() })
	figure(t, "press after "+quietTime().String()+" hidden, to focused", ms(time.Since(began)), "≤ 60 ms", "woken from its suspension")
}

// TestFiguresOfAPress prints how soon a press is known to Perch, without popup.
func TestFiguresOfAPress(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("set PERCH_FIGURES=1 to measure")
	}
	r := desktest.Start(t, desktest.Options{})
	pressed := make(chan time.Time, 8)
	keys := hotkey.New(hotkey.Options{Path: program(t), Pressed: func(string, time.Time) { pressed <- time.Now() }})
	defer keys.Close()
	keys.Set(r.DesktopEnv(), []hotkey.Binding{{ID: hotkey.Toggle, Combo: "ctrl+shift+space"}})
	if st := keys.Settled(t.Context()); !st.Active {
		t.Fatalf("hotkey: %+v", st)
	}
	var took []time.Duration
	for range 21 {
		at := press(r)
		select {
		case p := <-pressed:
			took = append(took, p.Sub(at))
		case <-time.After(desktest.DefaultWait):
			t.Fatal("a press was lost")
		}
		settle()
	}
	figure(t, "key down to press known, median", ms(median(took)), "", "worst "+ms(slices.Max(took)))
}

func press(r *desktest.Rig) time.Time {
	return r.Hit(desktest.KeyControl, desktest.KeyShift, desktest.KeySpace)
}

// settle waits as long as two presses of a person are apart at least: a time by
// its nature.
func settle() { time.Sleep(300 * time.Millisecond) }

func centre(r image.Rectangle) image.Point { return image.Pt((r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y)/2) }

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// helpers are the processes of an owner, by program or role.
func helpers(owner int) map[string]int {
	out := map[string]int{}
	for _, pid := range children(owner) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		name := filepath.Base(args[0])
		if len(args) > 1 && args[1] == desktop.Argument {
			name = desktop.Argument
		}
		out[name] = pid
	}
	return out
}
