package harness

import (
	"context"
	"strings"
	"time"

	"perch/chat"
	"perch/providers"
)

// checkpointEvery is how often the text of a streaming answer is saved: what a
// crash can lose.
const checkpointEvery = time.Second

// streamed is what one attempt has shown so far.
type streamed struct {
	text       strings.Builder
	thinking   int // bytes
	checkpoint time.Time
	saved      bool
}

// callModel makes one model call, with retries, and returns the answer with its
// calls numbered by the harness. It yields text as it comes. Only transient
// failures and rate limits are tried again; everything else is the caller's.
func (x *run) callModel() (*chat.Message, *chat.Error) {
	req := x.request()
	for failed := 0; ; {
		var s streamed
		start := time.Now()
		m, err := x.attempt(req, &s)
		x.res.Timings.Provider += time.Since(start)
		if err == nil {
			x.answered(m)
			return m, nil
		}
		e := chat.AsError(err)
		if x.ctx.Err() != nil || e.Class == chat.ClassAborted {
			if err := x.keepPartial(&s, chat.StopAborted); err != nil {
				return nil, storeError(err)
			}
			return nil, chat.AsError(context.Canceled)
		}
		if e.Class == chat.ClassOverflow {
			if s.text.Len()+s.thinking > 0 {
				x.emit(&chat.Retry{Attempt: 1, Reason: e.Message, Withdrawn: chat.Withdrawn{TextBytes: s.text.Len(), ThinkingBytes: s.thinking}})
			}
			x.withdraw(&s)
			return nil, e
		}
		failed++
		plan := planRetry(e, failed, x.cfg.Limits.Retries, time.Now(), defaultJitter)
		if !plan.again {
			if err := x.keepPartial(&s, chat.StopError); err != nil {
				return nil, storeError(err)
			}
			if plan.final != nil {
				e = plan.final
			}
			return nil, e
		}
		x.res.Retries++
		x.emit(&chat.Retry{
			Attempt: failed, Reason: e.Message, Wait: plan.wait,
			Withdrawn: chat.Withdrawn{TextBytes: s.text.Len(), ThinkingBytes: s.thinking},
		})
		x.withdraw(&s)
		if !x.sleep(plan.wait) {
			return nil, chat.AsError(context.Canceled)
		}
	}
}

// attempt sends the request once and consumes its stream.
func (x *run) attempt(req providers.Request, s *streamed) (*chat.Message, error) {
	stream := x.provider.Stream(x.ctx, req)
	if x.req.Record != nil {
		stream = x.req.Record.stream(req, stream)
	}
	for ev, err := range stream {
		if err != nil {
			return nil, err
		}
		switch ev.Type {
		case providers.StreamText:
			if ev.Text == "" {
				continue
			}
			s.text.WriteString(ev.Text)
			x.text.WriteString(ev.Text)
			x.emit(&chat.TextDelta{Text: ev.Text})
			x.checkpoint(s)
		case providers.StreamThinking:
			if ev.Text == "" {
				continue
			}
			s.thinking += len(ev.Text)
			x.emit(&chat.ThinkingDelta{Text: ev.Text})
		case providers.StreamEnd:
			return &ev.Response.Message, nil
		}
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
	}
	if err := x.ctx.Err(); err != nil {
		return nil, err
	}
	return nil, chat.NewError(chat.ClassTransient, "err.stream_cut", "The connection to %s ended before the answer was complete. Ask again.", x.provider.ID())
}

// checkpoint saves the streaming text about once a second. A failure is left to
// the append that follows: a checkpoint is a courtesy.
func (x *run) checkpoint(s *streamed) {
	now := time.Now()
	if s.checkpoint.IsZero() {
		s.checkpoint = now
	}
	if now.Sub(s.checkpoint) < checkpointEvery {
		return
	}
	s.checkpoint = now
	if x.o.Store.Checkpoint(x.req.Session, x.partialMessage(s.text.String(), chat.StopAborted)) == nil {
		s.saved = true
	}
}

func (x *run) partialMessage(text string, stop chat.StopReason) chat.Message {
	return chat.Message{
		ID: NewID("m"), Role: chat.RoleAssistant, Time: x.o.Now(), Parts: []chat.Part{chat.Text(text)},
		Provider: x.info.Provider, Model: x.info.ID, Stop: stop, Interrupted: true,
	}
}

// keepPartial stores what was streamed before an abort or a final failure,
// marked interrupted. Thinking without its signature is dropped.
func (x *run) keepPartial(s *streamed, stop chat.StopReason) error {
	if strings.TrimSpace(s.text.String()) == "" {
		return x.dropCheckpoint(s)
	}
	return x.append(x.partialMessage(s.text.String(), stop))
}

// withdraw takes what a failed attempt streamed out of the text and the store.
func (x *run) withdraw(s *streamed) {
	t := x.text.String()
	x.text.Reset()
	x.text.WriteString(t[:len(t)-s.text.Len()])
	x.dropCheckpoint(s)
}

func (x *run) dropCheckpoint(s *streamed) error {
	if !s.saved {
		return nil
	}
	return x.o.Store.Checkpoint(x.req.Session, chat.Message{})
}

// sleep waits for another attempt; false when the run was aborted meanwhile.
func (x *run) sleep(d time.Duration) bool {
	start := time.Now()
	defer func() { x.res.Timings.Waiting += time.Since(start) }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return x.ctx.Err() == nil
	case <-x.ctx.Done():
		return false
	}
}

// answered completes an answer: ids of the harness's own, provenance, cost, and
// what the reported usage teaches the estimate.
func (x *run) answered(m *chat.Message) {
	m.ID, m.Role, m.Time = NewID("m"), chat.RoleAssistant, x.o.Now()
	m.Provider, m.Model = x.info.Provider, x.info.ID
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			if c.VendorID == "" {
				c.VendorID = c.ID
			}
			c.ID = NewID("c")
		}
	}
	if m.Usage == nil {
		return
	}
	if m.Usage.Cost == 0 {
		m.Usage.Cost = x.info.Cost(*m.Usage)
	}
	x.res.Usage = x.res.Usage.Add(*m.Usage)
	if in := m.Usage.TotalInput(); in > 0 {
		x.o.Learn(x.info.String(), in, x.win.raw())
		x.win.ratio = x.o.Ratio(x.info.String())
		x.win.anchorAt(in)
	}
}

// request builds the next request. Its prefix is that of the request before.
func (x *run) request() providers.Request {
	req := providers.Request{
		Model: x.info, System: x.system, Tools: x.defs,
		Messages: withImageData(x.o.Store, x.win.view),
		CacheKey: x.req.Session, MaxOutput: x.win.maxOutput(x.info.MaxOutput),
	}
	if p, ok := x.cfg.Providers[x.info.Provider]; ok {
		req.Reasoning = p.Reasoning
	}
	return req
}
