package desktop

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/desktest"
)

// recorder keeps the events of a role.
type recorder struct {
	mu       sync.Mutex
	events   []Event
	problems []*chat.Error
}

func (r *recorder) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) problem(e *chat.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, e)
}

// count is how many events of a kind with that action and argument came.
func (r *recorder) count(kind, action, arg string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events {
		if e.Kind == kind && e.Action == action && e.Arg == arg {
			n++
		}
	}
	return n
}

// start starts a role on a desktop.
func start(t *testing.T, env control.DesktopEnv) (*Supervisor, *recorder) {
	t.Helper()
	rec := &recorder{}
	s := New(Options{Command: []string{os.Args[0], Argument}, OnEvent: rec.event, OnProblem: rec.problem,
		Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	t.Cleanup(s.Close)
	if err := s.Start(env); err != nil {
		t.Fatal(err)
	}
	return s, rec
}

// testLog shows the supervisor's log when the test fails.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) { l.t.Log(string(b)); return len(b), nil }

func menu(sessions ...string) Menu {
	m := Menu{Icon: IconIdle, Name: "Perch", ToolTip: "Perch", Entries: []Entry{
		{Label: "Ask (Ctrl+Shift+Space)", Action: "ask"}, {Label: "New session", Action: "new"}, {Separator: true}}}
	for _, s := range sessions {
		m.Entries = append(m.Entries, Entry{Label: s + " · now", Action: "session", Arg: s})
	}
	return Menu{m.Icon, m.Name, m.ToolTip, append(m.Entries, Entry{Separator: true},
		Entry{Label: "Pause hotkey", Action: "pause", Checkable: true}, Entry{Label: "Quit", Action: "quit"})}
}

func TestTrayMenuIsShownAndClickedOverTheBus(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	s, rec := start(t, r.DesktopEnv())
	s.SetMenu(menu("first", "second"))
	r.Wait("the icon", func() bool { return r.Host.Icons() == 1 && s.Shown() })
	r.Host.Click("second")
	r.Wait("the click", func() bool { return rec.count(Action, "session", "second") == 1 })
	if err := r.Host.Activate(); err != nil {
		t.Fatal(err)
	}
	r.Wait("the click on the icon", func() bool { return rec.count(Action, ClickIcon, "") == 1 })

	// A new session moves the others: no click may reach the wrong one.
	s.SetMenu(menu("third", "first", "second"))
	r.Wait("the new entry", func() bool { _, ok := r.Host.Find("third"); return ok })
	r.Host.Click("first")
	r.Wait("the click", func() bool { return rec.count(Action, "session", "first") == 1 })

	m := menu("third", "first", "second")
	m.Icon, m.Entries[7].Checked, m.Entries[0].Label = IconBusy, true, "Ask (off)"
	before := r.Host.Icon()
	s.SetMenu(m)
	r.Wait("the mark and the label", func() bool {
		e, ok := r.Host.Find("Pause")
		_, off := r.Host.Find("Ask (off)")
		return ok && off && e.Checked
	})
	r.Wait("another icon", func() bool { return !equal(before, r.Host.Icon()) })
}

func equal(a, b image.Image) bool {
	return a != nil && b != nil && bytes.Equal(a.(*image.NRGBA).Pix, b.(*image.NRGBA).Pix)
}

func TestRoleWithoutAMenuShowsNoIcon(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	s, rec := start(t, r.DesktopEnv())
	if _, err := s.ReadClipboard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.Host.Icons() != 0 || rec.count(TrayShown, "", "") != 0 {
		t.Error("an icon for an owner without a tray")
	}
}

func TestTrayHostThatComesLaterGetsTheIcon(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	s, rec := start(t, r.DesktopEnv())
	s.SetMenu(menu("first"))
	r.Wait("the word that there is no tray host", func() bool { return rec.count(TrayShown, "", "") == 1 && !s.Shown() })
	for range 2 { // the second is a panel that was restarted
		h := r.StartHost()
		r.Wait("the icon", func() bool { _, ok := h.Find("first"); return ok && s.Shown() })
		h.Stop()
		r.Wait("the loss", func() bool { return !s.Shown() })
	}
}

// TestIconThatATrayMissedIsPutThereAgain is about a tray that comes at the moment
// when the library does not listen yet.
func TestIconThatATrayMissedIsPutThereAgain(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	r.Host.Lose()
	s, _ := start(t, r.DesktopEnv())
	s.SetMenu(menu("first"))
	r.Wait("the icon", func() bool { return r.Host.Icons() == 1 })
}

func TestNotificationIsOpenedByAClick(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", Notifications: desktest.Recorder})
	s, rec := start(t, r.DesktopEnv())
	if err := s.Notify(t.Context(), Note{Title: "A <b>title</b>\nin two lines", Body: "1 < 2 & <img src='x'>", Session: "s1", Open: "Open"}); err != nil {
		t.Fatal(err)
	}
	n := r.Notes.WaitCount(1)[0]
	if n.Summary != "A <b>title</b> in two lines" || n.Body != "1 &lt; 2 &amp; &lt;img src='x'&gt;" {
		t.Errorf("title %q, body %q", n.Summary, n.Body)
	}
	if strings.Join(n.Actions, " ") != "default Open open Open" {
		t.Errorf("actions %q", n.Actions)
	}
	r.Notes.Invoke(n.ID, "open")
	r.Wait("the click", func() bool { return rec.count(Action, ClickNote, "s1") == 1 })
	// The next one of the same session takes its place.
	if err := s.Notify(t.Context(), Note{Title: "again", Session: "s1", Open: "Open"}); err != nil {
		t.Fatal(err)
	}
	if again := r.Notes.WaitCount(2)[1]; again.Replaces != n.ID {
		t.Errorf("replaces %d, want %d", again.Replaces, n.ID)
	}
	// Another program's notification is none of ours.
	r.Notes.Invoke(n.ID+100, "open")
	r.Never("a click that was none", 50*time.Millisecond, func() bool { return rec.count(Action, ClickNote, "") > 0 })
}

func TestNotificationServiceWithoutActionsOrMarkup(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none"})
	notes := r.StartNotesWith("body")
	s, _ := start(t, r.DesktopEnv())
	if err := s.Notify(t.Context(), Note{Title: "t", Body: "1 < 2", Session: "s1", Open: "Open"}); err != nil {
		t.Fatal(err)
	}
	if n := notes.WaitCount(1)[0]; len(n.Actions) != 0 || n.Body != "1 < 2" {
		t.Errorf("actions %q, body %q", n.Actions, n.Body)
	}
}

// TestTrayLivesOnAfterNotifications holds that a notification does not take the
// tray's bus connection along, without a service too.
func TestTrayLivesOnAfterNotifications(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	s, rec := start(t, r.DesktopEnv())
	s.SetMenu(menu("first"))
	err := s.Notify(t.Context(), Note{Title: "t", Body: "b", Session: "s1"})
	if e := chat.AsError(err); e == nil || e.ID != "err.no_notifications" {
		t.Errorf("without a service: %v", err)
	}
	notes := r.StartNotes()
	for range 3 {
		if err := s.Notify(t.Context(), Note{Title: "t", Body: "b"}); err != nil {
			t.Fatal(err)
		}
	}
	notes.WaitCount(3)
	r.Host.Click("Quit")
	r.Wait("the click", func() bool { return rec.count(Action, "quit", "") == 1 })
}

func TestScreenshotShowsScreenWindowAndRegion(t *testing.T) {
	r := desktest.Start(t, desktest.Options{})
	s, _ := start(t, r.DesktopEnv())
	fill := color.RGBA{R: 200, G: 30, B: 40, A: 255}
	w := r.OpenWindow("editor", fill)
	b := r.Bounds(w.ID)
	r.Wait("the window to be painted", func() bool {
		c := r.Screen().NRGBAAt(b.Min.X+5, b.Min.Y+5)
		return c.R == 200 && c.G == 30
	})
	take := func(shot control.Shot) image.Image {
		t.Helper()
		data, err := s.Screenshot(t.Context(), shot)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	if img := take(control.Shot{What: ShotScreen}); img.Bounds().Dx() != 1280 || img.Bounds().Dy() != 800 || !isColor(img.At(b.Min.X+5, b.Min.Y+5), fill) {
		t.Errorf("screen: %v, %v", img.Bounds(), img.At(b.Min.X+5, b.Min.Y+5))
	}
	img := take(control.Shot{What: ShotWindow})
	if img.Bounds().Dx() < b.Dx() || img.Bounds().Dx() > b.Dx()+40 || !isColor(img.At(img.Bounds().Dx()/2, img.Bounds().Dy()/2), fill) {
		t.Errorf("window: %v, %v", img.Bounds(), b)
	}
	img = take(control.Shot{What: ShotRegion, Rect: [4]int{b.Min.X + 10, b.Min.Y + 10, 30, 20}})
	if img.Bounds().Dx() != 30 || img.Bounds().Dy() != 20 || !isColor(img.At(0, 0), fill) {
		t.Errorf("region: %v", img.Bounds())
	}
	_, err := s.Screenshot(t.Context(), control.Shot{What: ShotRegion, Rect: [4]int{5000, 5000, 10, 10}})
	if e := chat.AsError(err); e == nil || e.ID != "err.shot_empty" {
		t.Errorf("outside: %v", err)
	}
	_, err = s.Screenshot(t.Context(), control.Shot{What: ShotWindow, Window: 0x7fffff})
	if e := chat.AsError(err); e == nil || e.ID != "err.shot_window_gone" {
		t.Errorf("no such window: %v", err)
	}
}

func isColor(c color.Color, want color.RGBA) bool {
	r, g, b, _ := c.RGBA()
	return byte(r>>8) == want.R && byte(g>>8) == want.G && byte(b>>8) == want.B
}

func TestDesktopWithoutItsPartsIsSentences(t *testing.T) {
	t.Run("no desktop yet", func(t *testing.T) {
		s := New(Options{})
		defer s.Close()
		if _, err := s.ReadClipboard(t.Context()); chat.AsError(err).ID != "err.no_desktop" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no display and no bus", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir()) // no xclip to fall back on
		s, _ := start(t, control.DesktopEnv{Bus: "unix:path=/nonexistent", SessionType: "x11"})
		for what, c := range map[string]struct {
			id string
			do func() error
		}{
			"clipboard":    {"err.no_clipboard", func() error { _, err := s.ReadClipboard(t.Context()); return err }},
			"copy":         {"err.no_clipboard", func() error { return s.WriteClipboard(t.Context(), control.Clip{Text: "x"}) }},
			"screenshot":   {"err.shot_no_display", func() error { _, err := s.Screenshot(t.Context(), control.Shot{What: ShotScreen}); return err }},
			"notification": {"err.no_notifications", func() error { return s.Notify(t.Context(), Note{Title: "t"}) }},
		} {
			if e := chat.AsError(c.do()); e == nil || e.ID != c.id {
				t.Errorf("%s: %v, want %s", what, e, c.id)
			}
		}
	})
	t.Run("the display is gone", func(t *testing.T) {
		s, _ := start(t, control.DesktopEnv{Display: ":95", Bus: "unix:path=/nonexistent", SessionType: "x11"})
		_, err := s.Screenshot(t.Context(), control.Shot{What: ShotScreen})
		if e := chat.AsError(err); e == nil || e.ID != "err.shot_failed" || !strings.Contains(e.Message, ":95") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a role that cannot be started", func(t *testing.T) {
		rec := &recorder{}
		s := New(Options{Command: []string{"/nonexistent/perch", Argument}, OnProblem: rec.problem})
		defer s.Close()
		if err := s.Start(control.DesktopEnv{Display: ":95"}); err != nil {
			t.Fatal(err)
		}
		desktest.WaitFor(t, "a line about it", desktest.DefaultWait, func() bool { rec.mu.Lock(); defer rec.mu.Unlock(); return len(rec.problems) > 0 })
	})
}

// TestIdleRoleCostsNothing measures the role as it is all day long: with its
// icon shown and nothing happening.
func TestIdleRoleCostsNothing(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	s, _ := start(t, r.DesktopEnv())
	s.SetMenu(menu("first", "second", "third"))
	r.Wait("the icon", func() bool { _, ok := r.Host.Find("third"); return ok })
	s.mu.Lock()
	pid := s.p.PID()
	s.mu.Unlock()
	before := desktest.Ticks(t, pid)
	r.Never("more than one tick", 3*time.Second, func() bool { return desktest.Ticks(t, pid) > before+1 })
	t.Logf("desktop role: %.1f MB resident, %d ticks in 3 s", desktest.ResidentMB(t, pid), desktest.Ticks(t, pid)-before)
}

// TestClickReachesPerchFromTheRealDaemon uses dunst and its own tool.
func TestClickReachesPerchFromTheRealDaemon(t *testing.T) {
	desktest.Need(t, "dunstctl")
	r := desktest.Start(t, desktest.Options{Notifications: desktest.Dunst})
	s, rec := start(t, r.DesktopEnv())
	if err := s.Notify(t.Context(), Note{Title: "Title", Body: "a < b & c", Session: "s1", Open: "Open"}); err != nil {
		t.Fatal(err)
	}
	r.Wait("the click", func() bool {
		cmd := exec.Command("dunstctl", "action", "0")
		cmd.Env = r.Env()
		_ = cmd.Run() // nothing to click yet
		return rec.count(Action, ClickNote, "s1") > 0
	})
}

// TestRealPanelShowsTheIconAndItsMenu uses the panel of Xfce and a mouse.
func TestRealPanelShowsTheIconAndItsMenu(t *testing.T) {
	desktest.Need(t, "xfce4-panel", "xfwm4")
	r := desktest.Start(t, desktest.Options{WM: "xfwm4"})
	r.Run(r.Command("xfce4-panel", "--disable-wm-check"))
	s, rec := start(t, r.DesktopEnv())
	s.SetMenu(menu("first"))
	var at image.Point
	r.Wait("the panel to show the icon", func() bool { at = find(r.Screen(), birdColor); return s.Shown() && at != image.Point{} })
	// The panel moves its icons while it starts: look again before each click.
	r.Wait("the click on the icon", func() bool {
		if at = find(r.Screen(), birdColor); at == (image.Point{}) {
			return false
		}
		r.Click(at.X, at.Y, 1)
		return desktest.Eventually(500*time.Millisecond, func() bool { return rec.count(Action, ClickIcon, "") > 0 })
	})
	r.Wait("the first entry to be chosen", func() bool {
		r.Click(at.X, at.Y, 3)
		r.Key("Down", "Return")
		return desktest.Eventually(500*time.Millisecond, func() bool { return rec.count(Action, "ask", "") > 0 })
	})
}

// find is a pixel of that colour, or the zero point.
func find(img *image.NRGBA, c color.NRGBA) image.Point {
	for i := 0; i+4 <= len(img.Pix); i += 4 {
		if img.Pix[i] == c.R && img.Pix[i+1] == c.G && img.Pix[i+2] == c.B {
			n := i / 4
			return image.Pt(n%img.Rect.Dx(), n/img.Rect.Dx())
		}
	}
	return image.Point{}
}
