//go:build !linux

package main

// dieWithParent relies on standard input ending, here.
func dieWithParent() {}
