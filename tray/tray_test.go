package tray

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"perch/assets"
	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/tray/desktop"
	"perch/tray/front/fronttest"
)

// TestMain lets the test binary play the desktop role, as perch does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == desktop.Argument {
		os.Exit(desktop.Main(context.Background(), os.Stdin, os.Stdout))
	}
	fronttest.PlayIfAsked()
	playOwnerIfAsked()
	code := m.Run()
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

// atEnd is done when the tests are over.
var atEnd []func()

var english = assets.NewTexts("en")

func TestMenuSaysEverythingOfTheState(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	st := control.State{Hotkey: control.HotkeyState{Combo: "ctrl+shift+space", Active: true}}
	for i, s := range []struct {
		title string
		act   control.Activity
		ago   time.Duration
	}{
		{"Fix the build", control.Running, 10 * time.Second},
		{"", "", 5 * time.Minute},
		{"Two\nlines with a_b", control.Waiting, 3 * time.Hour},
		{strings.Repeat("long ", 30), control.Failed, 50 * time.Hour},
	} {
		st.Recent = append(st.Recent, control.SessionInfo{ID: string(rune('a' + i)), Title: s.title, Activity: s.act, Used: now.Add(-s.ago)})
	}
	m := menuOf(st, loginState{possible: true, on: true}, english, now)
	var got []string
	for _, e := range m.Entries {
		switch {
		case e.Separator:
			got = append(got, "-")
		default:
			got = append(got, e.Action+e.Arg+": "+e.Label)
		}
	}
	want := []string{
		"ask: Ask (Ctrl+Shift+Space)", "new: New session", "-",
		"sessiona: ▶ Fix the build · now", "sessionb: Untitled session · 5 min",
		"sessionc: ? Two lines with a__b · 3 h", "sessiond: ! long long long long long long long long long lo… · 2 d",
		"all: All sessions…", "-", "knowledge: Knowledge…", "settings: Settings…", "pause: Pause hotkey",
		"login: Start at login", "-", "quit: Quit",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("menu:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range 20 {
		st.Recent = append(st.Recent, control.SessionInfo{ID: "x"})
	}
	n := 0
	for _, e := range menuOf(st, loginState{}, english, now).Entries {
		if e.Action == actSession {
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d sessions in the menu", n)
	}
}

func TestMenuIsShownAgainWhenAnAgeChanges(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for want, agos := range map[time.Duration][]time.Duration{
		24 * time.Hour:   {},
		50 * time.Second: {10 * time.Second},
		time.Minute:      {5 * time.Minute},
		59 * time.Second: {time.Minute + time.Second, -time.Hour}, // one from a clock that was set back
		30 * time.Minute: {90 * time.Minute, 26 * time.Hour},
		22 * time.Hour:   {26 * time.Hour},
		20 * time.Second: {26 * time.Hour, 40 * time.Second},
	} {
		var recent []control.SessionInfo
		for _, ago := range agos {
			recent = append(recent, control.SessionInfo{Used: now.Add(-ago)})
		}
		if got := untilOlder(recent, now); got != want {
			t.Errorf("%v: %v, want %v", agos, got, want)
		}
		// At that moment, and not before, the menu is another one.
		if len(agos) > 0 && agos[0] > 0 {
			at := func(d time.Duration) string {
				var b strings.Builder
				for _, e := range menuOf(control.State{Recent: recent}, loginState{}, english, now.Add(d)).Entries {
					b.WriteString(e.Label + "\n")
				}
				return b.String()
			}
			if at(0) != at(want-time.Second) || at(0) == at(want) {
				t.Errorf("%v: the menu does not change after %v", agos, want)
			}
		}
	}
}

func TestIconShowsTheMostUrgent(t *testing.T) {
	for _, c := range []struct {
		st   control.State
		icon desktop.Icon
		tip  string
	}{
		{control.State{}, desktop.IconIdle, "Perch"},
		{control.State{Activity: control.Done}, desktop.IconIdle, "Perch"},
		{control.State{Activity: control.Running}, desktop.IconBusy, "working"},
		{control.State{Activity: control.Waiting}, desktop.IconWaiting, "waits for your answer"},
		{control.State{Activity: control.Failed}, desktop.IconError, "failed"},
		{control.State{Hotkey: control.HotkeyState{Problem: "it is taken"}}, desktop.IconError, "it is taken"},
		{control.State{Hotkey: control.HotkeyState{Problem: "it is taken", Paused: true}}, desktop.IconIdle, "Perch"},
		{control.State{Activity: control.Running, Hotkey: control.HotkeyState{Problem: "x"}}, desktop.IconBusy, "x"},
	} {
		m := menuOf(c.st, loginState{}, english, time.Now())
		if m.Icon != c.icon || !strings.Contains(m.ToolTip, c.tip) {
			t.Errorf("%+v: %s, %q", c.st, m.Icon, m.ToolTip)
		}
	}
}

func TestHotkeyIsNamedOnlyWhereItWorks(t *testing.T) {
	for want, h := range map[string]control.HotkeyState{
		"Ask (Ctrl+Alt+P)": {Combo: "ctrl+alt+p", Active: true},
		"Ask":              {Combo: "ctrl+alt+p"},
	} {
		if got := askLabel(h, english); got != want {
			t.Errorf("%+v: %q", h, got)
		}
	}
	if got := askLabel(control.HotkeyState{Combo: "ctrl+alt+p", Active: true, Paused: true}, english); got != "Ask" {
		t.Errorf("paused: %q", got)
	}
}

func TestOnlyWhatTheUserMissesIsAnnounced(t *testing.T) {
	result := func(stop chat.StopReason, err *chat.Error) *chat.Result {
		return &chat.Result{StopReason: stop, Error: err}
	}
	failure := chat.NewError(chat.ClassAuth, "err.x", "No key.")
	for name, c := range map[string]struct {
		o       Outcome
		off     bool
		looking bool
		want    occasion
	}{
		"long run":                      {Outcome{Result: result(chat.StopEnd, nil), Took: 11 * time.Second}, false, false, done},
		"exactly at the limit":          {Outcome{Result: result(chat.StopEnd, nil), Took: 10 * time.Second}, false, false, nothing},
		"short run":                     {Outcome{Result: result(chat.StopEnd, nil), Took: time.Second}, false, false, nothing},
		"short run that failed":         {Outcome{Result: result(chat.StopError, failure), Took: time.Second}, false, false, failed},
		"stopped by the user":           {Outcome{Result: result(chat.StopAborted, nil), Took: time.Minute}, false, false, nothing},
		"stopped, told as an error":     {Outcome{Result: result(chat.StopAborted, chat.NewError(chat.ClassAborted, "err.aborted", "Stopped."))}, false, false, nothing},
		"question":                      {Outcome{Question: &chat.Permission{Name: "run_command"}}, false, false, question},
		"question in front of the user": {Outcome{Question: &chat.Permission{Name: "run_command"}}, false, true, nothing},
		"long run watched":              {Outcome{Result: result(chat.StopEnd, nil), Took: time.Minute}, false, true, nothing},
		"failure, switched off":         {Outcome{Result: result(chat.StopError, failure)}, true, false, nothing},
		"nothing":                       {Outcome{}, false, false, nothing},
	} {
		if got := occasionOf(c.o, config.Notify{Off: c.off, AfterSeconds: 10}, c.looking); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestNoteSaysTheOutcomeInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		o    Outcome
		why  occasion
		want string
	}{
		"answer":     {Outcome{Title: "T", Session: "s", Result: &chat.Result{Text: "\n\n## The **answer** is `42`.\n\nMore."}}, done, "T|The answer is 42."},
		"code first": {Outcome{Title: "T", Result: &chat.Result{Text: "```go\nfunc main() {}\n```"}}, done, "T|func main() {}"},
		"list":       {Outcome{Title: "T", Result: &chat.Result{Text: "- first\n- second"}}, done, "T|first"},
		"empty":      {Outcome{Result: &chat.Result{}}, done, "Untitled session|Done."},
		"failure":    {Outcome{Title: "T", Result: &chat.Result{Error: chat.NewError(chat.ClassAuth, "err.unknown_id", "No key. Enter one.")}}, failed, "T|Failed: No key. Enter one."},
		"question":   {Outcome{Title: "T", Question: &chat.Permission{Name: "run_command", Detail: "rm -rf x\nsecond line"}}, question, "T|Perch waits for your answer: run_command rm -rf x"},
	} {
		n := noteOf(c.o, c.why, english)
		if got := n.Title + "|" + n.Body; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if n.Session != c.o.Session {
			t.Errorf("%s: session %q", name, n.Session)
		}
	}
	long := noteOf(Outcome{Result: &chat.Result{Text: strings.Repeat("word ", 200)}}, done, english)
	if n := len([]rune(long.Body)); n > maxNote {
		t.Errorf("body of %d characters", n)
	}
}

func TestASessionIsAnnouncedOnceInFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var shown []string
		p := newPacer(notePause, func(o Outcome) {
			mu.Lock()
			defer mu.Unlock()
			shown = append(shown, o.Session+o.Title)
		})
		defer p.close()
		check := func(want string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(shown, " "); got != want {
				t.Errorf("shown %q, want %q", got, want)
			}
		}
		for _, title := range []string{"1", "2", "3", "4"} {
			p.tell(Outcome{Session: "a", Title: title})
		}
		p.tell(Outcome{Session: "b", Title: "1"})
		synctest.Wait()
		mu.Lock()
		n := len(shown)
		shown = nil
		mu.Unlock()
		if n != 2 {
			t.Fatalf("%d at once", n)
		}
		time.Sleep(notePause - time.Millisecond)
		check("")
		time.Sleep(time.Millisecond)
		check("a4") // the newest of what waited
		time.Sleep(2 * notePause)
		check("a4")
		p.tell(Outcome{Session: "a", Title: "5"})
		check("a4 a5")
	})
}

// TestTextsOfErrorsAreInTheCatalogues holds that every error of these packages
// can be said in the interface's language.
func TestTextsOfErrorsAreInTheCatalogues(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range append(files, own...) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(b), `"`) {
			for _, p := range []string{"err.", "tray.", "note.", "age.", "check."} {
				id, ok := strings.CutPrefix(part, p)
				if !ok || id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz_") != "" || strings.HasSuffix(id, "_") {
					continue
				}
				n++
				if !english.Has(part) {
					t.Errorf("%s: %s is in no catalogue", f, part)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("found %d texts only", n)
	}
}
