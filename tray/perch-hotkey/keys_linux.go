package main

/*
#cgo LDFLAGS: -lX11

#include <X11/Xlib.h>
#include <X11/XKBlib.h>

static Display *layoutDisplay;
static int xkbEvent = -1;

static int openLayout(void) {
	layoutDisplay = XOpenDisplay(0);
	if (layoutDisplay == NULL)
		return 0;
	int opcode, error, major = XkbMajorVersion, minor = XkbMinorVersion;
	if (XkbQueryExtension(layoutDisplay, &opcode, &xkbEvent, &error, &major, &minor))
		XkbSelectEvents(layoutDisplay, XkbUseCoreKbd, XkbNewKeyboardNotifyMask | XkbMapNotifyMask,
			XkbNewKeyboardNotifyMask | XkbMapNotifyMask);
	else
		xkbEvent = -1;
	return 1;
}

// waitLayout returns after the next change of the keyboard's layout. A server
// without XKB tells every client of it, asked or not.
static void waitLayout(void) {
	XEvent ev;
	do {
		XNextEvent(layoutDisplay, &ev);
	} while (ev.type != MappingNotify && ev.type != xkbEvent);
}

// keycodeOf asks with a connection of its own: waitLayout holds the other one,
// and a fresh one knows the layout of now.
static int keycodeOf(unsigned long sym) {
	Display *d = XOpenDisplay(0);
	if (d == NULL)
		return 0;
	int code = XKeysymToKeycode(d, sym);
	XCloseDisplay(d);
	return code;
}
*/
import "C"

import (
	xhotkey "golang.design/x/hotkey"

	"perch/tray/hotkey"
)

// codes are the library's modifiers and key for a combination.
func codes(c hotkey.Combo) ([]xhotkey.Modifier, xhotkey.Key, bool) {
	var mods []xhotkey.Modifier
	if m := c.X11Mods(); m != 0 {
		mods = []xhotkey.Modifier{xhotkey.Modifier(m)}
	}
	return mods, xhotkey.Key(c.Keysym()), true
}

// keycode is the key's code on the layout of now, 0 when it has no such key.
func keycode(c hotkey.Combo) int { return int(C.keycodeOf(C.ulong(c.Keysym()))) }

// watchLayout tells of changes of the keyboard's layout.
func watchLayout() *layouts {
	l := &layouts{}
	if C.openLayout() != 0 {
		go func() {
			for {
				C.waitLayout()
				l.changed()
			}
		}()
	}
	return l
}
