package tray

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"perch/tray/desktest"
	"perch/tray/desktop"
	"perch/tray/hotkey"
)

// TestFigures prints what the tray's processes cost, where PERCH_FIGURES is set:
// the memory and processor time of a quiet minute, and how soon a press is known.
// PERCH_BIN names a built perch; without it the role is the test binary, which is
// larger.
func TestFigures(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("set PERCH_FIGURES=1m to measure for a minute")
	}
	quietMinute := time.Minute
	if d, err := time.ParseDuration(os.Getenv("PERCH_FIGURES")); err == nil {
		quietMinute = d
	}
	r := desktest.Start(t, desktest.Options{TrayHost: true, Notifications: desktest.Recorder})
	role := []string{os.Args[0], desktop.Argument}
	if bin := os.Getenv("PERCH_BIN"); bin != "" {
		role[0] = bin
	}
	s := desktop.New(desktop.Options{Command: role})
	defer s.Close()
	if err := s.Start(r.DesktopEnv()); err != nil {
		t.Fatal(err)
	}
	s.SetMenu(menuOf(sessions("one", "two", "three"), loginState{possible: true}, english, time.Now()))
	r.Wait("the icon", func() bool { _, ok := r.Host.Find("three"); return ok })

	pressed := make(chan time.Time, 8)
	keys := hotkey.New(hotkey.Options{Path: program(t), Pressed: func(string, time.Time) { pressed <- time.Now() }})
	defer keys.Close()
	keys.Set(r.DesktopEnv(), []hotkey.Binding{{ID: hotkey.Toggle, Combo: "ctrl+shift+space"}})
	if st := keys.Settled(t.Context()); !st.Active {
		t.Fatalf("hotkey: %+v", st)
	}

	helpers := map[string]int{}
	for _, pid := range children(os.Getpid()) {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			continue
		}
		switch filepath.Base(exe) {
		case hotkey.Program:
			helpers["hotkey process"] = pid
		case filepath.Base(role[0]):
			helpers["desktop role"] = pid
		}
	}
	before := map[string]int{}
	for name, pid := range helpers {
		before[name] = desktest.Ticks(t, pid)
	}
	timer := time.NewTimer(quietMinute)
	<-timer.C
	for name, pid := range helpers {
		t.Logf("FIGURE %s: %.1f MB resident, %d ticks in %v", name, desktest.ResidentMB(t, pid), desktest.Ticks(t, pid)-before[name], quietMinute)
	}

	var took []time.Duration
	for range 21 {
		at := r.Hit(desktest.KeyControl, desktest.KeyShift, desktest.KeySpace)
		select {
		case p := <-pressed:
			took = append(took, p.Sub(at))
		case <-time.After(desktest.DefaultWait):
			t.Fatal("a press was lost")
		}
		// The next press of a person comes later than a bounce of the key.
		time.Sleep(200 * time.Millisecond)
	}
	slices.Sort(took)
	t.Logf("FIGURE key down to press known: median %v, worst %v", took[len(took)/2], took[len(took)-1])
}
