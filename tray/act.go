package tray

import (
	"context"
	"strings"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/desktop"
	"perch/tray/hotkey"
)

// event takes what happened on the desktop. It must return soon: events come one
// after another.
func (t *Tray) event(e desktop.Event) {
	switch e.Kind {
	case desktop.Up: // hotkeys of the portal went with the role before this one
		t.mu.Lock()
		t.ups++
		again := t.ups > 1
		t.mu.Unlock()
		if again {
			t.keys.Rebind()
		}
	case desktop.Action:
		t.act(e)
	case desktop.Opened: // the ages in it are those of the last change
		t.show()
	case desktop.Shortcut:
		t.pressed(e.Arg, e.Time)
	case desktop.ShortcutsEnded:
		t.keys.Rebind()
	case desktop.TrayShown:
		t.host(e.On)
	}
}

// host follows whether a tray host shows the icon. That there is none is said
// once, and only when none comes in the time a desktop needs to start.
func (t *Tray) host(on bool) {
	t.mu.Lock()
	if t.hostWait != nil {
		t.hostWait.Stop()
		t.hostWait = nil
	}
	if !on && !t.hostSaid {
		t.hostWait = time.AfterFunc(t.hostGrace, t.sayNoHost)
	}
	t.mu.Unlock()
	t.o.Changed()
}

// sayNoHost tells the user that there is no tray, and what works all the same.
func (t *Tray) sayNoHost() {
	t.mu.Lock()
	said := t.hostSaid
	t.hostSaid = true
	t.mu.Unlock()
	if said || t.ctx.Err() != nil || t.role.Shown() {
		return
	}
	e := chat.NewError(chat.ClassMisuse, "err.no_tray_host",
		"This desktop shows no tray icons. Perch works all the same: use the hotkey or perch toggle.")
	t.problem(e)
	t.say(e)
}

// act does what a click asks for.
func (t *Tray) act(e desktop.Event) {
	order := func(c control.FrontCommand) {
		c.Pressed = e.Time
		t.order(c)
	}
	switch e.Action {
	case desktop.ClickIcon:
		order(control.FrontCommand{What: "toggle"})
	case actAsk:
		order(control.FrontCommand{What: "show"})
	case actNew:
		order(control.FrontCommand{What: "show", Session: "new"})
	case actSession, desktop.ClickNote:
		order(control.FrontCommand{What: "show", Session: e.Arg})
	case actAll:
		order(control.FrontCommand{What: "sessions"})
	case actKnowledge:
		order(control.FrontCommand{What: "knowledge"})
	case actSettings:
		order(control.FrontCommand{What: "settings"})
	case actPause:
		paused := t.keys.State().Paused
		t.wg.Go(func() { t.keys.Pause(t.ctx, !paused) })
	case actLogin:
		t.wg.Go(t.toggleLogin)
	case actQuit:
		go t.o.Quit() // it will close this tray, too
	}
}

// pressed takes a press of a hotkey.
func (t *Tray) pressed(id string, at time.Time) {
	c := control.FrontCommand{What: "toggle", Pressed: at}
	if name, ok := strings.CutPrefix(id, hotkey.PromptID("")); ok {
		c = control.FrontCommand{What: "prompt", Prompt: name, Pressed: at}
	}
	t.order(c)
}

// order gives an order to the popup of the tray's display. A failure is said,
// for nothing would appear otherwise.
func (t *Tray) order(c control.FrontCommand) {
	t.mu.Lock()
	env := t.env
	t.mu.Unlock()
	t.wg.Go(func() {
		ctx, cancel := context.WithTimeout(t.ctx, orderTimeout)
		defer cancel()
		if _, err := t.front.Command(ctx, env, c); err != nil && t.ctx.Err() == nil {
			e := chat.AsError(err)
			t.problem(e)
			t.say(e)
		}
	})
}

// toggleLogin switches the start at login.
func (t *Tray) toggleLogin() {
	t.mu.Lock()
	p := t.place
	t.mu.Unlock()
	if p == nil {
		return
	}
	if err := p.Set(!p.Enabled()); err != nil {
		e := chat.NewError(chat.ClassMisuse, "err.login_item", "The start at login was not changed: %v.", err).Wrap(err)
		t.problem(e)
		t.say(e)
	}
	t.mu.Lock()
	t.login.on = p.Enabled()
	t.mu.Unlock()
	t.show()
}

// Tell takes what happened in a run; where it is worth a word and the user does
// not look, a notification says so.
func (t *Tray) Tell(o Outcome) {
	if occasionOf(o, t.o.Config().Notify, t.front.Looking(o.Session)) != nothing {
		t.pace.tell(o)
	}
}

// notify shows the notification of an outcome, unless the user has come to look
// in the meantime.
func (t *Tray) notify(o Outcome) {
	why := occasionOf(o, t.o.Config().Notify, t.front.Looking(o.Session))
	if why == nothing || t.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, noteTimeout)
	defer cancel()
	if err := t.role.Notify(ctx, noteOf(o, why, t.o.Texts())); err != nil && t.ctx.Err() == nil {
		t.problem(chat.AsError(err))
	}
}

// say tells the user a sentence by a notification of its own.
func (t *Tray) say(e *chat.Error) {
	ctx, cancel := context.WithTimeout(t.ctx, noteTimeout)
	defer cancel()
	if err := t.role.Notify(ctx, desktop.Note{Title: appName, Body: t.o.Texts().Error(e)}); err != nil {
		t.o.Log.Warn("a notification was not shown", "error", err)
	}
}
