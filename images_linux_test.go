package main

import (
	"context"
	"encoding/json"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness/harnesstest"
	"perch/tray/desktest"
)

// shape writes a request's last messages as one line: tool, user(2 images), user.
func shape(req harnesstest.VendorRequest) string {
	var out []string
	for _, m := range req.Messages {
		switch m.Role {
		case "tool":
			out = append(out, "tool")
		case "assistant":
			out = append(out, "assistant")
		case "user":
			var parts []struct {
				Type string `json:"type"`
			}
			images := 0
			if json.Unmarshal(m.Content, &parts) == nil {
				for _, p := range parts {
					if strings.Contains(p.Type, "image") {
						images++
					}
				}
			}
			out = append(out, "user"+strings.Repeat("+image", images))
		}
	}
	return strings.Join(out, " ")
}

func TestImagesOfARoundFollowAllItsResults(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a desktop; run without -short")
	}
	vendor := harnesstest.NewVendor(func(n int, req harnesstest.VendorRequest) harnesstest.Step {
		if n == 0 {
			return harnesstest.Step{Calls: []chat.ToolCall{{Name: "take_screenshot", Input: "{}"}, {Name: "read_clipboard", Input: "{}"}}}
		}
		return harnesstest.Say("I see both.")
	})
	defer vendor.Close()
	home, paths := newHome(t, vendor.URL)
	toml, err := os.ReadFile(paths.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths.ConfigFile, append(toml, []byte("vision = true\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
	rig := desktest.Start(t, desktest.Options{TrayHost: true})
	rig.OpenWindow("Something to look at", color.RGBA{200, 120, 40, 255})
	picture := filepath.Join(home, "clip.png")
	desktest.WritePNG(t, picture, image.NewNRGBA(image.Rect(0, 0, 40, 30)))
	clip := rig.Command("xclip", "-quiet", "-selection", "clipboard", "-t", "image/png", "-i", picture)
	rig.Run(clip)
	start := func() *control.Client {
		cmd := rig.Command(binary(t, "perch"))
		cmd.Env = append(cmd.Env, "PERCH_HOME="+home)
		rig.Run(cmd)
		c := owner(t, paths)
		desktest.WaitFor(t, "the tray", 20*time.Second, func() bool { return rig.Host.Icons() == 1 })
		return c
	}
	c := start()
	ctx := context.Background()
	ask := rig.Command(binary(t, "perch"), "ask", "--allow", "desktop", "look at the screen and the clipboard")
	ask.Env = append(ask.Env, "PERCH_HOME="+home)
	if out, err := ask.CombinedOutput(); err != nil || !strings.Contains(string(out), "I see both.") {
		t.Fatalf("%v: %s", err, out)
	}
	const want = "user assistant tool tool user+image+image"
	reqs := vendor.Requests()
	if got := shape(reqs[1]); got != want {
		t.Errorf("request: %s, want %s", got, want)
	}

	// The state of a kill between the results and the next request: the results
	// are the last thing in the store.
	v := history(t, c)
	if err := c.TruncateSession(ctx, v.ID, v.History[len(v.History)-1].ID); err != nil {
		t.Fatal(err)
	}
	if err := c.Quit(ctx); err != nil {
		t.Fatal(err)
	}
	desktest.WaitFor(t, "the icon to be gone", 20*time.Second, func() bool { return rig.Host.Icons() == 0 })
	c = start()
	if _, err := c.Ask(ctx, v.ID, control.Ask{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	desktest.WaitFor(t, "the answer after the restart", 20*time.Second, func() bool { return len(vendor.Requests()) == 3 })
	if got := shape(vendor.Requests()[2]); got != want+" user" && got != want {
		t.Errorf("request after the restart: %s", got)
	}
	c.Quit(ctx)
}
