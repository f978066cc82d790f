package desktop

import (
	"context"

	"perch/control"
	"perch/tray/hotkey"
)

// Notify shows a notification.
func (s *Supervisor) Notify(ctx context.Context, n Note) error {
	return s.call(ctx, callNotify, n, nil)
}

// ReadClipboard reads the clipboard and leaves it as it is.
func (s *Supervisor) ReadClipboard(ctx context.Context) (c control.Clip, err error) {
	err = s.call(ctx, callRead, nil, &c)
	return c, err
}

// ReadSelection reads the selected text and leaves it as it is.
func (s *Supervisor) ReadSelection(ctx context.Context) (c control.Clip, err error) {
	err = s.call(ctx, callSelection, nil, &c)
	return c, err
}

// WriteClipboard makes Perch the owner of that content. It is kept until another
// program copies something, over restarts of the role too.
func (s *Supervisor) WriteClipboard(ctx context.Context, c control.Clip) error {
	if err := s.call(ctx, callWrite, write{Clip: c}, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owned = &c
	return nil
}

// Screenshot takes a picture and returns it as PNG.
func (s *Supervisor) Screenshot(ctx context.Context, shot control.Shot) (png []byte, err error) {
	err = s.call(ctx, callShot, shot, &png)
	return png, err
}

// BindShortcuts binds hotkeys by the desktop's portal, all at once.
func (s *Supervisor) BindShortcuts(ctx context.Context, bs []hotkey.Binding) error {
	return s.call(ctx, callShortcuts, shortcuts{Bindings: bs}, nil)
}
