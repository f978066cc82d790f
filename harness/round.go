package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"perch/chat"
	"perch/control"
)

// ErrNobody says that there is nobody who could answer a permission question.
var ErrNobody = errors.New("nobody can be asked here, so the answer is no")

// abandonAfter is how long a tool may go on after it was cancelled before it is
// given up: a running command needs up to a second to be killed.
const abandonAfter = 2 * time.Second

// round executes the calls of one assistant message, one after another in the
// model's order, and stores each result as soon as it exists. A stop reason or
// an error ends the run; by then every call has its result.
func (x *run) round(m *chat.Message, cutOff bool) (chat.StopReason, *chat.Error) {
	var stop chat.StopReason
	for _, c := range m.Calls() {
		x.calls[c.Name]++
		x.emit(&chat.ToolStart{ID: c.ID, Name: c.Name, Input: inputForView(c)})
		start := time.Now()
		var res chat.ToolResult
		switch {
		case x.ctx.Err() != nil:
			res = interrupted()
		case cutOff:
			res = failure(chat.FailCutOff, cutOffText)
		case stop != "":
			res = failure(chat.FailInterrupted, "This call was not run: the run ends here, because the call before it repeats itself.")
		default:
			res = x.call(c)
		}
		if e := x.finish(c, res, start, &stop); e != nil {
			return "", e
		}
	}
	if err := x.ctx.Err(); err != nil {
		return "", chat.AsError(err)
	}
	return stop, nil
}

// finish stores one result and reports it.
func (x *run) finish(c *chat.ToolCall, res chat.ToolResult, start time.Time, stop *chat.StopReason) *chat.Error {
	res.CallID, res.Name, res.Duration = c.ID, c.Name, time.Since(start)
	res.Text = cleanText(x.o.Scrub(res.Text))
	if res.Untrusted {
		x.untrusted = true
	}
	if !res.Interrupted && res.Failure != chat.FailCutOff {
		switch n := x.repeat.see(c, &res); {
		case n >= repeatEnd:
			*stop = chat.StopLoop
			x.notice("notice.loop", "Stopped: the model made the same call to %s %d times with the same result.", c.Name, n)
		case n == repeatNote:
			res.Text += repeatText
		}
	}
	if res.IsError {
		x.countFailure(c.Name, res.Failure)
	}
	if x.req.Record != nil {
		x.req.Record.result(c, &res)
	}
	msg := chat.Message{ID: NewID("m"), Role: chat.RoleTool, Time: x.o.Now(), Result: &res}
	if err := x.append(msg); err != nil {
		return storeError(err)
	}
	stored := x.sess.Messages[len(x.sess.Messages)-1].Result
	x.emit(&chat.ToolEnd{
		ID: c.ID, Name: c.Name, Result: stored.Text, IsError: stored.IsError,
		Duration: stored.Duration, Images: stored.Images, Sources: stored.Sources,
	})
	return nil
}

func (x *run) countFailure(tool string, kind chat.FailureKind) {
	if kind == "" {
		kind = chat.FailTool
	}
	for i := range x.res.ToolFailures {
		if f := &x.res.ToolFailures[i]; f.Tool == tool && f.Kind == kind {
			f.Count++
			return
		}
	}
	x.res.ToolFailures = append(x.res.ToolFailures, chat.ToolFailures{Tool: tool, Kind: kind, Count: 1})
}

// call runs one call and always returns a result.
func (x *run) call(c *chat.ToolCall) chat.ToolResult {
	tool, ok := x.tools[c.Name]
	if !ok {
		return failure(chat.FailUnknownTool, fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Name, strings.Join(x.toolNames(), ", ")))
	}
	input, ok := c.ValidInput()
	if !ok {
		return failure(chat.FailBadJSON, "The arguments are not a JSON object, so the call was not run. Send it again with valid JSON.")
	}
	if x.o.Validate != nil {
		if err := x.o.Validate(tool.Definition(), input); err != nil {
			return failure(chat.FailSchema, fmt.Sprintf("The arguments do not fit the tool's schema, so the call was not run: %v", err))
		}
	}
	x.env.beginCall(c)
	if res, refused := x.permit(tool, c, input); refused {
		return res
	}
	start := time.Now()
	defer func() { x.res.Timings.Tools += time.Since(start) }()
	return x.execute(tool, c, input)
}

func (x *run) toolNames() []string {
	names := make([]string, len(x.defs))
	for i, d := range x.defs {
		names[i] = d.Name
	}
	return names
}

// permit asks what a call needs and lets the user decide. refused is true when
// the call must not run; the result then tells the model why.
func (x *run) permit(tool chat.Tool, c *chat.ToolCall, input json.RawMessage) (res chat.ToolResult, refused bool) {
	needs, err := x.needsOf(tool, input)
	if err != nil {
		return failure(chat.FailTool, err.Error()), true
	}
	if x.o.Permissions == nil {
		return res, false
	}
	g := x.req.Grants
	g.Session, g.Untrusted = x.req.Session, x.untrusted
	d := x.o.Permissions.Decide(g, c.Name, needs)
	switch d.Verdict {
	case Allow:
		x.env.grant(needs)
		return res, false
	case Deny:
		x.res.Refused++
		return failure(chat.FailRefused, d.Reason), true
	}
	start := time.Now()
	a, err := x.ask(c, d.Asking)
	x.res.Timings.Waiting += time.Since(start)
	if err != nil {
		if x.ctx.Err() != nil {
			return interrupted(), true
		}
		x.res.Refused++
		return failure(chat.FailRefused, err.Error()), true
	}
	if a.Verdict == control.No || a.Verdict == "" {
		x.res.Refused++
		text := "The user said no to this call. Do not try it again another way; say what you would have done, or ask."
		if a.Words != "" {
			text = "The user said no to this call, with these words: " + a.Words
		}
		return failure(chat.FailRefused, text), true
	}
	if err := x.o.Permissions.Answered(x.req.Session, c.Name, d.Asking, a.Verdict); err != nil {
		x.notice("notice.rule_not_saved", "The answer could not be saved and counts once: %v", err)
	}
	x.env.grant(needs)
	return res, false
}

// needsOf asks a tool what a call needs. A tool that does not say is asked about
// with its input as the detail.
func (x *run) needsOf(tool chat.Tool, input json.RawMessage) (needs []chat.Need, err error) {
	n, ok := tool.(chat.Needer)
	if !ok {
		name := tool.Definition().Name
		return []chat.Need{{Kind: chat.NeedOther, Subject: name, Detail: name + " " + string(input), Prefix: name}}, nil
	}
	defer func() {
		if p := recover(); p != nil {
			needs, err = nil, fmt.Errorf("the tool failed before it ran: %v", p)
		}
	}()
	return n.Needs(x.ctx, input, x.env)
}

// ask yields the question and waits for its answer.
func (x *run) ask(c *chat.ToolCall, asking []chat.Need) (control.Answer, error) {
	if x.o.Approver == nil || len(asking) == 0 {
		return control.Answer{}, ErrNobody
	}
	q := &chat.Permission{ID: c.ID, Name: c.Name, Need: asking[0].Kind, Detail: detailOf(asking), Needs: asking}
	x.emit(q)
	if err := x.ctx.Err(); err != nil {
		return control.Answer{}, err
	}
	return x.o.Approver.Approve(x.ctx, q)
}

func detailOf(needs []chat.Need) string {
	var lines []string
	for _, n := range needs {
		d := n.Detail
		if d == "" {
			d = n.Subject
		}
		lines = append(lines, d)
	}
	return strings.Join(lines, "\n")
}

// outcome is what came of a tool.
type outcome struct {
	res chat.ToolResult
	err error
	// panicked holds the value and stack of a panic.
	panicked any
	stack    []byte
}

// execute runs a tool beside the generator, so that progress and abort reach it.
func (x *run) execute(tool chat.Tool, c *chat.ToolCall, input json.RawMessage) chat.ToolResult {
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{panicked: p, stack: debug.Stack()}
			}
			done <- o
		}()
		o.res, o.err = tool.Execute(ctx, input, x.env)
	}()
	var giveUp <-chan time.Time
	stopped := x.ctx.Done()
	for {
		select {
		case o := <-done:
			x.drainProgress(c)
			return x.settle(o)
		case text := <-x.env.progress:
			x.emit(&chat.ToolProgress{ID: c.ID, Message: text})
		case <-stopped:
			stopped = nil
			t := time.NewTimer(abandonAfter)
			defer t.Stop()
			giveUp = t.C
		case <-giveUp:
			x.res.Abandoned++
			x.env.retire()
			res := interrupted()
			res.Failure = chat.FailAbandoned
			return res
		}
	}
}

func (x *run) drainProgress(c *chat.ToolCall) {
	for {
		select {
		case text := <-x.env.progress:
			x.emit(&chat.ToolProgress{ID: c.ID, Message: text})
		default:
			return
		}
	}
}

// settle turns what came of a tool into a result.
func (x *run) settle(o outcome) chat.ToolResult {
	switch {
	case o.panicked != nil:
		if x.o.Panicked != nil {
			x.o.Panicked(o.panicked, o.stack)
		}
		return failure(chat.FailPanic, fmt.Sprintf("The tool crashed: %v", o.panicked))
	case x.ctx.Err() != nil:
		res := o.res
		if o.err != nil || res.Text == "" {
			res = interrupted()
		}
		res.IsError, res.Interrupted, res.Failure = true, true, chat.FailInterrupted
		return res
	case errors.Is(o.err, context.DeadlineExceeded):
		return failure(chat.FailTimeout, o.err.Error())
	case o.err != nil:
		return failure(chat.FailTool, o.err.Error())
	}
	if o.res.Text == "" && len(o.res.Images) == 0 {
		o.res.Text = "(no output)"
	}
	return o.res
}

func failure(kind chat.FailureKind, text string) chat.ToolResult {
	return chat.ToolResult{Text: text, IsError: true, Failure: kind}
}

func interrupted() chat.ToolResult {
	return chat.ToolResult{Text: chat.InterruptedText, IsError: true, Failure: chat.FailInterrupted, Interrupted: true}
}

// inputForView is a call's arguments as JSON; arguments that are no JSON stand in
// a string.
func inputForView(c *chat.ToolCall) json.RawMessage {
	if in, ok := c.ValidInput(); ok {
		return in
	}
	b, _ := json.Marshal(cleanText(c.Input))
	return b
}

// cleanText makes any text encodable: valid UTF-8 without NUL.
func cleanText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\u2400")
	}
	return s
}
