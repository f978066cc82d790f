//go:build !linux

package desktop

import (
	"context"

	"github.com/gen2brain/beeep"

	"perch/chat"
	"perch/tray/hotkey"
)

// notifier shows notifications by beeep, which has no clicks.
type notifier struct{ r *role }

// notify shows a notification.
func (n *notifier) notify(_ context.Context, note Note) error {
	if err := beeep.Notify(note.Title, note.Body, ""); err != nil {
		return chat.NewError(chat.ClassMisuse, "err.no_notifications",
			"This desktop shows no notifications (%v). Switch them on in the system's settings.", err).Wrap(err)
	}
	return nil
}

// shortcutKeys are a matter of Wayland alone.
type shortcutKeys struct{ r *role }

// bind says that there is no portal here.
func (*shortcutKeys) bind(context.Context, []hotkey.Binding) error { return errNoShortcuts() }
