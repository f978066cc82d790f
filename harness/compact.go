package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"perch/chat"
	"perch/providers"
)

// Rules of the summary request.
const (
	summaryRetries = 2 // after a transient failure, per request
	// summaryBreaker is how many failed compactions in a row switch automatic
	// ones off for the run.
	summaryBreaker = 3
	// maxOverflowRatio bounds how far off the weights are taken to be after a
	// reported overflow: four bytes a token counted where the truth is one.
	maxOverflowRatio = 4
)

// summaryShrink are the sizes to which the request is cut when the vendor still
// refuses it, as shares of the first.
var summaryShrink = []float64{1, 0.7, 0.5, 0.35}

// summaryState keeps compaction from looping.
type summaryState struct {
	failures int // in a row
	// lastTotal is the history's size after the last attempt, successful or not;
	// -1 before the first.
	lastTotal int
	tried     bool
	shortened bool // the emergency notice was given
}

// compactIfNeeded looks at the occupancy and compacts above the trigger. It
// returns an error only for an abort; a failed summary leaves everything as it
// was and the run goes on.
func (x *run) compactIfNeeded() *chat.Error {
	w, s := &x.win, &x.summaries
	if w.safe() <= x.trigger() {
		return nil
	}
	if s.failures < summaryBreaker && (!s.tried || w.history-s.lastTotal >= w.budget.growth) {
		s.tried = true
		e := x.compact(false)
		s.lastTotal = w.history
		switch {
		case e == nil:
			s.failures = 0
		case e.Class == chat.ClassAborted:
			return e
		case e.ID != errNothingToCompact:
			s.failures++
			x.notice("notice.compaction_failed", "The conversation could not be summarised (%s); it goes on as it is.", e.Message)
		}
	}
	if w.safe() > w.budget.panic {
		x.shortenEmergency()
	}
	return nil
}

// trigger is the total above which to compact; after an undo it is higher.
func (x *run) trigger() int {
	marks := x.sess.View.Marks
	if n := len(marks); n > 0 && marks[n-1].Undone {
		return x.win.budget.undone
	}
	return x.win.budget.trigger
}

const errNothingToCompact = "err.nothing_to_compact"

// compact replaces the older part of what the model sees by a summary. With
// force it is done even where it saves little, as after a reported overflow or
// by hand. On any error the history is exactly as before.
func (x *run) compact(force bool) *chat.Error {
	start := time.Now()
	provider := x.res.Timings.Provider
	defer func() {
		x.res.Timings.Provider = provider
		x.res.Timings.Compaction += time.Since(start)
	}()
	w := &x.win
	pinned := 0
	for i := range w.first {
		if w.view[i].Kind != chat.KindSummary {
			pinned += w.tokens[i]
		}
	}
	c, ok := cutPoint(w.view, w.tokens, w.first, pinned, w.countBudget())
	if !ok {
		return x.shortenOnly(c)
	}
	before := w.total()
	gone := sum(w.tokens[w.first:c.at])
	saving := int(float64(gone+saved(w.view, w.tokens, c.shorten))*w.factor()) - w.budget.summary
	if !force && saving < w.budget.saving {
		return chat.NewError(chat.ClassMisuse, errNothingToCompact, "Compacting now would save too little to be worth it.")
	}
	old := ""
	if mark := x.sess.View.Active(); mark != nil {
		old = mark.Summary
	}
	summary, e := x.summarise(old, x.leaving(c))
	if e != nil {
		return e
	}
	v := x.sess.View
	v.Marks = append(append([]chat.CompactionMark(nil), v.Marks...), chat.CompactionMark{
		ID: NewID("s"), Before: w.view[c.at].ID, Summary: summary, Time: x.o.Now(), TokensBefore: before,
	})
	mark := &v.Marks[len(v.Marks)-1]
	for _, i := range c.carry {
		mark.Carry = append(mark.Carry, w.view[i].ID)
	}
	v.Shortened = x.withShortened(v.Shortened, c.shorten)
	view, first := modelView(x.sess.Messages, v)
	next := x.win
	next.set(view, first)
	mark.TokensAfter = next.total()
	if err := x.o.Store.SetView(x.req.Session, v); err != nil {
		return storeError(err)
	}
	x.sess.View, x.win = v, next
	x.res.Compactions++
	x.emit(&chat.Compaction{TokensBefore: mark.TokensBefore, TokensAfter: mark.TokensAfter})
	return nil
}

// leaving are the messages that the summary is to stand for.
func (x *run) leaving(c cut) []chat.Message {
	carried := map[int]bool{}
	for _, i := range c.carry {
		carried[i] = true
	}
	pinned := map[int]bool{}
	for _, i := range pinnedRounds(x.win.view[:c.at], x.sess.View.Pinned) {
		pinned[i] = true
	}
	var out []chat.Message
	for i := 0; i < c.at; i++ {
		if x.win.view[i].Kind != chat.KindSummary && !carried[i] && !pinned[i] {
			out = append(out, x.win.view[i])
		}
	}
	return out
}

// shortenOnly shortens results of the tail where there is nothing to summarise.
func (x *run) shortenOnly(c cut) *chat.Error {
	if len(c.shorten) == 0 {
		return chat.NewError(chat.ClassMisuse, errNothingToCompact, "There is nothing to compact yet.")
	}
	before := x.win.total()
	if e := x.shorten(c.shorten); e != nil {
		return e
	}
	x.res.Compactions++
	x.emit(&chat.Compaction{TokensBefore: before, TokensAfter: x.win.total()})
	return nil
}

// shorten shortens results of the view, once and for good.
func (x *run) shorten(which []int) *chat.Error {
	v := x.sess.View
	v.Shortened = x.withShortened(v.Shortened, which)
	if err := x.o.Store.SetView(x.req.Session, v); err != nil {
		return storeError(err)
	}
	x.sess.View = v
	x.win.set(modelView(x.sess.Messages, v))
	return nil
}

func (x *run) withShortened(old map[string]string, which []int) map[string]string {
	if len(which) == 0 {
		return old
	}
	out := make(map[string]string, len(old)+len(which))
	for k, s := range old {
		out[k] = s
	}
	for _, i := range which {
		m := &x.win.view[i]
		if m.Result != nil {
			if _, done := out[m.ID]; !done {
				out[m.ID] = shortenText(m.Result.Text)
			}
		}
	}
	return out
}

// shortenEmergency shortens old results when the window is nearly full and no
// summary could be had.
func (x *run) shortenEmergency() {
	w := &x.win
	b := w.countBudget()
	which := resultsToShorten(w.view, w.tokens, w.first, max(b.target-b.fixed, 0))
	if len(which) == 0 {
		return
	}
	if x.shorten(which) == nil && !x.summaries.shortened {
		x.summaries.shortened = true
		x.notice("notice.emergency", "The window is nearly full: older tool results were shortened for the model. They stay whole in the conversation.")
	}
}

// compactAfterOverflow makes room after the vendor said that the input does not
// fit, whatever the estimate says.
func (x *run) compactAfterOverflow() *chat.Error {
	w := &x.win
	// The vendor says that this is at least a whole window, so the weights are
	// off by at least this much.
	w.ratio = min(max(w.ratio, float64(w.budget.window)/float64(max(w.raw(), 1))), maxOverflowRatio)
	w.anchor = 0
	e := x.compact(true)
	if e == nil || e.Class == chat.ClassAborted {
		return e
	}
	which := resultsToShorten(w.view, w.tokens, w.first, w.history/2)
	if len(which) == 0 {
		return e
	}
	if e := x.shorten(which); e != nil {
		return e
	}
	x.notice("notice.emergency", "The window is nearly full: older tool results were shortened for the model. They stay whole in the conversation.")
	return nil
}

// overflowError says what fills the window.
func (x *run) overflowError(cause *chat.Error) *chat.Error {
	if x.ctx.Err() != nil {
		return chat.AsError(context.Canceled)
	}
	// The ratio may stand for the vendor's word that all this is a whole window;
	// what fills it is told as the weights and what was learned count it.
	x.win.anchor, x.win.ratio = 0, x.o.Ratio(x.info.String())
	c := x.win.context()
	e := chat.NewError(chat.ClassOverflow, "err.overflow",
		"The conversation does not fit %s (window %d tokens): prompt about %d, tools %d, history %d. Start a new session, or choose a model with a larger window.",
		x.info.String(), c.Window, c.Prompt, c.Tools, c.History)
	if cause != nil {
		e.Cause = cause
	}
	return e
}

// summarise asks the model for a summary of messages, in as many steps as their
// size needs. A previous summary is carried into the next.
func (x *run) summarise(old string, msgs []chat.Message) (string, *chat.Error) {
	room := max(x.win.budget.window-x.win.est.Text(summaryText)-x.win.budget.summary-minReply, minHistory)
	room = int(float64(room) / estimateSafety / max(x.win.factor(), 1))
	whole := x.win.est.Text(old)
	for i := range msgs {
		whole += x.win.est.Text(renderForSummary(&msgs[i]))
	}
	room = min(room, whole+minReply)
	for _, shrink := range summaryShrink {
		s, e := x.summariseWithin(old, msgs, int(float64(room)*shrink))
		if e == nil || e.Class != chat.ClassOverflow {
			return s, e
		}
	}
	return "", chat.NewError(chat.ClassOverflow, "err.summary_overflow", "The request for a summary did not fit the model either.")
}

func (x *run) summariseWithin(old string, msgs []chat.Message, room int) (string, *chat.Error) {
	for len(msgs) > 0 {
		text, n := transcript(old, msgs, room, x.win.est.Text)
		s, e := x.askSummary(text)
		if e != nil {
			return "", e
		}
		old, msgs = s, msgs[n:]
	}
	return old, nil
}

// askSummary makes one summary request. An empty or cut-off summary is not
// accepted.
func (x *run) askSummary(text string) (string, *chat.Error) {
	req := providers.Request{
		Model: x.info, System: summaryText, CacheKey: x.req.Session + "/summary",
		MaxOutput: x.win.budget.summary,
		Messages:  []chat.Message{{ID: "summary", Role: chat.RoleUser, Parts: []chat.Part{chat.Text(text)}}},
	}
	if x.info.MaxOutput > 0 {
		req.MaxOutput = min(req.MaxOutput, x.info.MaxOutput)
	}
	for failed := 0; ; {
		if x.ctx.Err() != nil {
			return "", chat.AsError(context.Canceled)
		}
		m, err := x.completeSummary(req)
		if err == nil {
			s := strings.TrimSpace(m.PlainText())
			if s == "" || m.Stop == chat.StopOutputLimit || m.Stop == chat.StopRefusal || m.Stop == chat.StopContentFilter {
				return "", chat.NewError(chat.ClassEmpty, "err.no_summary", "the model gave no complete summary")
			}
			return s, nil
		}
		e := chat.AsError(err)
		if x.ctx.Err() != nil {
			return "", chat.AsError(context.Canceled)
		}
		failed++
		plan := planRetry(e, failed, summaryRetries, time.Now(), defaultJitter)
		if !plan.again {
			return "", e
		}
		if !x.sleep(plan.wait) {
			return "", chat.AsError(context.Canceled)
		}
	}
}

// completeSummary drains one stream without showing it.
func (x *run) completeSummary(req providers.Request) (*chat.Message, error) {
	stream := x.provider.Stream(x.ctx, req)
	if x.req.Record != nil {
		stream = x.req.Record.stream(req, stream)
	}
	for ev, err := range stream {
		if err != nil {
			return nil, err
		}
		if ev.Type == providers.StreamEnd {
			m := &ev.Response.Message
			if m.Usage != nil {
				u := *m.Usage
				if u.Cost == 0 {
					u.Cost = x.info.Cost(u)
				}
				x.res.Usage = x.res.Usage.Add(u)
			}
			return m, nil
		}
	}
	return nil, chat.NewError(chat.ClassTransient, "err.stream_cut", "The connection to %s ended before the answer was complete. Ask again.", x.provider.ID())
}

// transcript renders as many messages as fit room tokens as text for the
// summary request and returns how many it took, at least one. Tool results are
// shortened; a message that alone is larger than the room is cut.
func transcript(old string, msgs []chat.Message, room int, count func(string) int) (string, int) {
	var b strings.Builder
	if old != "" {
		b.WriteString("Summary of what came before:\n\n" + old + "\n\n")
	}
	b.WriteString("The conversation to summarise:\n")
	used := count(b.String())
	n := 0
	for i := range msgs {
		line := renderForSummary(&msgs[i])
		cost := count(line)
		if used+cost > room {
			if n > 0 {
				break
			}
			line = cutToFit(line, max(room-used, minReply), cost)
			cost = count(line)
		}
		b.WriteString(line)
		used += cost
		n++
	}
	b.WriteString("\nNow write the summary.")
	return b.String(), n
}

// cutToFit keeps head and tail of a text so that it costs about room tokens.
func cutToFit(s string, room, cost int) string {
	r := []rune(s)
	keep := len(r) * room / max(cost, 1)
	if keep >= len(r) {
		return s
	}
	head := keep * 2 / 3
	return string(r[:head]) + "\n[… cut …]\n" + string(r[len(r)-(keep-head):])
}

// summaryInput is how much of a call's arguments the transcript shows, in runes.
const summaryInput = 2000

func renderForSummary(m *chat.Message) string {
	var b strings.Builder
	switch {
	case m.Result != nil:
		word := "result"
		if m.Result.IsError {
			word = "error"
		}
		fmt.Fprintf(&b, "\n[%s of %s]\n%s\n", word, m.Result.Name, shortenText(m.Result.Text))
		if n := len(m.Result.Images); n > 0 {
			fmt.Fprintf(&b, "[%d images]\n", n)
		}
	case m.Role == chat.RoleAssistant:
		b.WriteString("\n## Assistant\n")
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Type == chat.PartText:
				b.WriteString(p.Text + "\n")
			case p.Call != nil:
				in := []rune(p.Call.Input)
				if len(in) > summaryInput {
					in = append(in[:summaryInput:summaryInput], '…')
				}
				fmt.Fprintf(&b, "[calls %s %s]\n", p.Call.Name, string(in))
			}
		}
	case m.Kind == chat.KindHarness:
	default:
		b.WriteString("\n## User\n" + m.PlainText() + "\n")
		for i := range m.Parts {
			if m.Parts[i].Image != nil {
				b.WriteString("[an image]\n")
			}
		}
	}
	return b.String()
}
