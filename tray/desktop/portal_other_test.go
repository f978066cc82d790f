//go:build !linux

package desktop

// playSecretParent is for the portals of Linux.
func playSecretParent() {}
