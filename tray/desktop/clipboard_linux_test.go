package desktop

import (
	"bytes"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"perch/control"
	"perch/tray/desktest"
)

// picture is a PNG of about three megabytes.
func picture(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 1024, 1024))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(rnd.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func xclip(t *testing.T, r *desktest.Rig, target string) []byte {
	t.Helper()
	cmd := exec.Command("xclip", "-o", "-selection", "clipboard", "-t", target)
	cmd.Env = r.Env()
	b, err := cmd.Output()
	if err != nil {
		t.Errorf("xclip: %v", err)
	}
	return b
}

func TestClipboardTakesThreeMegabytesBothWays(t *testing.T) {
	desktest.Need(t, "xclip")
	r := desktest.Start(t, desktest.Options{WM: "none"})
	s, rec := start(t, r.DesktopEnv())
	big := picture(t)
	if err := s.WriteClipboard(t.Context(), control.Clip{PNG: big}); err != nil {
		t.Fatal(err)
	}
	if got := xclip(t, r, "image/png"); !bytes.Equal(got, big) {
		t.Errorf("%d of %d bytes arrived", len(got), len(big))
	}
	if !s.OwnsSelection() {
		t.Error("the supervisor does not know that it owns the clipboard")
	}
	file := filepath.Join(r.Dir, "in.png")
	if err := os.WriteFile(file, big, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Run(r.Command("xclip", "-quiet", "-selection", "clipboard", "-t", "image/png", "-i", file))
	r.Wait("the loss", func() bool { return !s.OwnsSelection() })
	c, err := s.ReadClipboard(t.Context())
	if err != nil || !bytes.Equal(c.PNG, big) {
		t.Errorf("read %d of %d bytes, %v", len(c.PNG), len(big), err)
	}
	_ = rec
}

// TestCopiedTextOutlivesALostRole holds that a crash of the role costs neither
// the copied text nor what was copied elsewhere since.
func TestCopiedTextOutlivesALostRole(t *testing.T) {
	desktest.Need(t, "xclip")
	r := desktest.Start(t, desktest.Options{WM: "none", TrayHost: true})
	s, rec := start(t, r.DesktopEnv())
	s.SetMenu(menu("first"))
	if err := s.WriteClipboard(t.Context(), control.Clip{Text: "copied"}); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		s.mu.Lock()
		pid := s.p.PID()
		s.mu.Unlock()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r.Wait("the loss", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.p == nil || s.p.PID() != pid })
	}
	kill()
	r.Wait("the text to be back", func() bool {
		c, err := s.ReadClipboard(t.Context())
		return err == nil && c.Text == "copied"
	})
	r.Wait("the menu to be back", func() bool { _, ok := r.Host.Find("first"); return ok })
	rec.mu.Lock()
	if len(rec.problems) != 1 || rec.problems[0].ID != "err.desktop_lost" {
		t.Errorf("problems %v", rec.problems)
	}
	rec.mu.Unlock()

	cmd := r.Command("xclip", "-selection", "clipboard", "-i")
	cmd.Stdin = strings.NewReader("theirs")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	kill()
	if c, err := s.ReadClipboard(t.Context()); err != nil || c.Text != "theirs" {
		t.Errorf("read %q, %v", c.Text, err)
	}
}
