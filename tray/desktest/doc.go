// Package desktest is the desktop of the tests: an X server without a screen, a
// session bus of its own, a window manager, and where wanted a tray host and a
// notification service that tell what they saw. Everything a [Rig] starts ends
// with its test.
//
// The X server, the bus and the window managers are the real programs; a test
// is skipped, with their names, where they are not installed. Waiting is always
// for a condition, never for a time.
package desktest
