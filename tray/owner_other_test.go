//go:build !linux

package tray

// playOwnerIfAsked is for the tests that kill an owner.
func playOwnerIfAsked() {}
