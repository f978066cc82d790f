package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness"
)

// follow ranges over one run and hands its events on. No panic ends the owner:
// it fails its run only.
func (h *Hub) follow(ctx context.Context, l *live, req harness.Request, a control.Ask) {
	started := time.Now()
	var result *chat.Result
	func() {
		defer func() {
			if p := recover(); p != nil {
				h.o.Log.Error("a run panicked", "run", req.Run, "value", fmt.Sprint(p))
				result = h.failRun(l, req, chat.NewError(chat.ClassInternal, "err.panic", "Something broke inside Perch: %v. The session is kept; ask again.", p))
			}
		}()
		for e, err := range h.runner.Stream(ctx, req) {
			if err != nil {
				result = h.failRun(l, req, chat.AsError(err))
				break
			}
			if d, ok := e.(*chat.Done); ok {
				result = &d.Result
				break
			}
			h.apply(l, e)
			if q, ok := e.(*chat.Permission); ok {
				h.outcome(l.id, Outcome{Run: req.Run, Question: q, Took: time.Since(started)})
			}
		}
	}()
	h.finish(l, req, a, result, time.Since(started))
}

// failRun makes the Done of a run that could not make its own.
func (h *Hub) failRun(l *live, req harness.Request, e *chat.Error) *chat.Result {
	return &chat.Result{Session: l.id, StopReason: chat.StopError, Error: e, ToolFailures: []chat.ToolFailures{}, Model: req.Model}
}

// finish ends a run: messages that came too late for it start the next one, or
// return to the entry as a draft when the user stopped it.
func (h *Hub) finish(l *live, req harness.Request, a control.Ask, res *chat.Result, took time.Duration) {
	if res == nil {
		res = h.failRun(l, req, chat.NewError(chat.ClassInternal, "err.no_outcome", "The run ended without an outcome. Ask again."))
	}
	outcome := "done"
	switch res.StopReason {
	case chat.StopError:
		outcome = "failed"
	case chat.StopAborted:
		outcome = ""
	}
	_, err := h.store.UpdateMeta(l.id, func(m *chat.SessionMeta) {
		m.Outcome = outcome
		if res.StopReason == chat.StopAborted && h.ctx.Err() == nil {
			m.Draft = joinDraft(m.Draft, m.Pending)
			m.Pending = nil
		}
	})
	if err != nil {
		h.o.Log.Error("the end of a run was not saved", "session", l.id, "error", err.Error())
	}
	h.mu.Lock()
	l.done(res)
	l.end()
	h.forget(l)
	h.mu.Unlock()
	h.outcome(l.id, Outcome{Run: req.Run, Result: res, Took: took})
	// Read again after the end: what steer stores later, it starts itself.
	meta, err := h.store.Meta(l.id)
	if err == nil && len(meta.Pending) > 0 && res.StopReason != chat.StopError && h.ctx.Err() == nil {
		if _, err := h.start(l.id, control.Ask{Env: a.Env, Allow: a.Allow, Interactive: a.Interactive, Keys: a.Keys}, true); err != nil && !errors.Is(err, errRunning) {
			h.o.Log.Warn("the pending message could not be sent", "session", l.id, "error", err.Error())
		}
	}
	h.changed(l.id)
	h.stateChanged()
}

func (h *Hub) outcome(session string, o Outcome) {
	if h.o.Outcome == nil {
		return
	}
	meta, err := h.store.Meta(session)
	if err != nil {
		return
	}
	o.Session = meta
	h.o.Outcome(o)
}

func joinDraft(draft string, pending []chat.Message) string {
	for i := range pending {
		if draft != "" {
			draft += "\n"
		}
		draft += pending[i].PlainText()
	}
	return draft
}

// Stop aborts a run. Stopping one that has ended is no error.
func (h *Hub) Stop(_ context.Context, run string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.live {
		if l.run == run {
			l.cancel(context.Canceled)
		}
	}
	return nil
}

// Answer answers the permission question of a call; the first answer counts.
func (h *Hub) Answer(_ context.Context, run string, a control.Answer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.live {
		if l.run != run || l.question == nil || l.question.perm.ID != a.Call || l.question.answered {
			continue
		}
		l.question.answered = true
		l.question.answer <- a // buffered, and sent once
		return nil
	}
	return chat.NewError(chat.ClassMisuse, "err.no_question", "This question is no longer open: it was answered elsewhere or the run has ended.")
}

// Approve waits for the answer to a question that was yielded just before.
func (h *Hub) Approve(ctx context.Context, q *chat.Permission) (control.Answer, error) {
	h.mu.Lock()
	var l *live
	for _, c := range h.live {
		if c.run == q.Run {
			l = c
		}
	}
	if l == nil || l.question == nil {
		h.mu.Unlock()
		return control.Answer{}, harness.ErrNobody
	}
	answer := l.question.answer
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		l.question = nil
		h.mu.Unlock()
		h.changed(l.id)
		h.stateChanged()
	}()
	h.stateChanged()
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return control.Answer{}, ctx.Err()
	}
}
