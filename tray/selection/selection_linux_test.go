package selection

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"

	"perch/tray/desktest"
)

// noise is a PNG of about n bytes, which no compression makes smaller.
func noise(t *testing.T, n int) []byte {
	t.Helper()
	side := 16
	for side*side*3 < n {
		side += 16
	}
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
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

// xclipIn makes xclip own a selection, by the real program.
func xclipIn(t *testing.T, r *desktest.Rig, sel, target string, content []byte) {
	t.Helper()
	file := filepath.Join(r.Dir, "clip")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := r.Command("xclip", "-quiet", "-selection", sel, "-t", target, "-i", file)
	r.Run(cmd)
	name := strings.ToUpper(sel)
	r.Wait("xclip to own "+sel, func() bool { free, err := Free(r.Display, name); return err == nil && !free })
}

func TestContentOfOtherProgramsIsReadAtAnySize(t *testing.T) {
	desktest.Need(t, "xclip")
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 20, 10)), nil); err != nil {
		t.Fatal(err)
	}
	big := noise(t, 3<<20)
	for name, c := range map[string]struct {
		sel, target string
		content     []byte
		check       func(c Content) bool
	}{
		"text":              {"clipboard", "UTF8_STRING", []byte("grüße 你好 🎉"), func(c Content) bool { return c.Text == "grüße 你好 🎉" && c.PNG == nil }},
		"primary selection": {"primary", "UTF8_STRING", []byte("selected"), func(c Content) bool { return c.Text == "selected" }},
		"four megabytes of text": {"clipboard", "UTF8_STRING", bytes.Repeat([]byte("0123456789abcdef"), 1<<18),
			func(c Content) bool { return len(c.Text) == 4<<20 && strings.HasSuffix(c.Text, "abcdef") }},
		"three megabytes of PNG": {"clipboard", "image/png", big, func(c Content) bool { return bytes.Equal(c.PNG, big) }},
		"JPEG becomes PNG": {"clipboard", "image/jpeg", jpg.Bytes(), func(c Content) bool {
			img, err := png.Decode(bytes.NewReader(c.PNG))
			return err == nil && img.Bounds().Dx() == 20
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := desktest.Start(t, desktest.Options{WM: "none", NoBus: true})
			xclipIn(t, r, c.sel, c.target, c.content)
			got, err := Read(t.Context(), r.Display, strings.ToUpper(c.sel))
			if err != nil || !c.check(got) {
				t.Fatalf("read %d bytes of text, %d of PNG, error %v", len(got.Text), len(got.PNG), err)
			}
			// Reading leaves it with its owner.
			again, err := Read(t.Context(), r.Display, strings.ToUpper(c.sel))
			if err != nil || again.Text != got.Text || !bytes.Equal(again.PNG, got.PNG) {
				t.Errorf("the second read differs, error %v", err)
			}
		})
	}
}

func TestOwnedContentReachesOtherProgramsAtAnySize(t *testing.T) {
	desktest.Need(t, "xclip")
	r := desktest.Start(t, desktest.Options{WM: "none", NoBus: true})
	big := noise(t, 3<<20)
	out := func(sel, target string) []byte {
		cmd := exec.Command("xclip", "-o", "-selection", sel, "-t", target)
		cmd.Env = r.Env()
		b, err := cmd.Output()
		if err != nil {
			t.Errorf("xclip -o -t %s: %v", target, err)
		}
		return b
	}
	for name, c := range map[string]struct {
		sel     string
		content Content
	}{
		"text":          {Clipboard, Content{Text: "grüße 你好 🎉"}},
		"primary":       {Primary, Content{Text: "selected"}},
		"one piece":     {Clipboard, Content{Text: strings.Repeat("x", piece)}},
		"a byte more":   {Clipboard, Content{Text: strings.Repeat("x", piece+1)}},
		"two pieces":    {Clipboard, Content{Text: strings.Repeat("x", 2*piece)}},
		"3 MB PNG":      {Clipboard, Content{PNG: big}},
		"both at once":  {Clipboard, Content{Text: "caption", PNG: big}},
		"an empty text": {Clipboard, Content{}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := Own(t.Context(), r.Display, c.sel, c.content)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if c.content.PNG != nil {
				if got := out(strings.ToLower(c.sel), "image/png"); !bytes.Equal(got, c.content.PNG) {
					t.Errorf("%d bytes of PNG arrived of %d", len(got), len(c.content.PNG))
				}
			}
			if c.content.Text != "" {
				if got := out(strings.ToLower(c.sel), "UTF8_STRING"); string(got) != c.content.Text {
					t.Errorf("%d bytes of text arrived of %d", len(got), len(c.content.Text))
				}
			}
			got, err := Read(t.Context(), r.Display, c.sel)
			if err != nil || got.Text != c.content.Text || !bytes.Equal(got.PNG, c.content.PNG) {
				t.Errorf("read back %d, %d bytes, error %v", len(got.Text), len(got.PNG), err)
			}
		})
	}
}

func TestSelectionIsLostToAnotherProgram(t *testing.T) {
	desktest.Need(t, "xclip")
	r := desktest.Start(t, desktest.Options{WM: "none", NoBus: true})
	o, err := Own(t.Context(), r.Display, Clipboard, Content{Text: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := r.Command("xclip", "-selection", "clipboard", "-i")
	cmd.Stdin = strings.NewReader("theirs")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-o.Lost():
	case <-time.After(desktest.DefaultWait):
		t.Fatal("the loss was not noticed")
	}
	got, err := Read(t.Context(), r.Display, Clipboard)
	if err != nil || got.Text != "theirs" {
		t.Errorf("read %q, %v", got.Text, err)
	}
}

// TestContentIsHandedToTheClipboardManager plays a manager, as desktops have
// one: it is asked to save and reads the content while its owner still serves.
func TestContentIsHandedToTheClipboardManager(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", NoBus: true})
	m, err := Own(t.Context(), r.Display, "CLIPBOARD_MANAGER", Content{Text: "manager"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o, err := Own(t.Context(), r.Display, Clipboard, Content{Text: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	o.Close()
	if took := time.Since(start); took >= handOver {
		t.Errorf("the manager answered at once, closing took %v", took)
	}
}

func TestDumbOwnerIsAnErrorInTime(t *testing.T) {
	r := desktest.Start(t, desktest.Options{WM: "none", NoBus: true})
	// An owner that reads no events, as a suspended program.
	c, err := dial(r.Display)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	sel, err := c.atom(Clipboard)
	if err != nil {
		t.Fatal(err)
	}
	if err := xproto.SetSelectionOwnerChecked(c.x, c.win, sel, 0).Check(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := Read(t.Context(), r.Display, Clipboard); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 2*readTimeout {
		t.Errorf("took %v", took)
	}
}

func TestNoDisplayIsAnError(t *testing.T) {
	if _, err := Read(t.Context(), ":94", Clipboard); err == nil {
		t.Error("reading without a display is no error")
	}
	if _, err := Own(t.Context(), ":94", Clipboard, Content{Text: "x"}); err == nil {
		t.Error("owning without a display is no error")
	}
}
