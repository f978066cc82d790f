package popup

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"perch/control"
	"perch/popup/popuptest"
)

// settle is the time a state is given to be drawn before its picture is taken;
// nothing waits on it but the command that makes the pictures.
const pictureSettle = 700 * time.Millisecond

// TakePictures makes the pictures of every window and state, in light and dark,
// into a folder. It runs beside the window's thread.
func TakePictures(ctx context.Context, p *Popup, b *popuptest.Backend, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the pictures: %w", err)
	}
	if _, err := b.Send(ctx, control.FrontCommand{What: "show", Session: "new"}); err != nil {
		return err
	}
	states := []struct {
		name string
		set  func()
	}{
		{"empty", func() { p.open("") }},
		{"answer", func() { p.open("demo-1") }},
		{"scripts", func() { p.open("demo-2") }},
		{"", func() { p.open("") }}, // a session of its own for the question, and no picture
		{"question", func() { p.send("Rename my photos by the date they were taken.") }},
		{"slash", func() { p.open(""); p.ui.setText("/"); p.typed() }},
		{"sessions", func() { p.ui.setText(""); p.typed(); p.open("demo-1"); p.ui.showSessions() }},
		{"models", func() { p.ui.showModels() }},
		{"settings", func() { p.ui.showSettings() }},
		{"first-start", func() { p.ui.showFirstStart() }},
		{"memory", func() { p.ui.showMemory() }},
		{"knowledge", func() { p.ui.showKnowledge() }},
		{"shortcuts", func() { p.ui.showShortcuts() }},
		{"context", func() { p.ui.showContext() }},
	}
	for _, variant := range []string{"light", "dark"} {
		p.postWait(func() { p.setTheme(variant, 1) })
		for _, s := range states {
			p.postWait(func() {
				p.ui.closePage()
				p.stop()
				s.set()
			})
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pictureSettle):
			}
			if s.name == "" {
				continue
			}
			var handle uintptr
			p.postWait(func() { handle = p.handle() })
			img, err := p.desk.Picture(handle)
			if err != nil {
				return err
			}
			if err := writePNG(filepath.Join(dir, s.name+"-"+variant+".png"), img); err != nil {
				return err
			}
		}
	}
	return nil
}

func writePNG(path string, img image.Image) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	err = png.Encode(f, img)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write picture %s: %w", path, err)
	}
	return nil
}
