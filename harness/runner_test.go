package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/harness"
	"perch/harness/harnesstest"
	"perch/providers"
	"perch/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a runner with a scripted provider over a store in memory.
type rig struct {
	t      *testing.T
	p      *harnesstest.Provider
	s      store.Store
	o      harness.Options
	cfg    config.Config
	events []chat.Event
}

func newRig(t *testing.T, steps ...harnesstest.Step) *rig {
	r := &rig{t: t, p: harnesstest.NewProvider(steps...), s: store.NewMemory(), cfg: config.Default()}
	r.cfg.WorkingDir = t.TempDir()
	r.o = harness.Options{
		Store:     r.s,
		Models:    harnesstest.Models{Provider: r.p, Info: harnesstest.Info(100_000)},
		Estimator: func(providers.ModelInfo) harness.Estimator { return harnesstest.Words{} },
		Config:    func() config.Config { return r.cfg },
		Tools: func(context.Context) []chat.Tool {
			return []chat.Tool{harnesstest.Text("look", "seen"), harnesstest.Text("other", "else")}
		},
	}
	if err := r.s.Create(chat.SessionMeta{ID: "s1", Created: time.Now(), Used: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask works one question and returns its outcome; events are kept in r.events.
func (r *rig) ask(ctx context.Context, text string) chat.Result {
	r.t.Helper()
	r.events = nil
	var res chat.Result
	done := false
	for e, err := range harness.New(r.o).Stream(ctx, harness.Request{Session: "s1", Text: text, Continue: text == ""}) {
		if err != nil {
			r.t.Fatal(err)
		}
		if done {
			r.t.Fatal("an event after Done")
		}
		r.events = append(r.events, e)
		if d, ok := e.(*chat.Done); ok {
			res, done = d.Result, true
		}
	}
	if !done {
		r.t.Fatal("no Done")
	}
	for i, e := range r.events {
		if e.Header().Seq != int64(i+1) {
			r.t.Fatalf("event %d has sequence number %d", i, e.Header().Seq)
		}
	}
	r.checkHistory()
	return res
}

func (r *rig) history() []chat.Message {
	r.t.Helper()
	l, err := r.s.Load("s1")
	if err != nil {
		r.t.Fatal(err)
	}
	return l.Messages
}

func (r *rig) checkHistory() {
	r.t.Helper()
	l, err := r.s.Load("s1")
	if err != nil {
		r.t.Fatal(err)
	}
	if l.Repair.Changed() {
		r.t.Errorf("the run left a history that needed repair: %+v", l.Repair)
	}
}

// shown replays the events as a view does and returns the text it shows.
func (r *rig) shown() string {
	var b strings.Builder
	for _, e := range r.events {
		switch e := e.(type) {
		case *chat.TextDelta:
			b.WriteString(e.Text)
		case *chat.Retry:
			s := b.String()
			b.Reset()
			b.WriteString(s[:len(s)-e.Withdrawn.TextBytes])
		}
	}
	return b.String()
}

func kinds(events []chat.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, e.EventType())
	}
	return strings.Join(slices.Compact(out), " ")
}

func results(msgs []chat.Message) []*chat.ToolResult {
	var out []*chat.ToolResult
	for i := range msgs {
		if msgs[i].Result != nil {
			out = append(out, msgs[i].Result)
		}
	}
	return out
}

func TestARunStreamsStoresAndEnds(t *testing.T) {
	r := newRig(t, harnesstest.Step{Text: []string{"Hel", "lo"}, Usage: &chat.Usage{Input: 10, Output: 2}})
	res := r.ask(t.Context(), "Say hello")
	if res.Text != "Hello" || res.StopReason != chat.StopEnd || res.Error != nil || res.Usage.Input != 10 || res.Model != "script/model" {
		t.Errorf("%+v", res)
	}
	if got := kinds(r.events); got != "text_delta done" {
		t.Errorf("events: %s", got)
	}
	h := r.history()
	if len(h) != 2 || h[0].PlainText() != "Say hello" || h[1].PlainText() != "Hello" || h[1].Provider != "script" {
		t.Errorf("history: %+v", h)
	}
	if m, _ := r.s.Meta("s1"); m.Title != "Say hello" {
		t.Errorf("title %q", m.Title)
	}
}

func TestRunDrainsTheSameStream(t *testing.T) {
	r := newRig(t, harnesstest.Say("x"))
	res, err := harness.New(r.o).Run(t.Context(), harness.Request{Session: "s1", Text: "q"})
	if err != nil || res.Text != "x" {
		t.Errorf("%+v %v", res, err)
	}
}

func TestTheQuestionIsStoredBeforeTheFirstModelCall(t *testing.T) {
	var r *rig
	r = newRig(t, harnesstest.Step{Text: []string{"x"}, Do: func(providers.Request) {
		if h := r.history(); len(h) != 1 || h[0].Role != chat.RoleUser {
			t.Errorf("history at the first call: %+v", h)
		}
	}})
	r.ask(t.Context(), "q")
}

func TestAToolRoundIsPairedAndItsResultsAreStoredAtOnce(t *testing.T) {
	r := newRig(t,
		harnesstest.Step{Text: []string{"Let me see. "}, Calls: []chat.ToolCall{{VendorID: "same", Name: "look"}, {VendorID: "same", Name: "other", Input: `{"a":1}`}}},
		harnesstest.Say("Done."))
	second := harnesstest.Tool{Name: "other", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
		if got := results(r.history()); len(got) != 1 && len(got) != 2 {
			t.Errorf("results in the store when the second tool runs: %d", len(got))
		}
		return chat.ToolResult{Text: "else"}, nil
	}}
	r.o.Tools = func(context.Context) []chat.Tool { return []chat.Tool{harnesstest.Text("look", "seen"), second} }
	res := r.ask(t.Context(), "q")
	if res.Text != "Done." || res.Rounds != 1 {
		t.Errorf("%+v", res)
	}
	if got := kinds(r.events); got != "text_delta tool_start tool_end tool_start tool_end text_delta done" {
		t.Errorf("events: %s", got)
	}
	h := r.history()
	if !chat.Paired(h) || len(h) != 5 {
		t.Fatalf("history: %+v", h)
	}
	calls := h[1].Calls()
	if calls[0].ID == calls[1].ID || calls[0].ID == "" || calls[0].VendorID != "same" {
		t.Errorf("ids: %+v %+v", calls[0], calls[1])
	}
	req := r.p.Requests()[1]
	if len(req.Messages) != 4 || req.Messages[3].Result.Text != "else" {
		t.Errorf("second request: %+v", req.Messages)
	}
}

func TestEveryBadCallBecomesAResultTheModelCanActOn(t *testing.T) {
	panics := harnesstest.Tool{Name: "panics", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) { panic("boom") }}
	fails := harnesstest.Tool{Name: "fails", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
		return chat.ToolResult{}, errors.New("no such file: x; list the folder first")
	}}
	for _, c := range []struct {
		name string
		call chat.ToolCall
		stop chat.StopReason
		kind chat.FailureKind
		says string
	}{
		{"unknown tool", chat.ToolCall{Name: "nope"}, "", chat.FailUnknownTool, "look, other"},
		{"no JSON", chat.ToolCall{Name: "look", Input: `{"a":`}, "", chat.FailBadJSON, "valid JSON"},
		{"null", chat.ToolCall{Name: "look", Input: `null`}, "", chat.FailBadJSON, "valid JSON"},
		{"schema", chat.ToolCall{Name: "other", Input: `{}`}, "", chat.FailSchema, "path is missing"},
		{"panic", chat.ToolCall{Name: "panics"}, "", chat.FailPanic, "boom"},
		{"failed", chat.ToolCall{Name: "fails"}, "", chat.FailTool, "no such file"},
		{"cut off", chat.ToolCall{Name: "look", Input: `{"a":1}`}, chat.StopOutputLimit, chat.FailCutOff, "not run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, harnesstest.Step{Calls: []chat.ToolCall{c.call}, Stop: c.stop}, harnesstest.Say("ok"))
			r.o.Tools = func(context.Context) []chat.Tool {
				return []chat.Tool{harnesstest.Text("look", "RAN"), harnesstest.Text("other", "RAN"), panics, fails}
			}
			r.o.Validate = func(d chat.ToolDef, in []byte) error {
				if d.Name == "other" {
					return errors.New("path is missing")
				}
				return nil
			}
			res := r.ask(t.Context(), "q")
			got := results(r.history())
			if len(got) != 1 || !got[0].IsError || got[0].Failure != c.kind || !strings.Contains(got[0].Text, c.says) || strings.Contains(got[0].Text, "RAN") {
				t.Errorf("result: %+v", got)
			}
			if res.StopReason != chat.StopEnd || len(res.ToolFailures) != 1 || res.ToolFailures[0].Kind != c.kind {
				t.Errorf("outcome: %+v", res)
			}
			if k := kinds(r.events); !strings.Contains(k, "tool_start tool_end") {
				t.Errorf("events: %s", k)
			}
		})
	}
}

func TestARetryWithdrawsWhatWasStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t,
			harnesstest.Step{Thinking: []string{"hm"}, Text: []string{"Hel", "lo wor"}, Err: &chat.Error{Class: chat.ClassTransient, Message: "reset"}},
			harnesstest.Fail(chat.ClassRateLimit, "slow down", "X"),
			harnesstest.Say("Hello world"))
		res := r.ask(t.Context(), "q")
		if res.Text != "Hello world" || r.shown() != "Hello world" || res.Retries != 2 {
			t.Errorf("%q shown %q, %d retries", res.Text, r.shown(), res.Retries)
		}
		var first *chat.Retry
		for _, e := range r.events {
			if rt, ok := e.(*chat.Retry); ok && first == nil {
				first = rt
			}
		}
		if first.Withdrawn != (chat.Withdrawn{TextBytes: 9, ThinkingBytes: 2}) {
			t.Errorf("withdrawn: %+v", first.Withdrawn)
		}
		reqs := r.p.Requests()
		if !reflect.DeepEqual(reqs[0].Messages, reqs[2].Messages) {
			t.Error("a retry sent another request")
		}
	})
}

func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.p.Fallback = func(int, providers.Request) harnesstest.Step {
			return harnesstest.Fail(chat.ClassTransient, "down", "part")
		}
		res := r.ask(t.Context(), "q")
		if res.Retries != 5 || len(r.p.Requests()) != 6 || res.StopReason != chat.StopError || res.Error.Class != chat.ClassTransient {
			t.Errorf("%+v after %d requests", res, len(r.p.Requests()))
		}
		if h := r.history(); len(h) != 2 || !h[1].Interrupted || h[1].PlainText() != "part" {
			t.Errorf("what was shown last is not kept: %+v", h)
		}
	})
}

func TestADeterministicErrorIsNotRepeated(t *testing.T) {
	for _, class := range []chat.Class{chat.ClassBadRequest, chat.ClassAuth, chat.ClassQuota, chat.ClassPayment, chat.ClassUnknownModel, chat.ClassInternal} {
		r := newRig(t, harnesstest.Fail(class, "no"))
		res := r.ask(t.Context(), "q")
		if len(r.p.Requests()) != 1 || res.Error == nil || res.Error.Class != class {
			t.Errorf("%s: %d requests, %+v", class, len(r.p.Requests()), res.Error)
		}
	}
}

func TestALongHintEndsTheRun(t *testing.T) {
	r := newRig(t, harnesstest.Step{Err: &chat.Error{Class: chat.ClassRateLimit, Message: "x", RetryAfter: time.Hour, HasRetryAfter: true}})
	start := time.Now()
	res := r.ask(t.Context(), "q")
	if res.StopReason != chat.StopError || time.Since(start) > time.Second || !strings.Contains(res.Error.Message, "Try again then") {
		t.Errorf("%+v", res.Error)
	}
}

func TestStopDuringARetryWaitIsObeyedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, harnesstest.Step{Err: &chat.Error{Class: chat.ClassTransient, Message: "x", RetryAfter: 30 * time.Second, HasRetryAfter: true}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		res := r.ask(ctx, "q")
		if res.StopReason != chat.StopAborted || time.Since(start) != time.Second {
			t.Errorf("%s after %v", res.StopReason, time.Since(start))
		}
	})
}

func TestStopInTextKeepsWhatWasStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, harnesstest.Step{Text: []string{"one ", "two ", "three"}, Pause: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2500*time.Millisecond, cancel)
		res := r.ask(ctx, "q")
		h := r.history()
		if res.StopReason != chat.StopAborted || len(h) != 2 || h[1].PlainText() != "one two " || !h[1].Interrupted {
			t.Fatalf("%s, history %+v", res.StopReason, h)
		}
		r.p.Add(harnesstest.Say("again"))
		if res := r.ask(t.Context(), "go on"); res.Text != "again" {
			t.Errorf("the session does not go on: %+v", res)
		}
	})
}

func TestStopInAToolAnswersEveryOpenCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, harnesstest.Step{Calls: []chat.ToolCall{{Name: "slow"}, {Name: "look"}, {Name: "look"}}})
		ran := 0
		slow := harnesstest.Tool{Name: "slow", Do: func(ctx context.Context, _ json.RawMessage, _ chat.Env) (chat.ToolResult, error) {
			<-ctx.Done()
			return chat.ToolResult{}, ctx.Err()
		}}
		look := harnesstest.Tool{Name: "look", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
			ran++
			return chat.ToolResult{Text: "x"}, nil
		}}
		r.o.Tools = func(context.Context) []chat.Tool { return []chat.Tool{slow, look} }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		res := r.ask(ctx, "q")
		if res.StopReason != chat.StopAborted || ran != 0 || time.Since(start) > 1100*time.Millisecond {
			t.Errorf("%s, %d further tools, after %v", res.StopReason, ran, time.Since(start))
		}
		for _, x := range results(r.history()) {
			if !x.Interrupted {
				t.Errorf("not marked interrupted: %+v", x)
			}
		}
		if n := len(results(r.history())); n != 3 {
			t.Errorf("%d results for 3 calls", n)
		}
	})
}

func TestAToolThatIgnoresCancellationIsGivenUpAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		r := newRig(t, harnesstest.Call("deaf", "{}"))
		deaf := harnesstest.Tool{Name: "deaf", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
			<-release
			return chat.ToolResult{}, nil
		}}
		r.o.Tools = func(context.Context) []chat.Tool { return []chat.Tool{deaf} }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		res := r.ask(ctx, "q")
		if took := time.Since(start); took != 3*time.Second || res.Abandoned != 1 {
			t.Errorf("after %v, %d abandoned", took, res.Abandoned)
		}
	})
}

func TestAConsumerThatStopsRangingAbortsTheRun(t *testing.T) {
	r := newRig(t, harnesstest.Say("a", "b", "c"))
	for range harness.New(r.o).Stream(t.Context(), harness.Request{Session: "s1", Text: "q"}) {
		break
	}
	r.checkHistory()
	if h := r.history(); len(h) != 2 || !h[1].Interrupted {
		t.Errorf("history: %+v", h)
	}
}

func TestTheRestOfACutOffAnswerIsAskedForTwice(t *testing.T) {
	cut := func(s string) harnesstest.Step {
		return harnesstest.Step{Text: []string{s}, Stop: chat.StopOutputLimit}
	}
	r := newRig(t, cut("one "), cut("two "), cut("three"))
	res := r.ask(t.Context(), "q")
	if res.Text != "one two three" || res.StopReason != chat.StopOutputLimit || !strings.Contains(kinds(r.events), "notice") {
		t.Errorf("%+v", res)
	}
	r = newRig(t, cut("one "), harnesstest.Say("two"))
	if res := r.ask(t.Context(), "q"); res.Text != "one two" || res.StopReason != chat.StopEnd {
		t.Errorf("%+v", res)
	}
	if h := r.history(); len(h) != 4 || h[2].Kind != chat.KindHarness {
		t.Errorf("history: %+v", h)
	}
}

func TestAnEmptyAnswerIsAskedForOnceMoreAndNeverStored(t *testing.T) {
	for _, blank := range []harnesstest.Step{{}, harnesstest.Say(" \n"), {Thinking: []string{"hm"}}} {
		r := newRig(t, blank, harnesstest.Say("now"))
		if res := r.ask(t.Context(), "q"); res.Text != "now" || r.shown() != "now" {
			t.Errorf("%+v shown %q", res, r.shown())
		}
		r = newRig(t, blank, blank)
		if res := r.ask(t.Context(), "q"); res.Error == nil || res.Error.Class != chat.ClassEmpty || len(r.history()) != 1 {
			t.Errorf("%+v, history %+v", res.Error, r.history())
		}
	}
}

func TestARefusalIsShownAsSuch(t *testing.T) {
	r := newRig(t, harnesstest.Step{Text: []string{"I can't."}, Stop: chat.StopRefusal, Calls: []chat.ToolCall{{Name: "look"}}})
	res := r.ask(t.Context(), "q")
	if res.StopReason != chat.StopRefusal || len(r.p.Requests()) != 1 || len(results(r.history())) != 0 {
		t.Errorf("%+v", res)
	}
}

func TestTheSameCallWithTheSameResultEndsTheRun(t *testing.T) {
	r := newRig(t)
	r.p.Fallback = func(int, providers.Request) harnesstest.Step { return harnesstest.Call("look", "{}") }
	res := r.ask(t.Context(), "q")
	got := results(r.history())
	if res.StopReason != chat.StopLoop || len(got) != 5 {
		t.Fatalf("%s after %d rounds", res.StopReason, len(got))
	}
	for i, x := range got {
		if strings.Contains(x.Text, "third time") != (i == 2) {
			t.Errorf("result %d: %s", i, x.Text)
		}
	}
}

func TestRoundsAreLimited(t *testing.T) {
	r := newRig(t)
	r.cfg.Limits.Rounds = 4
	r.p.Fallback = func(n int, _ providers.Request) harnesstest.Step {
		return harnesstest.Call("look", fmt.Sprintf(`{"n":%d}`, n))
	}
	if res := r.ask(t.Context(), "q"); res.StopReason != chat.StopRoundLimit || res.Rounds != 4 {
		t.Errorf("%s after %d", res.StopReason, res.Rounds)
	}
}

func TestACostCeilingStopsTheRun(t *testing.T) {
	r := newRig(t)
	r.cfg.Limits.CostPerRun = 0.05
	r.p.Fallback = func(n int, _ providers.Request) harnesstest.Step {
		s := harnesstest.Call("look", fmt.Sprintf(`{"n":%d}`, n))
		s.Usage = &chat.Usage{Input: 1, Cost: 0.02}
		return s
	}
	res := r.ask(t.Context(), "q")
	if res.Error == nil || res.Error.Class != chat.ClassBudget || res.Rounds != 3 || !strings.Contains(res.Error.Message, "limits.cost_per_run") {
		t.Errorf("%+v", res)
	}
	r = newRig(t)
	r.cfg.Limits.CostPerDay = 1
	r.o.SpentToday = func() float64 { return 2 }
	if res := r.ask(t.Context(), "q"); res.Error == nil || res.Error.Class != chat.ClassBudget || len(r.p.Requests()) != 0 {
		t.Errorf("%+v", res)
	}
}

// answers approves with fixed answers and keeps the questions.
type answers struct {
	mu    sync.Mutex
	say   []control.Answer
	asked []*chat.Permission
}

func (a *answers) Approve(ctx context.Context, q *chat.Permission) (control.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q)
	if len(a.say) == 0 {
		<-ctx.Done()
		return control.Answer{}, ctx.Err()
	}
	x := a.say[0]
	a.say = a.say[1:]
	return x, nil
}

// alwaysAsk asks about every call.
type alwaysAsk struct{}

func (alwaysAsk) Decide(_ harness.Grants, _ string, needs []chat.Need) harness.Decision {
	return harness.Decision{Verdict: harness.AskUser, Asking: needs}
}
func (alwaysAsk) Answered(string, string, []chat.Need, control.Verdict) error { return nil }
func (alwaysAsk) Granted(string, string, chat.NeedKind) []string              { return nil }

func TestAPermissionQuestionIsYieldedBeforeItBlocks(t *testing.T) {
	need := []chat.Need{{Kind: chat.NeedExecute, Subject: "ls", Detail: "ls -l"}}
	ran := 0
	tool := harnesstest.Tool{Name: "run", Need: need, Do: func(_ context.Context, _ json.RawMessage, env chat.Env) (chat.ToolResult, error) {
		ran++
		if !env.Granted(chat.NeedExecute, "ls") {
			t.Error("the tool does not see its grant")
		}
		return chat.ToolResult{Text: "ran"}, nil
	}}
	r := newRig(t, harnesstest.Call("run", "{}"), harnesstest.Call("run", `{"a":1}`), harnesstest.Say("ok"))
	a := &answers{say: []control.Answer{{Verdict: control.No, Words: "not now"}, {Verdict: control.Once}}}
	r.o.Permissions, r.o.Approver = alwaysAsk{}, a
	r.o.Tools = func(context.Context) []chat.Tool { return []chat.Tool{tool} }
	res := r.ask(t.Context(), "q")
	got := results(r.history())
	if ran != 1 || res.Refused != 1 || !strings.Contains(got[0].Text, "not now") || got[1].Text != "ran" {
		t.Errorf("ran %d, refused %d, %q", ran, res.Refused, got[0].Text)
	}
	if k := kinds(r.events); k != "tool_start permission tool_end tool_start permission tool_end text_delta done" {
		t.Errorf("events: %s", k)
	}
	if a.asked[0].Detail != "ls -l" {
		t.Errorf("question: %+v", a.asked[0])
	}
}

func TestWithoutAnybodyToAskTheAnswerIsNo(t *testing.T) {
	r := newRig(t, harnesstest.Call("look", "{}"), harnesstest.Say("ok"))
	r.o.Permissions = alwaysAsk{}
	if res := r.ask(t.Context(), "q"); res.Refused != 1 {
		t.Errorf("%+v", res)
	}
}

func TestStopWhileAQuestionWaits(t *testing.T) {
	r := newRig(t, harnesstest.Call("look", "{}"))
	r.o.Permissions, r.o.Approver = alwaysAsk{}, &answers{}
	r.o.Tools = func(context.Context) []chat.Tool {
		return []chat.Tool{harnesstest.Tool{Name: "look", Need: []chat.Need{{Kind: chat.NeedRead, Subject: "/x"}}}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if res := r.ask(ctx, "q"); res.StopReason != chat.StopAborted {
		t.Errorf("%+v", res)
	}
	if got := results(r.history()); len(got) != 1 || !got[0].Interrupted {
		t.Errorf("%+v", got)
	}
}

func TestAMessageTypedWhileARunWorksEntersAfterTheRound(t *testing.T) {
	var r *rig
	r = newRig(t,
		harnesstest.Step{Calls: []chat.ToolCall{{Name: "look"}}, Do: func(providers.Request) {
			r.s.UpdateMeta("s1", func(m *chat.SessionMeta) {
				m.Pending = append(m.Pending, chat.Message{ID: "p1", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("also this")}})
			})
		}},
		harnesstest.Say("ok"))
	r.ask(t.Context(), "q")
	h := r.history()
	if len(h) != 5 || h[3].ID != "p1" || h[3].PlainText() != "also this" {
		t.Fatalf("history: %+v", h)
	}
	if m, _ := r.s.Meta("s1"); len(m.Pending) != 0 {
		t.Error("the message is still pending")
	}
	if last := r.p.Requests()[1].Messages; last[len(last)-1].ID != "p1" {
		t.Error("the model does not see it")
	}
}

func TestImagesOfARoundGoInOneMessageAfterAllResults(t *testing.T) {
	r := newRig(t, harnesstest.Step{Calls: []chat.ToolCall{{Name: "shot"}, {Name: "clip"}}}, harnesstest.Say("nice"))
	pic := func(name string) harnesstest.Tool {
		return harnesstest.Tool{Name: name, Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
			return chat.ToolResult{Text: name, Images: []chat.Image{{MIME: "image/png", Data: []byte("png of " + name)}}}, nil
		}}
	}
	r.o.Tools = func(context.Context) []chat.Tool { return []chat.Tool{pic("shot"), pic("clip")} }
	r.ask(t.Context(), "q")
	req := r.p.Requests()[1].Messages
	// What the encoders derive from it.
	got := chat.WithRoundImages(req)
	last := got[len(got)-1]
	if last.Kind != chat.KindRoundImages || string(last.Parts[1].Image.Data) != "png of shot" || string(last.Parts[3].Image.Data) != "png of clip" {
		t.Errorf("%+v", last)
	}
	for _, m := range r.history() {
		if m.Kind == chat.KindRoundImages || (m.Result != nil && len(m.Result.Images[0].Data) > 0) {
			t.Errorf("stored: %+v", m)
		}
	}
}

func TestTheRequestsPrefixIsUntouched(t *testing.T) {
	r := newRig(t, harnesstest.Call("look", "{}"), harnesstest.Call("other", "{}"), harnesstest.Say("a"), harnesstest.Say("b"))
	r.ask(t.Context(), "q")
	r.ask(t.Context(), "q2")
	reqs := r.p.Requests()
	for i := 1; i < len(reqs); i++ {
		a, b := encode(t, reqs[i-1]), encode(t, reqs[i])
		if !strings.HasPrefix(b, a) {
			t.Errorf("request %d does not begin with the one before", i)
		}
	}
}

// encode writes prompt, tools and messages one after another.
func encode(t *testing.T, req providers.Request) string {
	t.Helper()
	b, err := json.Marshal(req.Tools)
	if err != nil {
		t.Fatal(err)
	}
	s := req.System + string(b)
	for _, m := range req.Messages {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		s += "\n" + string(b)
	}
	return s
}

func TestARecordedRunReplaysWithoutProviderOrTools(t *testing.T) {
	var rec strings.Builder
	r := newRig(t, harnesstest.Call("look", `{"a":1}`), harnesstest.Say("see", "n"))
	recorder := harness.NewRecorder(&rec)
	res, err := harness.New(r.o).Run(t.Context(), harness.Request{Session: "s1", Text: "q", Record: recorder})
	if err != nil || recorder.Flush() != nil {
		t.Fatal(err)
	}
	replay, err := harnesstest.NewReplay(strings.NewReader(rec.String()))
	if err != nil {
		t.Fatal(err)
	}
	again := newRig(t)
	again.o.Models = harnesstest.Models{Provider: replay, Info: harnesstest.Info(100_000)}
	again.o.Tools = func(context.Context) []chat.Tool { return replay.Tools() }
	again.cfg.WorkingDir = r.cfg.WorkingDir
	res2 := again.ask(t.Context(), "q")
	if res2.Text != res.Text || res2.Rounds != res.Rounds || len(again.history()) != len(r.history()) {
		t.Errorf("replay gave %+v, recorded %+v", res2, res)
	}
}
