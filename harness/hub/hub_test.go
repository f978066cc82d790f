package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/harness"
	"perch/harness/harnesstest"
	"perch/harness/hub"
	"perch/providers"
	"perch/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*hub.Hub
	p   *harnesstest.Provider
	s   store.Store
	out chan hub.Outcome
}

func newRig(t *testing.T, change func(*hub.Options), steps ...harnesstest.Step) *rig {
	t.Helper()
	r := &rig{p: harnesstest.NewProvider(steps...), s: store.NewMemory(), out: make(chan hub.Outcome, 100)}
	cfg := config.Default()
	cfg.WorkingDir = t.TempDir()
	o := hub.Options{
		Store:  r.s,
		Config: func() config.Config { return cfg },
		Runner: harness.Options{
			Models:    harnesstest.Models{Provider: r.p, Info: harnesstest.Info(100_000)},
			Estimator: func(providers.ModelInfo) harness.Estimator { return harnesstest.Words{} },
			Tools:     func(context.Context) []chat.Tool { return []chat.Tool{harnesstest.Text("look", "seen")} },
		},
		Outcome: func(o hub.Outcome) { r.out <- o },
	}
	if change != nil {
		change(&o)
	}
	r.Hub = hub.New(o)
	t.Cleanup(r.Close)
	return r
}

// watch collects what a watcher sees until its run is done.
type watch struct {
	mu     sync.Mutex
	frames []control.Frame
	done   chan struct{}
	result *chat.Result
}

// view replays frames as a window does and returns the answer's text.
func (w *watch) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, f := range w.frames {
		switch {
		case f.Snapshot != nil:
			b.Reset()
			for _, m := range f.Snapshot.View.History {
				if m.Role == chat.RoleAssistant {
					b.WriteString(m.PlainText())
				}
			}
			if f.Snapshot.Live != nil {
				b.WriteString(f.Snapshot.Live.Text)
			}
		case f.Event != nil:
			e, err := chat.UnmarshalEvent(f.Event)
			if err != nil {
				continue
			}
			if d, ok := e.(*chat.TextDelta); ok {
				b.WriteString(d.Text)
			}
		}
	}
	return b.String()
}

func (r *rig) watch(t *testing.T, session string) *watch {
	t.Helper()
	w := &watch{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n := 0
		r.Watch(ctx, session, func(f control.Frame) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.frames = append(w.frames, f)
			if n++; n == 1 {
				close(first)
			}
			if f.Event == nil {
				return nil
			}
			e, err := chat.UnmarshalEvent(f.Event)
			if err != nil {
				return err
			}
			if d, ok := e.(*chat.Done); ok && w.result == nil {
				w.result = &d.Result
				close(w.done)
			}
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	<-first
	return w
}

func within(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(10 * time.Second):
		t.Fatalf("timed out: %s", what)
	}
}

func (r *rig) session(t *testing.T) string {
	t.Helper()
	s, err := r.CreateSession(t.Context(), control.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

func TestTwoWatchersSeeTheSameRun(t *testing.T) {
	r := newRig(t, nil, harnesstest.Step{Text: []string{"a", "b", "c"}, Pause: 10 * time.Millisecond})
	id := r.session(t)
	a := r.watch(t, id)
	if _, err := r.Ask(t.Context(), id, control.Ask{Text: "q"}); err != nil {
		t.Fatal(err)
	}
	b := r.watch(t, id) // joins late
	within(t, "done", a.done)
	within(t, "done", b.done)
	if a.text() != "abc" || b.text() != "abc" {
		t.Errorf("%q and %q", a.text(), b.text())
	}
}

func TestAWatcherThatLeavesDoesNotEndTheRun(t *testing.T) {
	r := newRig(t, nil, harnesstest.Step{Text: []string{"a", "b"}, Pause: 20 * time.Millisecond})
	id := r.session(t)
	ctx, cancel := context.WithCancel(t.Context())
	go r.Watch(ctx, id, func(control.Frame) error { return nil })
	r.Ask(t.Context(), id, control.Ask{Text: "q"})
	cancel()
	o := <-r.out
	if o.Result == nil || o.Result.Text != "ab" {
		t.Errorf("%+v", o.Result)
	}
}

func TestASlowWatcherGetsDeltasMergedAndNothingLost(t *testing.T) {
	pieces := make([]string, 5000)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("%d ", i)
	}
	r := newRig(t, nil, harnesstest.Step{Text: pieces}, harnesstest.Say("x"))
	id := r.session(t)
	gate := make(chan struct{})
	var got strings.Builder
	frames := 0
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Watch(ctx, id, func(f control.Frame) error {
			if f.Snapshot != nil {
				got.Reset()
				for _, m := range f.Snapshot.View.History {
					if m.Role == chat.RoleAssistant {
						got.WriteString(m.PlainText())
					}
				}
				if f.Snapshot.Live != nil {
					got.WriteString(f.Snapshot.Live.Text)
				}
				return nil
			}
			if f.Event == nil {
				return nil
			}
			frames++
			<-gate // slow until the run is over
			e, _ := chat.UnmarshalEvent(f.Event)
			switch e := e.(type) {
			case *chat.TextDelta:
				got.WriteString(e.Text)
			case *chat.Done:
				close(done)
			}
			return nil
		})
	}()
	r.Ask(t.Context(), id, control.Ask{Text: "q"})
	<-r.out
	close(gate)
	within(t, "done", done)
	cancel()
	<-ended
	if got.String() != strings.Join(pieces, "") {
		t.Errorf("text of %d bytes, want %d", got.Len(), len(strings.Join(pieces, "")))
	}
	if frames > 100 {
		t.Errorf("%d frames for a watcher that was asleep", frames)
	}
}

// asks asks about everything.
type asks struct{}

func (asks) Decide(g harness.Grants, _ string, needs []chat.Need) harness.Decision {
	if !g.Interactive {
		return harness.Decision{Verdict: harness.Deny, Reason: "nobody to ask"}
	}
	return harness.Decision{Verdict: harness.AskUser, Asking: needs}
}
func (asks) Answered(string, string, []chat.Need, control.Verdict) error { return nil }
func (asks) Granted(string, string, chat.NeedKind) []string              { return nil }

func asking(o *hub.Options) {
	o.Runner.Permissions = asks{}
	o.Runner.Tools = func(context.Context) []chat.Tool {
		t := harnesstest.Text("look", "seen")
		t.Need = []chat.Need{{Kind: chat.NeedExecute, Subject: "ls", Detail: "ls"}}
		return []chat.Tool{t}
	}
}

func TestAQuestionIsAnsweredOnceAndTheFirstAnswerCounts(t *testing.T) {
	r := newRig(t, asking, harnesstest.Call("look", "{}"), harnesstest.Say("ok"))
	id := r.session(t)
	reply, err := r.Ask(t.Context(), id, control.Ask{Text: "q", Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	o := <-r.out
	if o.Question == nil {
		t.Fatalf("no question: %+v", o)
	}
	late := r.watch(t, id)
	late.mu.Lock()
	q := late.frames[0].Snapshot.Live.Question
	late.mu.Unlock()
	if q == nil || q.Detail != "ls" {
		t.Fatalf("a late watcher does not see the question: %+v", q)
	}
	s, _ := r.ListSessions(t.Context(), control.SessionQuery{})
	if s[0].Activity != control.Waiting {
		t.Errorf("activity %q", s[0].Activity)
	}
	if err := r.Answer(t.Context(), reply.Run, control.Answer{Call: "other", Verdict: control.Once}); err == nil {
		t.Error("an answer to another call was taken")
	}
	if err := r.Answer(t.Context(), reply.Run, control.Answer{Call: q.ID, Verdict: control.Once}); err != nil {
		t.Fatal(err)
	}
	if err := r.Answer(t.Context(), reply.Run, control.Answer{Call: q.ID, Verdict: control.No}); err == nil {
		t.Error("a second answer was taken")
	}
	if o := <-r.out; o.Result == nil || o.Result.Text != "ok" {
		t.Errorf("%+v", o.Result)
	}
}

func TestWithoutAnInteractiveClientTheAnswerIsNo(t *testing.T) {
	r := newRig(t, asking, harnesstest.Call("look", "{}"), harnesstest.Say("ok"))
	r.Ask(t.Context(), r.session(t), control.Ask{Text: "q"})
	if o := <-r.out; o.Result == nil || o.Result.Refused != 1 {
		t.Errorf("%+v", o)
	}
}

func TestAMessageDuringARunSteersItOrStartsTheNext(t *testing.T) {
	called := make(chan struct{})
	r := newRig(t, nil, harnesstest.Step{Text: []string{"a", "b"}, Pause: 50 * time.Millisecond, Do: func(providers.Request) { close(called) }}, harnesstest.Say("second"))
	id := r.session(t)
	r.Ask(t.Context(), id, control.Ask{Text: "one"})
	within(t, "the model call", called)
	reply, err := r.Ask(t.Context(), id, control.Ask{Text: "two"})
	if err != nil || !reply.Steered {
		t.Fatalf("%+v %v", reply, err)
	}
	<-r.out
	if o := <-r.out; o.Result.Text != "second" {
		t.Errorf("%+v", o.Result)
	}
	v, _ := r.ViewSession(t.Context(), id)
	if len(v.History) != 4 || v.History[2].PlainText() != "two" || len(v.Pending) != 0 {
		t.Errorf("history %+v pending %v", v.History, v.Pending)
	}
}

func TestAfterStopAPendingMessageReturnsAsADraft(t *testing.T) {
	called := make(chan struct{})
	r := newRig(t, nil, harnesstest.Step{Text: []string{"a", "b", "c"}, Pause: time.Hour, Do: func(providers.Request) { close(called) }})
	id := r.session(t)
	first, _ := r.Ask(t.Context(), id, control.Ask{Text: "one"})
	within(t, "the model call", called)
	r.Ask(t.Context(), id, control.Ask{Text: "two"})
	if err := r.Stop(t.Context(), first.Run); err != nil {
		t.Fatal(err)
	}
	if o := <-r.out; o.Result.StopReason != chat.StopAborted {
		t.Errorf("%+v", o.Result)
	}
	v, _ := r.ViewSession(t.Context(), id)
	if v.Draft != "two" || len(v.Pending) != 0 || v.Activity != control.Idle {
		t.Errorf("draft %q, pending %v, activity %q", v.Draft, v.Pending, v.Activity)
	}
}

func TestFourRunsAtOnceAndNotFive(t *testing.T) {
	r := newRig(t, nil)
	r.p.Fallback = func(int, providers.Request) harnesstest.Step {
		return harnesstest.Step{Text: []string{"x"}, Pause: time.Hour}
	}
	for range 4 {
		if _, err := r.Ask(t.Context(), "new", control.Ask{Text: "q"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Ask(t.Context(), "new", control.Ask{Text: "q"}); err == nil || !strings.Contains(err.Error(), "limit is 4") {
		t.Errorf("a fifth run: %v", err)
	}
}

func TestClosingTheHubLeavesEverySessionReady(t *testing.T) {
	r := newRig(t, nil, harnesstest.Step{Text: []string{"part ", "more"}, Pause: 20 * time.Millisecond})
	id := r.session(t)
	r.Ask(t.Context(), id, control.Ask{Text: "q"})
	r.Close()
	l, err := r.s.Load(id)
	if err != nil || l.Repair.Changed() || !chat.Paired(l.Messages) {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := r.Ask(t.Context(), id, control.Ask{Text: "q"}); err == nil {
		t.Error("a closed hub started a run")
	}
}

func TestStatisticsAddUp(t *testing.T) {
	r := newRig(t, nil,
		harnesstest.Step{Calls: []chat.ToolCall{{Name: "nope"}, {Name: "look"}}, Usage: &chat.Usage{Input: 5, Output: 1, Cost: .5}},
		harnesstest.Say("ok"), harnesstest.Fail(chat.ClassAuth, "no"))
	id := r.session(t)
	for range 2 {
		r.Ask(t.Context(), id, control.Ask{Text: "q"})
		<-r.out
	}
	s, err := r.Stats(t.Context())
	if err != nil || s.Runs != 2 || s.Failed != 1 || s.Usage.Cost != .5 || s.Today.Cost != .5 || s.ToolCalls["look"] != 1 || len(s.ToolFailures) != 1 || s.ToolFailures[0].Tool != "nope" {
		b, _ := json.Marshal(s)
		t.Errorf("%s %v", b, err)
	}
}

func TestTheMarkOfAFinishedRunIsClearedWhenSeen(t *testing.T) {
	r := newRig(t, nil, harnesstest.Say("ok"))
	id := r.session(t)
	r.Ask(t.Context(), id, control.Ask{Text: "q"})
	<-r.out
	s, _ := r.State(t.Context())
	if s.Activity != control.Done || s.Recent[0].ID != id {
		t.Errorf("%+v", s)
	}
	r.PatchSession(t.Context(), id, control.SessionPatch{Seen: true})
	if s, _ := r.State(t.Context()); s.Activity != control.Idle {
		t.Errorf("%+v", s)
	}
}

func TestEditAndResendRemovesTheMessageAndAllAfterIt(t *testing.T) {
	r := newRig(t, nil, harnesstest.Say("one"), harnesstest.Say("two"))
	id := r.session(t)
	for _, q := range []string{"first", "second"} {
		r.Ask(t.Context(), id, control.Ask{Text: q})
		<-r.out
	}
	v, _ := r.ViewSession(t.Context(), id)
	if err := r.TruncateSession(t.Context(), id, v.History[2].ID); err != nil {
		t.Fatal(err)
	}
	if v, _ = r.ViewSession(t.Context(), id); len(v.History) != 2 {
		t.Errorf("%d messages left", len(v.History))
	}
	if err := r.TruncateSession(t.Context(), id, "nope"); err == nil {
		t.Error("an unknown message was accepted")
	}
}
