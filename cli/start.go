package cli

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"perch/chat"
	"perch/control"
)

const (
	// showTime bounds the wait for a popup: a cold one may take seconds on a
	// busy machine.
	showTime = 10 * time.Second
	// quitTime bounds the wait for a Perch that ends.
	quitTime = 10 * time.Second
	// quitPoll is how often it is looked for.
	quitPoll = 20 * time.Millisecond
)

// start is perch without a command: the tray where there is a desktop, else a
// chat.
func (a *app) start() error {
	env := desktopOf(a.Getenv, a.Environ)
	if !hasDesktop(env, runtime.GOOS) {
		a.note(a.t("cli.no_display"))
		return a.chat(a.ctx, askOptions{})
	}
	c, err := control.Dial(a.Paths)
	if errors.Is(err, control.ErrNotRunning) {
		return a.tray()
	}
	if err != nil {
		return err
	}
	a.client = c
	ctx, cancel := context.WithTimeout(a.ctx, showTime)
	defer cancel()
	if c.Version().Tray {
		return a.front(ctx, c, env, "show")
	}
	if err := c.BecomeTray(ctx, env); err != nil {
		return err
	}
	a.note(a.t("cli.became_tray"))
	return nil
}

// tray runs the tray in this process.
func (a *app) tray() error {
	if err := a.Paths.Make(); err != nil {
		return err
	}
	if code := a.StartTray(a.ctx); code != exitOK {
		return &failure{code, nil}
	}
	return nil
}

// front gives an order to the popup of this display and checks that its window
// has answered.
func (a *app) front(ctx context.Context, c *control.Client, env control.DesktopEnv, what string) error {
	_, err := c.Command(ctx, env, control.FrontCommand{What: what, Pressed: time.Now()})
	if errors.Is(err, control.ErrNoAnswer) || ctx.Err() != nil && a.ctx.Err() == nil {
		return a.failed("cli.popup_silent", c.Version().PID)
	}
	return err
}

func (a *app) frontCommand(what string) *cobra.Command {
	return a.command(what, "cli."+what, cobra.NoArgs, func(ctx context.Context, _ []string) error {
		env := desktopOf(a.Getenv, a.Environ)
		if !hasDesktop(env, runtime.GOOS) {
			return a.failed("cli.no_display_popup")
		}
		c, err := a.owner()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, showTime)
		defer cancel()
		return a.front(ctx, c, env, what)
	})
}

func (a *app) quitCommand() *cobra.Command {
	return a.command("quit", "cli.quit", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		c, err := a.running()
		if err != nil {
			return err
		}
		if c == nil {
			a.note(a.t("cli.not_running"))
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, quitTime)
		defer cancel()
		// The connection may break before the answer: what counts is that it ends.
		if err := c.Quit(ctx); err != nil && chat.ClassOf(err) != chat.ClassInternal {
			return err
		}
		for {
			l, err := control.AcquireOwner(a.Paths)
			if err == nil {
				return l.Release()
			}
			if !errors.Is(err, control.ErrOwned) {
				return err
			}
			select {
			case <-time.After(quitPoll):
			case <-ctx.Done():
				return a.failed("cli.quit_slow", c.Version().PID)
			}
		}
	})
}
