//go:build unix

package cli

import (
	"os"
	"syscall"
	"testing"

	"perch/chat"
	"perch/control"
)

func TestInterruptStopsTheRunAndEndsWith130(t *testing.T) {
	r := newRig(t)
	r.f.script = func(_ control.Ask, emit func(chat.Event), wait func()) {
		emit(&chat.TextDelta{Text: "so far"})
		must(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		wait()
		emit(&chat.Done{Result: chat.Result{StopReason: chat.StopAborted, Text: "so far"}})
	}
	r.expect(r.run("", "ask", "x"), 130, "so far\n", "Stopped")
	r.f.stops = 0
	got := r.run("", "ask", "--json", "x")
	r.expect(got, 130, `"stop_reason":"aborted"`, "")
	events(t, got.out)
}
