package popup

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"perch/assets"
	"perch/chat"
	"perch/control"
	"perch/popup/popuptest"
	"perch/popup/transcript"
)

// bench is a popup in the headless driver over a stand-in backend. One goroutine
// is the window's thread.
type bench struct {
	t      *testing.T
	p      *Popup
	b      *popuptest.Backend
	thread chan func()
}

func newBench(t *testing.T, b *popuptest.Backend) *bench {
	t.Helper()
	x := &bench{t: t, b: b, thread: make(chan func(), 1024)}
	app := test.NewTempApp(t)
	stopped := make(chan struct{})
	quit := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case f := <-x.thread:
				f()
			case <-quit:
				return
			}
		}
	}()
	o := Options{App: app, Services: b.Services(), Texts: assets.NewTexts("en"), StateFile: filepath.Join(t.TempDir(), "popup.json"),
		Post: func(f func(), wait bool) {
			if !wait {
				x.thread <- f
				return
			}
			done := make(chan struct{})
			x.thread <- func() { defer close(done); f() }
			<-done
		}}
	x.on(func() { x.p = New(o) })
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { defer wg.Done(); x.p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		b.Wait()
		close(quit)
		<-stopped
	})
	return x
}

// on runs f on the window's thread.
func (x *bench) on(f func()) {
	done := make(chan struct{})
	x.thread <- func() { defer close(done); f() }
	<-done
}

// wait waits for a condition on the window's thread.
func (x *bench) wait(what string, holds func() bool) {
	x.t.Helper()
	for end := time.Now().Add(5 * time.Second); ; {
		ok := false
		x.on(func() { ok = holds() })
		if ok {
			return
		}
		if time.Now().After(end) {
			x.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func (x *bench) show(session string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := x.b.Send(ctx, control.FrontCommand{What: "show", Session: session}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *bench) send(text string) { x.on(func() { x.p.ui.setText(text); x.p.send(text) }) }

// text is all that the transcript shows.
func (x *bench) text() string {
	var b strings.Builder
	for _, r := range x.p.tr.Rows() {
		b.WriteString(r.Text)
		for _, run := range r.Runs {
			b.WriteString(run.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (x *bench) idle() bool {
	_, running := x.p.tr.Running()
	return !running && !x.p.tr.Drained() && x.p.session != ""
}

func TestQuestionIsSentAndItsAnswerShown(t *testing.T) {
	x := newBench(t, popuptest.New())
	x.show("new")
	x.send("hello")
	x.wait("the answer", func() bool { return x.idle() && strings.Contains(x.text(), "You said: hello") })
	x.on(func() {
		if strings.Count(x.text(), "hello\n") != 2 {
			t.Errorf("question and answer once each, got\n%s", x.text())
		}
		if x.p.ui.text() != "" {
			t.Errorf("the entry still holds %q", x.p.ui.text())
		}
	})
}

func TestSecondMessageSteersAndCanBeTakenBack(t *testing.T) {
	b := popuptest.New()
	b.Script = func(control.Ask) []popuptest.Step {
		return append(popuptest.Text("working"), popuptest.Step{Event: &chat.TextDelta{Text: "."}, Wait: time.Minute})
	}
	x := newBench(t, b)
	x.show("new")
	x.send("one")
	x.wait("the run", func() bool { _, ok := x.p.tr.Running(); return ok })
	x.send("two")
	x.wait("the message to wait", func() bool { return slices.Equal(x.p.tr.Pending(), []string{"two"}) })
	x.on(func() { x.p.stop() })
	x.wait("the run to end", func() bool { return x.idle() && x.p.ui.text() == "two" })
}

func TestFailedRequestReturnsTheWordsToTheEntry(t *testing.T) {
	b := popuptest.New()
	x := newBench(t, b)
	x.show("new")
	x.on(func() {
		x.p.svc.Runs = failingRuns{b}
		x.p.attachChip(chip{kind: chipFile, label: "a.txt", path: "/tmp/a.txt"})
	})
	x.send("precious words")
	x.wait("the words to return", func() bool { return x.p.ui.text() == "precious words" && len(x.p.chips) == 1 })
	x.on(func() {
		rows := x.p.tr.Rows()
		if last := rows[len(rows)-1]; last.Kind != transcript.Line || last.Line.Kind != transcript.ErrorLine {
			t.Error("no error is shown")
		}
	})
}

type failingRuns struct{ control.Runs }

func (failingRuns) Ask(context.Context, string, control.Ask) (control.AskReply, error) {
	return control.AskReply{}, chat.NewError(chat.ClassStore, "err.disk", "The disk is full.")
}

func TestChipsGoWithTheMessage(t *testing.T) {
	b := popuptest.New()
	x := newBench(t, b)
	x.show("new")
	b.SetClipboard(control.Clip{Text: "copied ``` text"})
	x.on(func() { x.p.attachClip(false) })
	x.wait("the text chip", func() bool { return len(x.p.chips) == 1 })
	b.SetClipboard(control.Clip{PNG: popuptest.Picture(30, 20)})
	x.on(func() { x.p.attachClip(false); x.p.attachFile("/tmp/b.txt") })
	x.wait("three chips", func() bool { return len(x.p.chips) == 3 })
	x.send("look")
	x.wait("the request", func() bool { return len(b.Asked()) == 1 })
	a := b.Asked()[0]
	if want := "look\n\n[Clipboard]\n````\ncopied ``` text\n````"; a.Text != want {
		t.Errorf("text %q, want %q", a.Text, want)
	}
	if len(a.Images) != 1 || a.Images[0].Width != 30 || a.Images[0].MIME != "image/png" {
		t.Errorf("images %+v", a.Images)
	}
	if !slices.Equal(a.Files, []string{"/tmp/b.txt"}) || !slices.Contains(a.Attached, "clipboard.read") {
		t.Errorf("files %q, attached %q", a.Files, a.Attached)
	}
}

func TestAnswersAreRefusedInTheFirstHalfSecond(t *testing.T) {
	b := popuptest.Demo()
	x := newBench(t, b)
	x.show("new")
	x.send("go")
	x.wait("the question", func() bool { return x.p.tr.Question() != nil && x.p.ui.approval.q != nil })
	x.on(func() {
		x.p.asked = time.Now()
		x.p.answer(control.Always, "")
		if x.p.tr.Question() == nil {
			t.Error("an answer counted at once")
		}
		if !x.p.ui.approval.buttons[1].off {
			t.Error("the buttons can be pressed at once")
		}
		x.p.asked = time.Now().Add(-answerDelay)
		x.p.answer(control.Once, "")
	})
	x.wait("the end", x.idle)
	if got := b.Answers(); len(got) != 1 || got[0].Verdict != control.Once {
		t.Errorf("answers %+v", got)
	}
}

func TestWordsInTheEntryGoWithANo(t *testing.T) {
	b := popuptest.Demo()
	x := newBench(t, b)
	x.show("new")
	x.send("go")
	x.wait("the question", func() bool { return x.p.tr.Question() != nil })
	x.on(func() {
		x.p.asked = time.Now().Add(-answerDelay)
		x.p.ui.setText("not in my pictures")
		x.p.send(x.p.ui.text())
	})
	x.wait("the end", x.idle)
	if got := b.Answers(); len(got) != 1 || got[0].Verdict != control.No || got[0].Words != "not in my pictures" {
		t.Errorf("answers %+v", got)
	}
}

func TestDraftIsStoredAndComesBack(t *testing.T) {
	b := popuptest.Demo()
	x := newBench(t, b)
	x.show("demo-1")
	x.wait("the session", func() bool { return x.p.info.ID == "demo-1" })
	x.on(func() { x.p.ui.setText("half a thought"); x.p.open("demo-2") })
	x.wait("the draft to be stored", func() bool { v, _ := b.Session("demo-1"); return v.Draft == "half a thought" })
	x.on(func() { x.p.open("demo-1") })
	x.wait("the draft to return", func() bool { return x.p.ui.text() == "half a thought" })
}

func TestHiddenPopupDrawsNothing(t *testing.T) {
	x := newBench(t, popuptest.New())
	x.show("new")
	x.on(func() { x.p.send("hello"); x.p.hide() })
	x.wait("the end of the run", func() bool { return x.idle() && len(x.p.tr.View().History) == 2 })
	x.on(func() {
		if n := x.p.view.Drawn(); n > 1 {
			t.Errorf("%d rows were drawn while hidden", n)
		}
	})
	x.show("")
	x.wait("the answer to be drawn", func() bool { return x.p.view.Drawn() > 1 })
}

func TestResumeKeepsARecentSessionOnly(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		want string
	}{"recent": {20 * time.Minute, "s"}, "old": {40 * time.Minute, ""}} {
		t.Run(name, func(t *testing.T) {
			b := popuptest.New()
			b.Add(control.SessionView{SessionInfo: control.SessionInfo{ID: "s", Used: time.Now().Add(-c.ago)}})
			x := newBench(t, b)
			x.show("")
			x.wait("the list of sessions to be asked for", func() bool { return x.p.session == c.want && b.Listed() > 0 })
		})
	}
}

func TestEditRegenerateAndForkUseTheStoredMessages(t *testing.T) {
	b := popuptest.New()
	x := newBench(t, b)
	x.show("new")
	x.send("first")
	x.wait("the answer", func() bool { return x.idle() && len(x.p.tr.View().History) == 2 })
	x.on(func() { x.p.ui.againLast() })
	x.wait("the question to be asked again", func() bool {
		v, _ := b.Session(x.p.session)
		h := x.p.tr.View().History
		return len(b.Asked()) == 2 && x.idle() && len(h) == 2 && len(v.History) == 2 && h[1].ID == v.History[1].ID
	})
	if b.Asked()[1].Text != "first" {
		t.Errorf("asked %q again", b.Asked()[1].Text)
	}
	var id, fork string
	x.on(func() {
		h := x.p.tr.View().History
		if len(h) != 2 {
			t.Fatalf("%d messages after asking again", len(h))
		}
		id, fork = x.p.session, h[0].ID
		x.p.fork(fork)
	})
	x.wait("the fork", func() bool { return x.p.session != id && len(x.p.tr.View().History) == 1 })
	x.on(func() { x.p.open(id) })
	x.wait("the first session", func() bool { return x.p.info.ID == id })
	x.on(func() { x.p.edit(fork, "first") })
	x.wait("the words in the entry", func() bool { return x.p.ui.text() == "first" })
	x.wait("the message to be gone", func() bool { v, _ := b.Session(id); return len(v.History) == 0 })
}

func TestDeletedSessionCanBeBroughtBack(t *testing.T) {
	b := popuptest.Demo()
	x := newBench(t, b)
	x.show("demo-1")
	x.wait("the session", func() bool { return x.p.info.ID == "demo-1" })
	x.on(func() { x.p.delete("demo-1", func() {}) })
	x.wait("the delete", func() bool { _, ok := b.Session("demo-1"); return !ok && len(x.p.ui.queue.Objects) == 1 })
	x.on(func() {
		row := x.p.ui.queue.Objects[0].(*fyne.Container)
		for _, o := range row.Objects {
			if btn, ok := o.(*button); ok {
				btn.Tapped(nil)
			}
		}
	})
	x.wait("the session to return", func() bool { _, ok := b.Session("demo-1"); return ok })
}

func TestRecallGoesBackAndForth(t *testing.T) {
	x := newBench(t, popuptest.New())
	x.show("new")
	x.on(func() {
		x.p.history = []string{"one", "two"}
		u := x.p.ui
		steps := []struct {
			back bool
			took bool
			text string
		}{{true, true, "two"}, {true, true, "one"}, {true, true, "one"}, {false, true, "two"}, {false, true, ""}, {false, false, ""}}
		for i, s := range steps {
			if took := u.recall(s.back); took != s.took || u.text() != s.text {
				t.Errorf("step %d: took %t, entry %q", i, took, u.text())
			}
		}
		u.setText("typed")
		if u.recall(true) {
			t.Error("Up took away what was typed")
		}
	})
}

func TestSlashCommandsComplete(t *testing.T) {
	x := newBench(t, popuptest.New())
	x.show("new")
	x.on(func() {
		c := x.p.ui.completions
		c.update("/re")
		var names []string
		for _, s := range c.found {
			names = append(names, s.name)
		}
		if !slices.Equal(names, []string{"/remember", "/rename"}) {
			t.Errorf("found %q", names)
		}
		x.p.ui.entry.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
		x.p.ui.entry.TypedKey(&fyne.KeyEvent{Name: fyne.KeyTab})
		if x.p.ui.text() != "/rename " {
			t.Errorf("entry %q", x.p.ui.text())
		}
		if c.update("/run ls"); len(c.found) > 0 {
			t.Error("completions for a command with its argument")
		}
		if x.p.slash("/run ls") || x.p.slash("/no-such") || x.p.slash("/remember") {
			t.Error("the popup took a command that is the run's")
		}
	})
}

func TestSettingsAreReadAndWritten(t *testing.T) {
	b := popuptest.New()
	if err := b.Set(context.Background(), "popup.theme", "dark"); err != nil {
		t.Fatal(err)
	}
	x := newBench(t, b)
	x.show("new")
	x.wait("the theme", func() bool { return x.p.conf.Popup.Theme == "dark" })
	x.on(func() { x.p.ui.showSettings(); x.p.set("popup.text_scale", 1.3) })
	x.wait("the text size", func() bool { return x.p.conf.Popup.TextScale == 1.3 })
	if got := b.Setting("popup.text_scale"); got != 1.3 {
		t.Errorf("written %v", got)
	}
}

func TestEveryPageOpensAndEscLeadsBack(t *testing.T) {
	x := newBench(t, popuptest.Demo())
	x.show("demo-1")
	x.wait("the session", func() bool { return x.p.info.ID == "demo-1" })
	for name, open := range map[string]func(){
		"sessions": func() { x.p.ui.showSessions() }, "models": func() { x.p.ui.showModels() }, "settings": func() { x.p.ui.showSettings() },
		"providers": func() { x.p.ui.showProviders() }, "provider": func() { x.p.ui.showProvider("openai") }, "rules": func() { x.p.ui.showRules() },
		"memory": func() { x.p.ui.showMemory() }, "knowledge": func() { x.p.ui.showKnowledge() }, "first start": func() { x.p.ui.showFirstStart() },
		"shortcuts": func() { x.p.ui.showShortcuts() }, "context": func() { x.p.ui.showContext() },
	} {
		x.on(func() {
			open()
			if x.p.ui.page == nil {
				t.Errorf("%s did not open", name)
			}
			x.p.escape()
			if x.p.ui.page != nil || !x.p.shown {
				t.Errorf("Esc did not lead back from %s", name)
			}
		})
	}
	x.on(func() { x.p.escape() })
	x.on(func() {
		if x.p.shown {
			t.Error("Esc did not hide the window")
		}
	})
}

func TestFirstStartLetsTheUserAskAtOnce(t *testing.T) {
	b := popuptest.New()
	b.FirstStart = true
	x := newBench(t, b)
	x.wait("the state", func() bool { return x.p.state.FirstStart })
	x.show("")
	x.wait("the page", func() bool { return x.p.ui.page != nil })
	x.on(func() {
		if x.p.win.Canvas().Focused() != x.p.ui.entry {
			t.Error("the entry has no focus on the first page")
		}
	})
	x.send("try it")
	x.wait("the answer in place of the page", func() bool { return x.p.ui.page == nil && strings.Contains(x.text(), "You said: try it") })
}
