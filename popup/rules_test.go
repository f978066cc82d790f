package popup

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"perch/assets"
	"perch/chat"
	"perch/control"
	"perch/popup/popuptest"
)

func TestNoWordOfTheInterfaceIsMissing(t *testing.T) {
	texts := assets.NewTexts("en")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("chatview/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, more...) {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(src), `"popup.`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			if settingKeys[id] || strings.HasSuffix(id, ".") {
				continue
			}
			if !texts.Has("popup." + id) {
				t.Errorf("%s uses popup.%s, which no catalogue has", f, id)
			}
		}
	}
	for _, kind := range []chat.NeedKind{chat.NeedRead, chat.NeedWrite, chat.NeedExecute, chat.NeedNetwork, chat.NeedDesktop, chat.NeedOther} {
		if !texts.Has("popup.ask." + string(kind)) {
			t.Errorf("no words for a question about %s", kind)
		}
	}
}

// settingKeys are keys of config.toml and files, not words.
var settingKeys = map[string]bool{"theme": true, "text_scale": true, "resume_minutes": true, "json": true}

func TestVisibleShowsWhatHides(t *testing.T) {
	for in, want := range map[string]string{
		"ls -la\nrm x":                "ls -la\nrm x",
		"a\tb":                        "a⇥   b",
		"rm \x1b[2K-rf":               "rm ␛[2K-rf",
		"a\rb":                        "a␍b",
		"\u202egpj.exe":               "⟨U+202E⟩gpj.exe",
		"zero\u200bwidth":             "zero⟨U+200B⟩width",
		"\u2066x\u2069":               "⟨U+2066⟩x⟨U+2069⟩",
		"nb\u00a0sp":                  "nb⟨U+00A0⟩sp",
		"bell\x07":                    "bell␇",
		"del\x7f":                     "del␡",
		"c1\u009b":                    "c1⟨U+009B⟩",
		"hangul\u3164filler":          "hangul⟨U+3164⟩filler",
		"tag\U000e0041":               "tag⟨U+E0041⟩",
		"中文 émoji 🐦 stay as they are": "中文 émoji 🐦 stay as they are",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestQuestionOffersOnlyAnswersThatCanBeGiven(t *testing.T) {
	cases := []struct {
		name             string
		needs            []chat.Need
		onceOnly, inRun  bool
		detail, wantText string
	}{
		{"plain", []chat.Need{{Kind: chat.NeedExecute}}, false, false, "ls", "ls"},
		{"uncertain", []chat.Need{{Uncertain: true}}, true, false, "sh -c $X", "sh -c $X"},
		{"secret place", []chat.Need{{Secret: true}}, true, false, "~/.ssh", "~/.ssh"},
		{"once a session", []chat.Need{{Once: true}}, true, true, "an image", "an image"},
		{"several needs are all shown", []chat.Need{{Subject: "/a"}, {Detail: "/b"}}, false, false, "first", "first\n/a\n/b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := &chat.Permission{Needs: c.needs, Detail: c.detail}
			if onceOnly(q) != c.onceOnly || sessionWide(q) != c.inRun {
				t.Errorf("once only %t, for the session %t", onceOnly(q), sessionWide(q))
			}
			if got := detailOf(q); got != c.wantText {
				t.Errorf("detail %q, want %q", got, c.wantText)
			}
		})
	}
}

func TestCombinationIsWrittenAsInTheSettings(t *testing.T) {
	cases := []struct {
		held []fyne.KeyName
		key  fyne.KeyName
		want string
	}{
		{[]fyne.KeyName{desktop.KeyShiftLeft, desktop.KeyControlLeft}, fyne.KeySpace, "ctrl+shift+space"},
		{[]fyne.KeyName{desktop.KeySuperLeft}, fyne.KeyA, "super+a"},
		{[]fyne.KeyName{desktop.KeyAltLeft, desktop.KeyAltRight}, fyne.KeyReturn, "alt+enter"},
		{nil, fyne.KeyF9, "f9"},
		{nil, fyne.KeyA, ""},
		{nil, fyne.KeyF, ""},
		{[]fyne.KeyName{desktop.KeyShiftLeft}, fyne.KeyA, ""},
	}
	for _, c := range cases {
		held := map[fyne.KeyName]bool{}
		for _, k := range c.held {
			held[k] = true
		}
		if got := combination(held, c.key); got != c.want {
			t.Errorf("%v + %s = %q, want %q", c.held, c.key, got, c.want)
		}
	}
}

func TestRegionIsCutInPixelsOfThePicture(t *testing.T) {
	bounds := image.Rect(0, 0, 1920, 1080)
	at, size := fyne.NewPos(10, 20), fyne.NewSize(480, 270) // a quarter of the picture's size
	cases := []struct {
		name   string
		a, b   fyne.Position
		chosen bool
		want   image.Rectangle
	}{
		{"nothing chosen", fyne.Position{}, fyne.Position{}, false, bounds},
		{"downwards", fyne.NewPos(110, 120), fyne.NewPos(210, 170), true, image.Rect(400, 400, 800, 600)},
		{"upwards", fyne.NewPos(210, 170), fyne.NewPos(110, 120), true, image.Rect(400, 400, 800, 600)},
		{"beyond the edge", fyne.NewPos(0, 0), fyne.NewPos(110, 120), true, image.Rect(0, 0, 400, 400)},
		{"a slip", fyne.NewPos(110, 120), fyne.NewPos(111, 121), true, bounds},
	}
	for _, c := range cases {
		if got := regionOf(bounds, at, size, c.a, c.b, c.chosen); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	data, err := cut(image.NewNRGBA(bounds), image.Rect(400, 400, 800, 600))
	if err != nil {
		t.Fatal(err)
	}
	if conf, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || conf.Width != 400 || conf.Height != 200 {
		t.Errorf("cut to %+v, %v", conf, err)
	}
}

func TestRegionOfTheScreenIsAttached(t *testing.T) {
	x := newBench(t, popuptest.New())
	x.show("new")
	x.on(func() { x.p.attachShot("region") })
	x.wait("the picture to choose from", func() bool { return x.p.shown && x.p.ui.page != nil })
	x.on(func() { x.p.escape() })
	x.on(func() { x.p.attachShot("screen") })
	x.wait("the picture of the screen", func() bool { return len(x.p.chips) == 1 && x.p.chips[0].image.Width == 320 })
}

func TestMergeJoinsTextOfOneRun(t *testing.T) {
	frame := func(e chat.Event) control.Frame {
		j, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return control.Frame{Event: j}
	}
	text := func(run string, seq int64, s string) control.Frame {
		return frame(chat.Stamp(&chat.TextDelta{Text: s}, run, seq))
	}
	got := merge([]control.Frame{text("a", 1, "x"), text("a", 2, "y"), frame(chat.Stamp(&chat.Notice{Text: "n"}, "a", 3)), text("a", 4, "z"), text("b", 1, "w"), {Alive: true}})
	if len(got) != 4 {
		t.Fatalf("%d steps, want 4", len(got))
	}
	if d := got[0].event.(*chat.TextDelta); d.Text != "xy" || d.Seq != 2 {
		t.Errorf("joined %q with number %d", d.Text, d.Seq)
	}
}

func TestFramesAreHandedOverThirtyTimesASecond(t *testing.T) {
	var mu sync.Mutex
	var batches, frames int
	c := &coalescer{post: func(f func()) { f() }, deliver: func(f []control.Frame) {
		mu.Lock()
		defer mu.Unlock()
		batches, frames = batches+1, frames+len(f)
	}}
	const many = 500
	begin := time.Now()
	for range many {
		c.add(control.Frame{Alive: true})
	}
	for {
		mu.Lock()
		done := frames == many
		mu.Unlock()
		if done {
			break
		}
		if time.Since(begin) > 5*time.Second {
			t.Fatal("frames are lost")
		}
		time.Sleep(time.Millisecond)
	}
	if most := int(time.Since(begin)/framePause) + 2; batches > most {
		t.Errorf("%d batches, want at most %d", batches, most)
	}
	c.close()
}

func TestWindowSizeIsKeptWithinBounds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "popup.json")
	if got := loadWindowState(file); got.Width != defaultWidth || got.Height != defaultMost {
		t.Errorf("without a file: %+v", got)
	}
	if err := saveWindowState(file, windowState{Width: 800, Height: 700}); err != nil {
		t.Fatal(err)
	}
	if got := loadWindowState(file); got.Width != 800 || got.Height != 700 {
		t.Errorf("read %+v", got)
	}
	for _, bad := range []string{`{"width": 10, "height": 5}`, `nonsense`, `{"width": 99999}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := loadWindowState(file); got.Width != defaultWidth || got.Height != defaultMost {
			t.Errorf("%s gave %+v", bad, got)
		}
	}
}

func TestLinksThatStartProgramsAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	script, text := filepath.Join(dir, "run.sh"), filepath.Join(dir, "notes.txt")
	for path, mode := range map[string]os.FileMode{script: 0o755, text: 0o644, filepath.Join(dir, "x.desktop"): 0o644} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	x := newBench(t, popuptest.New())
	var opened []string
	x.on(func() { x.p.opt.OpenURL = func(s string) error { opened = append(opened, s); return nil } })
	for _, link := range []string{"https://example.org/a?b=c", "mailto:a@b.c", text, script, filepath.Join(dir, "x.desktop"), "file:///etc/passwd", "javascript:alert(1)", "vscode://x", "/no/such/file"} {
		x.on(func() { x.p.openLink(link) })
	}
	want := []string{"https://example.org/a?b=c", "mailto:a@b.c", "file://" + text}
	if !slices.Equal(opened, want) {
		t.Errorf("opened %q, want %q", opened, want)
	}
}

func TestExportNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	a, err := writeExport(dir, "s/1", []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := writeExport(dir, "s/1", []byte("b"))
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Fatal("both exports went to", a)
	}
	if got, err := os.ReadFile(a); err != nil || string(got) != "a" {
		t.Errorf("the first export holds %q, %v", got, err)
	}
}

func TestInputMethodsEnterDoesNotSend(t *testing.T) {
	x := newBench(t, popuptest.New())
	x.show("new")
	var sent []string
	x.on(func() {
		e := x.p.ui.entry
		e.keys.send = func(s string) { sent = append(sent, s) }
		e.TypedRune('你')
		e.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn}) // the Enter that committed it
		e.lastIME = time.Time{}
		e.SetText("你")
		e.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn}) // Enter first, the character right after
		e.TypedRune('好')
	})
	x.on(func() {
		if len(sent) > 0 {
			t.Errorf("sent %q", sent)
		}
		x.p.ui.entry.lastIME = time.Time{}
		x.p.ui.entry.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	})
	x.wait("an Enter of its own to send", func() bool { return len(sent) == 1 })
}
