package hub

import (
	"context"
	"strings"

	"perch/chat"
	"perch/control"
)

// live is the part of a session that is not in the store: the run at work and
// who watches. The hub's mutex protects it.
type live struct {
	id     string
	run    string // "" when none is at work
	cancel context.CancelCauseFunc

	seq      int64
	text     strings.Builder
	thinking strings.Builder
	calls    []control.LiveCall
	question *question
	retry    *chat.Retry

	watchers map[*watcher]struct{}
}

type question struct {
	perm     *chat.Permission
	answer   chan control.Answer
	answered bool
}

func (l *live) begin(run string, cancel context.CancelCauseFunc) {
	l.run, l.cancel, l.seq = run, cancel, 0
	l.clear()
}

// clear forgets the answer that was streaming: it is in the history now.
func (l *live) clear() {
	l.text.Reset()
	l.thinking.Reset()
	l.calls, l.retry = nil, nil
}

func (l *live) end() {
	l.run, l.cancel, l.question = "", nil, nil
	l.clear()
}

// snapshot is the state of the run at work, nil without one.
func (l *live) snapshot() *control.Live {
	if l.run == "" {
		return nil
	}
	s := &control.Live{
		Run: l.run, Seq: l.seq, Text: l.text.String(), Thinking: l.thinking.String(),
		Calls: append([]control.LiveCall(nil), l.calls...), Retry: l.retry,
	}
	if l.question != nil && !l.question.answered {
		s.Question = l.question.perm
	}
	return s
}

// activity is what the session is doing, with the outcome of its last run.
func (l *live) activity(outcome string) control.Activity {
	switch {
	case l != nil && l.question != nil && !l.question.answered:
		return control.Waiting
	case l != nil && l.run != "":
		return control.Running
	case outcome == "done":
		return control.Done
	case outcome == "failed":
		return control.Failed
	}
	return control.Idle
}

// take folds an event into the state that a late watcher gets.
func (l *live) take(e chat.Event) {
	l.seq = e.Header().Seq
	switch e := e.(type) {
	case *chat.TextDelta:
		l.retry = nil
		l.text.WriteString(e.Text)
	case *chat.ThinkingDelta:
		l.retry = nil
		l.thinking.WriteString(e.Text)
	case *chat.Retry:
		l.retry = e
		trim(&l.text, e.Withdrawn.TextBytes)
		trim(&l.thinking, e.Withdrawn.ThinkingBytes)
	case *chat.ToolStart:
		l.calls = append(l.calls, control.LiveCall{Start: *e})
	case *chat.ToolProgress:
		if c := l.call(e.ID); c != nil {
			c.Progress = e.Message
		}
	case *chat.ToolEnd:
		if c := l.call(e.ID); c != nil {
			c.End = e
		}
	case *chat.Permission:
		l.question = &question{perm: e, answer: make(chan control.Answer, 1)}
	}
}

func (l *live) call(id string) *control.LiveCall {
	for i := range l.calls {
		if l.calls[i].Start.ID == id {
			return &l.calls[i]
		}
	}
	return nil
}

func trim(b *strings.Builder, n int) {
	if n == 0 {
		return
	}
	s := b.String()
	b.Reset()
	b.WriteString(s[:max(len(s)-n, 0)])
}

// stored takes a message out of the live state once the history holds it.
func (l *live) stored(m *chat.Message) {
	switch m.Role {
	case chat.RoleAssistant:
		l.text.Reset()
		l.thinking.Reset()
	case chat.RoleTool:
		for i := range l.calls {
			if m.Result != nil && l.calls[i].Start.ID == m.Result.CallID {
				l.calls = append(l.calls[:i:i], l.calls[i+1:]...)
				return
			}
		}
	}
}

// push hands an event to every watcher.
func (l *live) push(e chat.Event) {
	for w := range l.watchers {
		w.push(e)
	}
}

// done sends the last event of a run, which comes after everything is stored, and
// behind it a snapshot, in which every message has its id.
func (l *live) done(res *chat.Result) {
	d := &chat.Done{Result: *res}
	chat.Stamp(d, l.run, l.seq+1)
	l.seq++
	l.push(d)
	for w := range l.watchers {
		w.refresh()
	}
}
