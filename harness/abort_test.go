package harness_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"perch/chat"
	"perch/harness/harnesstest"
	"perch/providers"
)

// TestStopInEveryPhase stops a run before the first byte, in thinking, in text,
// in a summary and in a wait for a retry: it returns at once, nothing that was
// streamed is lost, and the session goes on. Stops in and between tools have
// tests of their own.
func TestStopInEveryPhase(t *testing.T) {
	hang := time.Hour
	for _, c := range []struct {
		name  string
		steps []harnesstest.Step
		big   bool
		kept  string // text of the interrupted answer, "" for none
	}{
		{name: "before the first byte", steps: []harnesstest.Step{{Text: []string{"late"}, Pause: hang}}},
		{name: "in thinking", steps: []harnesstest.Step{{Thinking: []string{"hm"}, Text: []string{"late"}, Pause: 400 * time.Millisecond}}},
		{name: "in text", steps: []harnesstest.Step{{Text: []string{"one ", "two ", "three"}, Pause: 300 * time.Millisecond}}, kept: "one two "},
		{name: "in a wait for a retry", steps: []harnesstest.Step{{Err: &chat.Error{Class: chat.ClassTransient, Message: "x", RetryAfter: time.Minute, HasRetryAfter: true}}}},
		{name: "in a summary", big: true, steps: []harnesstest.Step{{Text: []string{"SUM", "MARY"}, Pause: hang}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				if c.big { // a history that must be compacted before the first call
					r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(1_000_000)}
					for range 6 {
						r.p.Add(harnesstest.Say(strings.Repeat("long ", 1000)))
						r.ask(t.Context(), "tell me more")
					}
					r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(10_000)}
				}
				before := len(r.history())
				r.p.Add(c.steps...)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(700*time.Millisecond, cancel)
				start := time.Now()
				res := r.ask(ctx, "q")
				if took := time.Since(start); res.StopReason != chat.StopAborted || took > 800*time.Millisecond {
					t.Fatalf("%s after %v: %v", res.StopReason, took, res.Error)
				}
				h := r.history()
				kept := ""
				if last := h[len(h)-1]; last.Role == chat.RoleAssistant {
					kept = last.PlainText()
					if !last.Interrupted {
						t.Error("not marked interrupted")
					}
				}
				if h[before].PlainText() != "q" || kept != c.kept {
					t.Errorf("kept %q, want %q", kept, c.kept)
				}
				if l, _ := r.s.Load("s1"); len(l.View.Marks) != 0 {
					t.Error("a stopped summary changed the history")
				}
				r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(1_000_000)}
				r.p.Fallback = func(int, providers.Request) harnesstest.Step { return harnesstest.Say("on") }
				if res := r.ask(t.Context(), "go on"); res.Text != "on" {
					t.Errorf("the session does not go on: %+v", res)
				}
			})
		})
	}
}
