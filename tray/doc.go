// Package tray is Perch at the desktop beside the popup window itself: the tray
// icon and its menu, the hotkeys, the notifications, the clipboard, and the
// popups' life. It holds no cgo and no window; these live in processes of their
// own that it starts and keeps running.
//
//	t := tray.New(tray.Options{Watch: owner.WatchState, Config: cfg, Quit: quit, Changed: changed})
//	defer t.Close()
//	err := t.Start(env)      // becomes the tray of that desktop
//	services.Desktop = t     // clipboard, screenshots, hotkey, notifications
//	services.Front = t.Front()
//
// An owner without a tray calls [Tray.Serve] with its own environment or that of a
// client that has a desktop: clipboard, screenshots and notifications work then,
// with neither icon nor hotkey, and cost a process only once they are used. [Tray.Reload] follows changed settings, [Tray.Tell]
// takes what happened in runs, and [Tray.Status] is what the owner adds to its
// state.
package tray
