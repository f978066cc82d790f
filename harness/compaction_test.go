package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"perch/chat"
	"perch/harness"
	"perch/harness/harnesstest"
	"perch/providers"
)

// isSummary tells the request for a summary from the others.
func isSummary(req providers.Request) bool { return strings.HasSuffix(req.CacheKey, "/summary") }

// bigRig has a window of 10,000 tokens and a tool that returns size tokens, a
// different text each time.
func bigRig(t *testing.T, size int) *rig {
	r := newRig(t)
	r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(10_000)}
	n := 0
	r.o.Tools = func(context.Context) []chat.Tool {
		return []chat.Tool{harnesstest.Tool{Name: "read", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
			n++
			return chat.ToolResult{Text: fmt.Sprintf("file %d ", n) + strings.Repeat("word", size)}, nil
		}}}
	}
	return r
}

// reads calls the tool until limit requests were made, then answers.
func reads(limit int, summary harnesstest.Step) func(int, providers.Request) harnesstest.Step {
	calls := 0
	return func(_ int, req providers.Request) harnesstest.Step {
		if isSummary(req) {
			return summary
		}
		if calls++; calls <= limit {
			return harnesstest.Call("read", fmt.Sprintf(`{"n":%d}`, calls))
		}
		return harnesstest.Say("done")
	}
}

func (r *rig) compactions() (out []*chat.Compaction) {
	for _, e := range r.events {
		if c, ok := e.(*chat.Compaction); ok {
			out = append(out, c)
		}
	}
	return out
}

func TestCompactionKeepsTheRunGoingAndTheHistoryWhole(t *testing.T) {
	r := bigRig(t, 900)
	r.p.Fallback = reads(20, harnesstest.Say("SUMMARY of the work"))
	res := r.ask(t.Context(), "read everything")
	if res.StopReason != chat.StopEnd || res.Compactions == 0 {
		t.Fatalf("%+v", res)
	}
	if n := len(results(r.history())); n != 20 {
		t.Errorf("%d of 20 results in the history", n)
	}
	for _, c := range r.compactions() {
		if c.TokensAfter > 4000 || c.TokensBefore < 5500 {
			t.Errorf("compaction from %d to %d", c.TokensBefore, c.TokensAfter)
		}
	}
	sawSummary := false
	for _, req := range r.p.Requests() {
		if isSummary(req) {
			if len(req.Tools) > 0 {
				t.Error("tools were offered for the summary")
			}
			continue
		}
		if !chat.Paired(req.Messages) {
			t.Error("a request is not paired")
		}
		user := 0
		for _, m := range req.Messages {
			if m.PlainText() == "read everything" {
				user++
			}
			if m.Kind == chat.KindSummary {
				sawSummary = true
			}
			if strings.Contains(m.PlainText(), "Now write the summary") {
				t.Error("the instruction entered the history")
			}
		}
		if user != 1 {
			t.Errorf("the user's words stand %d times in the request", user)
		}
	}
	if !sawSummary {
		t.Error("no request had the summary")
	}
}

func TestBetweenCompactionsThePrefixIsUntouched(t *testing.T) {
	r := bigRig(t, 900)
	r.p.Fallback = reads(20, harnesstest.Say("SUMMARY"))
	res := r.ask(t.Context(), "read")
	changes, before := 0, ""
	for _, req := range r.p.Requests() {
		if isSummary(req) {
			continue
		}
		now := encode(t, req)
		if before != "" && !strings.HasPrefix(now, before) {
			changes++
		}
		before = now
	}
	if changes != res.Compactions {
		t.Errorf("the prefix changed %d times with %d compactions", changes, res.Compactions)
	}
}

func TestAFailedSummaryLeavesTheHistoryAsItWas(t *testing.T) {
	for name, summary := range map[string]harnesstest.Step{
		"error":   harnesstest.Fail(chat.ClassBadRequest, "no"),
		"empty":   {},
		"cut off": {Text: []string{"half a"}, Stop: chat.StopOutputLimit},
	} {
		t.Run(name, func(t *testing.T) {
			r := bigRig(t, 900)
			r.p.Fallback = reads(7, summary)
			res := r.ask(t.Context(), "read")
			if res.StopReason != chat.StopEnd {
				t.Fatalf("%+v", res.Error)
			}
			l, _ := r.s.Load("s1")
			if len(l.View.Marks) != 0 {
				t.Error("a summary was accepted")
			}
		})
	}
}

func TestThreeFailedSummariesSwitchCompactionOff(t *testing.T) {
	r := bigRig(t, 900)
	r.cfg.Context.CompactAt = 0.3
	r.p.Fallback = reads(30, harnesstest.Fail(chat.ClassBadRequest, "no"))
	res := r.ask(t.Context(), "read")
	tries := 0
	for _, req := range r.p.Requests() {
		if isSummary(req) {
			tries++
		}
	}
	if tries != 3 {
		t.Errorf("%d summary requests", tries)
	}
	if res.StopReason != chat.StopEnd {
		t.Errorf("the run did not go on: %+v", res.Error)
	}
	if n := strings.Count(kinds(r.events), "notice"); n == 0 {
		t.Error("nothing was said")
	}
}

func TestAReportedOverflowCompactsOnceAndRetriesOnce(t *testing.T) {
	overflow := harnesstest.Fail(chat.ClassOverflow, "too long")
	r := bigRig(t, 900)
	r.p.Add(harnesstest.Call("read", `{"n":1}`), harnesstest.Call("read", `{"n":2}`), harnesstest.Call("read", `{"n":3}`), overflow, harnesstest.Say("SUMMARY"), harnesstest.Say("ok"))
	if res := r.ask(t.Context(), "read"); res.Text != "ok" || res.Compactions != 1 {
		t.Errorf("%+v", res)
	}
	r = bigRig(t, 900)
	r.p.Fallback = func(n int, req providers.Request) harnesstest.Step {
		switch {
		case isSummary(req):
			return harnesstest.Say("SUMMARY")
		case n < 3:
			return harnesstest.Call("read", fmt.Sprintf(`{"n":%d}`, n))
		}
		return overflow
	}
	res := r.ask(t.Context(), "read")
	if res.Error == nil || res.Error.Class != chat.ClassOverflow || !strings.Contains(res.Error.Message, "history") {
		t.Errorf("%+v", res)
	}
	if n := len(r.p.Requests()); n > 8 {
		t.Errorf("%d requests", n)
	}
}

func TestAHistoryLargerThanTheWindowIsSummarisedInSteps(t *testing.T) {
	r := bigRig(t, 900)
	// A model with a large window filled the session; the next one is small.
	r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(1_000_000)}
	for i := range 30 {
		r.p.Add(harnesstest.Say(strings.Repeat("long ", 1000)))
		r.ask(t.Context(), fmt.Sprintf("question %d", i))
	}
	r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(10_000)}
	r.p.Fallback = func(_ int, req providers.Request) harnesstest.Step {
		w := harnesstest.Words{}
		n := w.Text(req.System) + w.Tools(req.Tools)
		for i := range req.Messages {
			n += w.Message(&req.Messages[i])
		}
		if n+req.MaxOutput > 10_000 {
			t.Errorf("a request of %d tokens with %d for the answer", n, req.MaxOutput)
		}
		if isSummary(req) {
			return harnesstest.Say("SUMMARY")
		}
		return harnesstest.Say("small answer")
	}
	if res := r.ask(t.Context(), "and now?"); res.Text != "small answer" || res.Compactions != 1 {
		t.Errorf("%+v", res)
	}
}

func TestASummaryRequestThatIsRefusedShrinks(t *testing.T) {
	r := bigRig(t, 900)
	var sizes []int
	calls := 0
	r.p.Fallback = func(_ int, req providers.Request) harnesstest.Step {
		if isSummary(req) {
			n := len(req.Messages[0].PlainText())
			sizes = append(sizes, n)
			if len(sizes) < 3 {
				return harnesstest.Fail(chat.ClassOverflow, "too long")
			}
			return harnesstest.Say("SUMMARY")
		}
		if calls++; calls < 9 {
			return harnesstest.Step{Text: []string{strings.Repeat("talk ", 800)}, Calls: []chat.ToolCall{{Name: "read", Input: fmt.Sprintf(`{"n":%d}`, calls)}}}
		}
		return harnesstest.Say("done")
	}
	if res := r.ask(t.Context(), "read"); res.Compactions == 0 {
		t.Fatalf("%+v", res)
	}
	if sizes[2] >= sizes[0] {
		t.Errorf("the requests did not shrink: %v", sizes)
	}
}

func TestUndoBringsTheViewBackAndDelaysTheNext(t *testing.T) {
	r := bigRig(t, 900)
	r.p.Fallback = reads(4, harnesstest.Say("SUMMARY"))
	r.ask(t.Context(), "read")
	r.p.Fallback = reads(3, harnesstest.Say("SUMMARY"))
	if res := r.ask(t.Context(), "read more"); res.Compactions != 1 {
		t.Fatalf("%d compactions", res.Compactions)
	}
	h := harness.New(r.o)
	if err := h.UndoCompaction("s1"); err != nil {
		t.Fatal(err)
	}
	r.p.Fallback = func(_ int, req providers.Request) harnesstest.Step {
		if isSummary(req) {
			t.Error("compacted again right after the undo")
		}
		return harnesstest.Say("x")
	}
	r.ask(t.Context(), "go on")
	reqs := r.p.Requests()
	if n := len(reqs[len(reqs)-1].Messages); n < 15 {
		t.Errorf("the model sees %d messages", n)
	}
	if err := h.UndoCompaction("s1"); err == nil {
		t.Error("an undone compaction was undone again")
	}
}

func TestAMessageThatFillsTheWindowIsRefusedWithAdvice(t *testing.T) {
	r := bigRig(t, 1)
	res := r.ask(t.Context(), strings.Repeat("word ", 5000))
	if res.Error == nil || !strings.Contains(res.Error.Message, "file") || len(r.p.Requests()) != 0 {
		t.Errorf("%+v", res)
	}
}

func TestASmallWindowLeavesToolsOutOrSaysWhatItNeeds(t *testing.T) {
	many := func(context.Context) []chat.Tool {
		var out []chat.Tool
		for i := range 60 {
			out = append(out, harnesstest.Text(fmt.Sprintf("server__tool_with_a_long_name_%02d", i), "x"))
		}
		return append(out, harnesstest.Text("read_file", "x"), harnesstest.Text("run_command", "x"))
	}
	r := newRig(t, harnesstest.Say("ok"))
	r.o.Tools = many
	r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(3000)}
	if res := r.ask(t.Context(), "q"); res.Text != "ok" {
		t.Fatalf("%+v", res.Error)
	}
	defs := r.p.Requests()[0].Tools
	if len(defs) >= 62 || len(defs) == 0 || !strings.Contains(kinds(r.events), "notice") {
		t.Errorf("%d tools, events %s", len(defs), kinds(r.events))
	}
	r = newRig(t, harnesstest.Say("ok"))
	r.o.Models = harnesstest.Models{Provider: r.p, Info: harnesstest.Info(1000)}
	res := r.ask(t.Context(), "q")
	if res.Error == nil || !strings.Contains(res.Error.Message, "at least") {
		t.Errorf("%+v", res)
	}
	if h := r.history(); len(h) != 1 {
		t.Error("the question was lost")
	}
}

func TestTheVendorsCountAnchorsTheEstimate(t *testing.T) {
	r := bigRig(t, 10)
	calls := 0
	r.p.Fallback = func(_ int, req providers.Request) harnesstest.Step {
		if isSummary(req) {
			return harnesstest.Say("SUMMARY")
		}
		if calls++; calls < 12 {
			s := harnesstest.Call("read", fmt.Sprintf(`{"n":%d}`, calls))
			s.Text = []string{strings.Repeat("talk ", 100)}
			// The vendor counts far more than the weights do.
			s.Usage = &chat.Usage{Input: 700 * calls, Output: 10}
			return s
		}
		return harnesstest.Say("done")
	}
	if res := r.ask(t.Context(), "q"); res.Compactions == 0 {
		t.Error("a window that the vendor reports as full was not compacted")
	}
}

func TestAnOverflowInMidAnswerWithdrawsWhatWasShown(t *testing.T) {
	for name, step := range map[string]harnesstest.Step{
		"as an error": harnesstest.Fail(chat.ClassOverflow, "token limit reached", "half an "),
		"in band":     {Text: []string{"half an "}, Stop: chat.StopOverflow},
	} {
		t.Run(name, func(t *testing.T) {
			r := bigRig(t, 900)
			r.p.Add(harnesstest.Call("read", `{"n":1}`), harnesstest.Call("read", `{"n":2}`), harnesstest.Call("read", `{"n":3}`), step, harnesstest.Say("SUMMARY"), harnesstest.Say("whole answer"))
			res := r.ask(t.Context(), "read")
			if res.Text != "whole answer" || r.shown() != "whole answer" {
				t.Errorf("text %q, shown %q, %v", res.Text, r.shown(), res.Error)
			}
		})
	}
}
