package service

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Go runs work in the background. A panic in it is reported with its stack and
// ends that work only, never Perch.
func Go(log *slog.Logger, what string, work func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				log.Error("work in the background panicked", "what", what, "value", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		work()
	}()
}
