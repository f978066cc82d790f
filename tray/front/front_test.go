//go:build linux

package front

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/desktest"
	"perch/tray/front/fronttest"
)

func TestMain(m *testing.M) {
	fronttest.PlayIfAsked()
	os.Exit(m.Run())
}

// quick are limits for tests.
var quick = Limits{Attach: 10 * time.Second, First: 10 * time.Second, Answer: 3 * time.Second, Wake: 2 * time.Second,
	Suspend: 20 * time.Millisecond, Rest: time.Hour, Grace: time.Second, Repaint: time.Millisecond}

// bridge is a supervisor with popups in a mode.
type bridge struct {
	*Supervisor
	env control.DesktopEnv

	mu       sync.Mutex // guards problems
	problems []string
}

func start(t *testing.T, mode string, l Limits) *bridge {
	t.Helper()
	b := &bridge{env: control.DesktopEnv{Display: ":71"}}
	b.Supervisor = New(Options{Command: []string{os.Args[0]}, Limits: l, OnProblem: func(e *chat.Error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, e.ID)
	}})
	fronttest.Connect(t, b.Supervisor, mode, b.Close)
	return b
}

func (b *bridge) order(t *testing.T, what, session string) control.FrontAck {
	t.Helper()
	a, err := b.Command(t.Context(), b.env, control.FrontCommand{ID: 7, What: what, Session: session})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if a.ID != 7 {
		t.Errorf("%s: answer to order %d", what, a.ID)
	}
	return a
}

// pid is the process of the popup, 0 for none.
func (b *bridge) pid() int {
	b.Supervisor.mu.Lock()
	defer b.Supervisor.mu.Unlock()
	if p := b.popups[b.env.Display]; p != nil && p.proc != nil {
		return p.proc.PID()
	}
	return 0
}

func TestPopupIsStartedOnceAndToggled(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	if a := b.order(t, "toggle", "s1"); !a.Visible || !b.Looking("s1") || b.Looking("s2") {
		t.Errorf("after the first press: %+v", a)
	}
	pid := b.pid()
	if a := b.order(t, "toggle", ""); a.Visible || b.Looking("s1") {
		t.Errorf("after the second press: %+v", a)
	}
	if b.order(t, "show", ""); b.pid() != pid {
		t.Error("another process was started")
	}
}

func TestHiddenPopupIsSuspendedAndWoken(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	b.order(t, "show", "")
	b.order(t, "hide", "")
	pid := b.pid()
	desktest.WaitFor(t, "the suspension", desktest.DefaultWait, func() bool { return desktest.ProcState(pid) == "T" })
	for range 3 {
		began := time.Now()
		if a := b.order(t, "toggle", ""); !a.Visible {
			t.Fatalf("%+v", a)
		}
		t.Logf("woken and shown in %v", time.Since(began))
		if b.pid() != pid || desktest.ProcState(pid) == "T" {
			t.Fatal("the popup was not woken but replaced")
		}
		b.order(t, "toggle", "")
		desktest.WaitFor(t, "the suspension", desktest.DefaultWait, func() bool { return desktest.ProcState(pid) == "T" })
	}
}

func TestPopupThatOwnsASelectionIsNotSuspended(t *testing.T) {
	b := start(t, fronttest.Owns, quick)
	b.order(t, "show", "")
	b.order(t, "hide", "")
	pid := b.pid()
	if desktest.Eventually(200*time.Millisecond, func() bool { return desktest.ProcState(pid) == "T" }) {
		t.Error("suspended although programs may ask it for the selection")
	}
}

func TestStuckPopupIsReplacedOnce(t *testing.T) {
	l := quick
	l.First = time.Second
	b := start(t, fronttest.StuckOnce, l)
	if a := b.order(t, "toggle", ""); !a.Visible {
		t.Errorf("%+v", a)
	}
	if len(b.problems) != 1 || b.problems[0] != "err.popup_restarted" {
		t.Errorf("problems %v", b.problems)
	}
}

func TestPopupStuckForGoodIsASentence(t *testing.T) {
	for _, mode := range []string{fronttest.Stuck, fronttest.Dies} {
		t.Run(mode, func(t *testing.T) {
			l := quick
			l.First, l.Attach = 300*time.Millisecond, 5*time.Second
			b := start(t, mode, l)
			_, err := b.Command(t.Context(), b.env, control.FrontCommand{What: "toggle"})
			if e := chat.AsError(err); e == nil || e.ID != "err.popup_dead" {
				t.Errorf("error %v", err)
			}
			if b.pid() != 0 {
				t.Error("a popup that does not answer was left running")
			}
		})
	}
}

func TestPopupThatIsDeadAfterItsSuspensionIsReplaced(t *testing.T) {
	b := start(t, fronttest.WedgesOnce, quick)
	b.order(t, "show", "")
	b.order(t, "hide", "")
	pid := b.pid()
	desktest.WaitFor(t, "the suspension", desktest.DefaultWait, func() bool { return desktest.ProcState(pid) == "T" })
	if a := b.order(t, "toggle", ""); !a.Visible || b.pid() == pid {
		t.Errorf("%+v, process %d as before", a, pid)
	}
	desktest.WaitFor(t, "the old one's end", desktest.DefaultWait, func() bool { return desktest.ProcState(pid) == "" })
}

func TestPopupIsEndedAfterALongRest(t *testing.T) {
	l := quick
	l.Rest = 100 * time.Millisecond
	b := start(t, fronttest.Works, l)
	b.order(t, "show", "")
	b.order(t, "hide", "")
	pid := b.pid()
	desktest.WaitFor(t, "the end", desktest.DefaultWait, func() bool { return b.pid() == 0 && desktest.ProcState(pid) == "" })
	if a := b.order(t, "toggle", ""); !a.Visible {
		t.Errorf("the next press: %+v", a)
	}
	if len(b.problems) > 0 {
		t.Errorf("problems %v", b.problems)
	}
}

func TestCrashedPopupIsStartedAtTheNextPress(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	b.order(t, "show", "")
	pid := b.pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	desktest.WaitFor(t, "the loss", desktest.DefaultWait, func() bool { return b.pid() == 0 })
	if b.Looking("") {
		t.Error("a dead popup is looked at")
	}
	if a := b.order(t, "toggle", ""); !a.Visible {
		t.Errorf("%+v", a)
	}
}

func TestScreenshotIsTakenWithoutThePopup(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	b.order(t, "show", "s9")
	var seen bool
	if err := b.WithoutPopups(t.Context(), b.env, func() error { seen = b.Looking("s9"); return errors.New("no picture") }); err == nil || err.Error() != "no picture" {
		t.Errorf("error %v", err)
	}
	if seen || !b.Looking("s9") {
		t.Errorf("in the picture %v, back afterwards %v", seen, b.Looking("s9"))
	}
	b.order(t, "hide", "")
	if err := b.WithoutPopups(t.Context(), b.env, func() error { return nil }); err != nil || b.Looking("s9") {
		t.Errorf("a hidden popup was shown, error %v", err)
	}
}

// TestPopupThatWaitsForAPictureIsNotSuspended is about a popup that hides itself
// to be out of the picture that it has asked for.
func TestPopupThatWaitsForAPictureIsNotSuspended(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	b.order(t, "show", "")
	pid := b.pid()
	b.order(t, "hide", "")
	err := b.WithoutPopups(t.Context(), b.env, func() error {
		if desktest.Eventually(10*quick.Suspend, func() bool { return desktest.ProcState(pid) == "T" }) {
			t.Error("suspended while the picture is taken")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	desktest.WaitFor(t, "the suspension afterwards", desktest.DefaultWait, func() bool { return desktest.ProcState(pid) == "T" })
}

func TestNothingIsLeftRunning(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	b.order(t, "show", "")
	b.order(t, "hide", "")
	pid := b.pid()
	desktest.WaitFor(t, "the suspension", desktest.DefaultWait, func() bool { return desktest.ProcState(pid) == "T" })
	b.Close()
	if s := desktest.ProcState(pid); s != "" {
		t.Errorf("process in state %q after the end", s)
	}
	if _, err := b.Command(t.Context(), b.env, control.FrontCommand{What: "show"}); chat.AsError(err).ID != "err.closing" {
		t.Errorf("after the end: %v", err)
	}
}

func TestOrdersWithoutAPopupAreSentences(t *testing.T) {
	s := New(Options{Command: []string{"/nonexistent/perch-popup"}})
	defer s.Close()
	for name, c := range map[string]struct {
		env  control.DesktopEnv
		what string
		id   string
	}{
		"no display":       {control.DesktopEnv{}, "show", "err.no_display"},
		"no program":       {control.DesktopEnv{Display: ":71"}, "show", "err.popup_start"},
		"nothing to hide":  {control.DesktopEnv{Display: ":71"}, "hide", ""},
		"a stranger's ack": {control.DesktopEnv{Display: ":72"}, "", "err.popup_unknown"},
	} {
		var err error
		if c.what == "" {
			err = s.Ack(t.Context(), c.env.Display, control.FrontAck{})
		} else {
			_, err = s.Command(t.Context(), c.env, control.FrontCommand{What: c.what})
		}
		id := ""
		if err != nil {
			id = chat.AsError(err).ID
		}
		if id != c.id {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecondPopupOfADisplayIsRefused(t *testing.T) {
	b := start(t, fronttest.Works, quick)
	b.order(t, "show", "")
	err := b.Attach(t.Context(), b.env.Display, 1, func(control.FrontCommand) error { return nil })
	if chat.AsError(err).ID != "err.popup_twice" {
		t.Errorf("error %v", err)
	}
}
