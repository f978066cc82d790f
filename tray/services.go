package tray

import (
	"context"

	"perch/control"
	"perch/tray/desktop"
)

// ReadClipboard reads the clipboard and leaves it as it is.
func (t *Tray) ReadClipboard(ctx context.Context) (control.Clip, error) {
	return t.role.ReadClipboard(ctx)
}

// ReadSelection reads the selected text and leaves it as it is.
func (t *Tray) ReadSelection(ctx context.Context) (control.Clip, error) {
	return t.role.ReadSelection(ctx)
}

// WriteClipboard makes Perch the owner of that content until another program
// copies something.
func (t *Tray) WriteClipboard(ctx context.Context, c control.Clip) error {
	return t.role.WriteClipboard(ctx, c)
}

// Screenshot takes a picture without Perch's own popup in it.
func (t *Tray) Screenshot(ctx context.Context, s control.Shot) (png []byte, err error) {
	t.mu.Lock()
	env := t.env
	t.mu.Unlock()
	err = t.front.WithoutPopups(ctx, env, func() (err error) {
		png, err = t.role.Screenshot(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return png, nil
}

// PauseHotkey lets the hotkeys go while settings read a new one, or takes them
// again, and returns what became of it.
func (t *Tray) PauseHotkey(ctx context.Context, on bool) (control.HotkeyState, error) {
	return t.keys.Pause(ctx, on), nil
}

// Notify shows a notification; a click on it opens the session.
func (t *Tray) Notify(ctx context.Context, title, text, session string) error {
	return t.role.Notify(ctx, desktop.Note{Title: title, Body: text, Session: session, Open: t.o.Texts().T("note.open")})
}
