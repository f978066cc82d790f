//go:build !linux

package kb

// lowerPriority has no counterpart here that is bound to one thread.
func lowerPriority() func() { return func() {} }
