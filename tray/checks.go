package tray

import (
	"context"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/hotkey"
)

// checkTimeout bounds one check of the doctor.
const checkTimeout = 5 * time.Second

// Checks are the doctor's checks that only the tray can do.
func (t *Tray) Checks() []func(context.Context) control.Check {
	return []func(context.Context) control.Check{t.checkHotkey, t.checkClipboard}
}

// checkHotkey reports whether the hotkey is held.
func (t *Tray) checkHotkey(context.Context) control.Check {
	texts, st := t.o.Texts(), t.Status()
	c := control.Check{Name: "hotkey", Warn: true, Detail: st.Hotkey.Problem}
	label := st.Hotkey.Combo
	if combo, err := hotkey.Parse(st.Hotkey.Combo); err == nil {
		label = combo.Label()
	}
	switch {
	case !st.Tray:
		c.Detail, c.Advice = texts.T("check.hotkey_no_tray"), texts.T("check.start_tray")
	case st.Hotkey.Combo == "":
		c.OK, c.Detail = true, texts.T("check.hotkey_off")
	case st.Hotkey.Paused:
		c.OK, c.Detail = true, texts.T("check.hotkey_paused", label)
	case st.Hotkey.Active && st.Hotkey.Problem == "":
		c.OK, c.Detail = true, label
	}
	return c
}

// checkClipboard reports whether the clipboard can be read. It looks at nothing
// but the outcome.
func (t *Tray) checkClipboard(ctx context.Context) control.Check {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	c := control.Check{Name: "clipboard", Warn: true}
	if _, err := t.role.ReadClipboard(ctx); err != nil {
		c.Detail = t.o.Texts().Error(chat.AsError(err))
		return c
	}
	c.OK, c.Detail = true, t.o.Texts().T("check.clipboard_ok")
	return c
}
