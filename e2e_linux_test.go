package main

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/harness/harnesstest"
	"perch/tray/desktest"
)

// built builds the three programs once a test run. The build cache makes it
// quick when nothing changed.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "perch-bin")
	if err != nil {
		return "", err
	}
	for _, b := range []struct{ name, pkg, cgo string }{
		{"perch", ".", "0"}, {"perch-hotkey", "./tray/perch-hotkey", "1"}, {"perch-popup", "./popup/perch-popup", "1"},
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, b.name), b.pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+b.cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", b.name, err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := built(); err == nil && dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func binary(t testing.TB, name string) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// newHome is a PERCH_HOME whose model is a vendor on loopback.
func newHome(t testing.TB, vendor string) (string, config.Paths) {
	t.Helper()
	dir, err := os.MkdirTemp("", "perch") // short: a socket lies below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	toml := fmt.Sprintf("model = \"local/tiny\"\nworking_dir = %q\n\n[notify]\nafter_seconds = 1\n\n[providers.local]\nwire = \"openai-chat\"\nbase_url = %q\n\n[[providers.local.models]]\nid = \"tiny\"\ncontext_window = 100000\nmax_output = 2000\n", work, vendor)
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, config.PathsIn(dir)
}

// owner is a client of the perch that a test started.
func owner(t testing.TB, paths config.Paths) *control.Client {
	t.Helper()
	var c *control.Client
	desktest.WaitFor(t, "the control socket", 20*time.Second, func() bool {
		var err error
		c, err = control.Dial(paths)
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// typed types a text as a person does.
func typed(t testing.TB, r *desktest.Rig, text string) {
	t.Helper()
	if out, err := r.Command("xdotool", "type", "--delay", "12", text).CombinedOutput(); err != nil {
		t.Fatalf("xdotool: %v: %s", err, out)
	}
}

func history(t testing.TB, c *control.Client) control.SessionView {
	t.Helper()
	v, err := c.ViewSession(context.Background(), "last")
	if err != nil {
		return control.SessionView{}
	}
	return v
}

// mainJob is the script of the vendor in the end-to-end test.
func mainJob(n int, req harnesstest.VendorRequest) harnesstest.Step {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case last.Role == "tool":
		return harnesstest.Step{Pause: 150 * time.Millisecond, Text: []string{
			"The file is made. ", "Here is how:\n\n", "```sh\n", "echo hello > made.txt\n", "```\n\n",
			"中文可以读。", "日本語も読めます。", "한국어도 됩니다. ", "Emoji too: 🐦🎉✅\n\n", "| what | where |\n|---|---|\n| file | made.txt |\n",
		}}
	case strings.Contains(last.Text(), "poem"):
		s := harnesstest.Step{Pause: 200 * time.Millisecond}
		for i := range 200 {
			s.Text = append(s.Text, fmt.Sprintf("line %d of a long poem\n\n", i+1))
		}
		return s
	case strings.Contains(last.Text(), "go on"):
		return harnesstest.Say("I went on.")
	}
	return harnesstest.Step{
		Text: []string{"I will ", "make ", "the file. "}, Pause: 200 * time.Millisecond,
		Calls: []chat.ToolCall{{Name: "run_command", Input: `{"command":"echo hello > made.txt"}`}},
	}
}

func TestTheMainJobFromHotkeyToAResumedSession(t *testing.T) {
	if testing.Short() {
		t.Skip("builds three programs and drives a desktop; run without -short")
	}
	vendor := harnesstest.NewVendor(mainJob)
	defer vendor.Close()
	home, paths := newHome(t, vendor.URL)
	rig := desktest.Start(t, desktest.Options{TrayHost: true, Notifications: desktest.Recorder})
	pictures := os.Getenv("PERCH_PICTURES")
	look := func(name string) {
		if pictures == "" {
			return
		}
		// A picture is taken once the screen has stood still.
		before, still := rig.Screen(), 0
		desktest.Eventually(8*time.Second, func() bool {
			now := rig.Screen()
			if bytes.Equal(now.Pix, before.Pix) {
				still++
			} else {
				before, still = now, 0
			}
			return still > 12
		})
		rig.Screenshot(filepath.Join(pictures, name+".png"))
	}
	start := func() *exec.Cmd {
		cmd := rig.Command(binary(t, "perch"))
		cmd.Env = append(cmd.Env, "PERCH_HOME="+home)
		return rig.Run(cmd)
	}
	other := rig.OpenWindow("Somebody else's window", color.RGBA{40, 90, 140, 255})
	_ = other
	perch := start()
	c := owner(t, paths)
	ctx := context.Background()
	desktest.WaitFor(t, "the hotkey", 20*time.Second, func() bool {
		s, err := c.State(ctx)
		return err == nil && s.Hotkey.Active
	})
	desktest.WaitFor(t, "the tray icon", 20*time.Second, func() bool { return rig.Host.Icons() == 1 })

	// The hotkey over another window: the popup is up with the caret in its entry.
	rig.Key("ctrl+shift+space")
	desktest.WaitFor(t, "the popup with the focus", 30*time.Second, func() bool { return strings.Contains(rig.ActiveTitle(), "Perch") })
	look("1-empty")
	typed(t, rig, "make a file for me")
	rig.Key("Return")

	// The answer streams; a tool call asks for permission and runs.
	desktest.WaitFor(t, "the question", 30*time.Second, func() bool {
		v := history(t, c)
		return v.Activity == control.Waiting
	})
	if v := history(t, c); len(v.History) == 0 || v.History[0].PlainText() != "make a file for me" {
		t.Fatalf("what was typed is not what arrived: %+v", v.History)
	}
	desktest.WaitFor(t, "the permission taken by the keyboard", 20*time.Second, func() bool {
		look("2-question")
		rig.Key("ctrl+1")
		return history(t, c).Activity != control.Waiting
	})

	// Esc returns the focus to the other window while the run goes on.
	rig.Key("Escape")
	desktest.WaitFor(t, "the focus back at the other window", 15*time.Second, func() bool { return strings.Contains(rig.ActiveTitle(), "Somebody else") })
	if a := history(t, c).Activity; a != control.Running {
		t.Errorf("the run does not go on while the popup is hidden: %q", a)
	}
	notes := rig.Notes.WaitCount(1)
	if n := notes[len(notes)-1]; !strings.Contains(n.Summary, "make a file") || !strings.Contains(n.Body, "The file is made") {
		t.Errorf("notification: %q %q", n.Summary, n.Body)
	}
	if b, err := os.ReadFile(filepath.Join(home, "work", "made.txt")); err != nil || strings.TrimSpace(string(b)) != "hello" {
		t.Errorf("the command's file: %q %v", b, err)
	}
	rig.Key("ctrl+shift+space")
	desktest.WaitFor(t, "the popup again", 15*time.Second, func() bool { return strings.Contains(rig.ActiveTitle(), "Perch") })
	look("3-answer")

	// kill -9 in the middle of a second answer.
	typed(t, rig, "write a poem")
	rig.Key("Return")
	desktest.WaitFor(t, "the second answer to stream for two seconds", 30*time.Second, func() bool {
		live := ""
		wctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		c.Watch(wctx, history(t, c).ID, func(f control.Frame) error {
			if f.Snapshot != nil && f.Snapshot.Live != nil {
				live = f.Snapshot.Live.Text
			}
			cancel()
			return nil
		})
		return strings.Contains(live, "line 12 ")
	})
	if err := perch.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	perch.Wait()
	desktest.WaitFor(t, "the popup to be gone", 15*time.Second, func() bool { return rig.FindWindow("Perch") == 0 })
	desktest.WaitFor(t, "the icon to be gone", 15*time.Second, func() bool { return rig.Host.Icons() == 0 })

	// Start again: the session is in the tray menu, opens, shows everything up to
	// the kill, and continues.
	start()
	c = owner(t, paths)
	desktest.WaitFor(t, "the new hotkey", 20*time.Second, func() bool {
		s, err := c.State(ctx)
		return err == nil && s.Hotkey.Active
	})
	rig.Host.Click("make a file")
	desktest.WaitFor(t, "the popup from the menu", 30*time.Second, func() bool { return strings.Contains(rig.ActiveTitle(), "Perch") })
	v := history(t, c)
	last := v.History[len(v.History)-1]
	if !last.Interrupted || !strings.Contains(last.PlainText(), "line 8 ") {
		t.Errorf("the interrupted part: interrupted %v, %q", last.Interrupted, last.PlainText())
	}
	look("4-interrupted")
	typed(t, rig, "go on")
	rig.Key("Return")
	desktest.WaitFor(t, "the session to continue", 30*time.Second, func() bool {
		v := history(t, c)
		return len(v.History) > 0 && v.History[len(v.History)-1].PlainText() == "I went on." && v.Activity != control.Running
	})
	look("5-continued")
	for _, req := range vendor.Requests() {
		if why := harnesstest.Pairing(req.Messages); why != "" {
			t.Error(why)
		}
	}
	if err := c.Quit(ctx); err != nil {
		t.Error(err)
	}
}
