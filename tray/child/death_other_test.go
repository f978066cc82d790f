//go:build !linux

package child

// parent is for the systems where the kernel ends helpers.
func parent() {}
