package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/lang"

	"perch/assets"
	"perch/config"
	"perch/control"
	"perch/popup"
	"perch/popup/place"
	"perch/popup/popuptest"
)

// appID keeps the toolkit's own files apart from those of other programs.
const appID = "org.perch.popup"

// quitWait bounds the toolkit's own end: it can hang when the input method or
// the display has gone. What is worth keeping is kept by perch already.
const quitWait = 2 * time.Second

func run(pictures string, demo bool) error {
	dieWithParent()
	preferX11()
	paths, err := config.DefaultPaths()
	if err != nil {
		return err
	}
	desk, err := place.New()
	if err != nil {
		slog.Info("popup: windows are placed by the toolkit", "err", err)
		desk = place.None{}
	}
	defer desk.Close()

	o := popup.Options{
		Texts: assets.NewTexts(""), Desk: desk, Display: os.Getenv("DISPLAY"), PID: os.Getpid(),
		StateFile: filepath.Join(paths.Data, "popup.json"),
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var backend *popuptest.Backend
	if pictures != "" || demo {
		backend = popuptest.Demo()
		o.Services, o.StateFile = backend.Services(), ""
	} else {
		c, err := control.Dial(paths)
		if err != nil {
			return fmt.Errorf("%w\nperch-popup is started by perch; run perch instead", err)
		}
		defer c.Close()
		o.Services = services(c)
		go func() { // perch holds the other end: it is gone when this ends
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	_ = lang.SystemLocale() // read before the window is made, it asks the system
	o.App = app.NewWithID(appID)
	o.Ended = func() {
		time.AfterFunc(quitWait, func() { os.Exit(0) })
		o.App.Quit()
	}
	failed := make(chan error, 1)
	o.App.Lifecycle().SetOnStarted(func() {
		p := popup.New(o)
		go p.Run(ctx)
		switch {
		case pictures != "":
			go func() {
				failed <- popup.TakePictures(ctx, p, backend, pictures)
				cancel()
			}()
		case demo:
			go func() { _, _ = backend.Send(ctx, control.FrontCommand{What: "show"}) }()
		}
	})
	runLoop(o.App)
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// runLoop runs the toolkit until it ends. It needs a window to exist before it
// starts no more than the popup does.
func runLoop(a fyne.App) { a.Run() }

func services(c *control.Client) control.Services {
	return control.Services{Sessions: c, Runs: c, Models: c, Settings: c, Knowledge: c, Memory: c, Auth: c, Rules: c, Desktop: c, Front: c, Owner: c}
}

// preferX11 keeps the toolkit on X11 where there is a choice: a Wayland desktop
// lets no program place or raise its window, its X server does.
func preferX11() {
	if os.Getenv("DISPLAY") != "" {
		_ = os.Unsetenv("WAYLAND_DISPLAY")
		_ = os.Setenv("XDG_SESSION_TYPE", "x11")
	}
}
