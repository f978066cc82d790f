// Package harnesstest is to the harness what net/http/httptest is to net/http:
// a scripted provider, simple tools, and a replay of recorded runs.
package harnesstest

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"perch/chat"
	"perch/providers"
)

// Step is one answer of a scripted provider.
type Step struct {
	// Thinking and Text are streamed in the pieces given.
	Thinking []string
	Text     []string
	// Pause is waited before each piece; it obeys the context.
	Pause time.Duration
	// Calls are asked for at the end.
	Calls []chat.ToolCall
	Stop  chat.StopReason // default: end, or tools where there are calls
	Usage *chat.Usage
	// Err ends the stream after the pieces instead of an answer.
	Err error
	// Do, if set, runs before the step; it may look at the request.
	Do func(providers.Request)
}

// Say is a step that answers with a text in pieces.
func Say(pieces ...string) Step { return Step{Text: pieces} }

// Call is a step that calls one tool.
func Call(name, input string) Step {
	return Step{Calls: []chat.ToolCall{{VendorID: "call_1", Name: name, Input: input}}}
}

// Fail is a step that fails with a classed error after some text.
func Fail(class chat.Class, message string, pieces ...string) Step {
	return Step{Text: pieces, Err: &chat.Error{Class: class, Message: message}}
}

// Provider answers with its steps, one a request, and keeps the requests.
type Provider struct {
	// Fallback answers when the steps are used up; nil makes that an error.
	Fallback func(n int, req providers.Request) Step

	mu       sync.Mutex
	steps    []Step
	requests []providers.Request
}

// NewProvider returns a provider that answers with these steps, in order.
func NewProvider(steps ...Step) *Provider { return &Provider{steps: steps} }

// Add appends steps.
func (p *Provider) Add(steps ...Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, steps...)
}

// Requests returns what was asked so far.
func (p *Provider) Requests() []providers.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]providers.Request(nil), p.requests...)
}

// ID is "script".
func (p *Provider) ID() string { return "script" }

// ValidateAuth always succeeds.
func (p *Provider) ValidateAuth(context.Context) error { return nil }

// Complete drains Stream.
func (p *Provider) Complete(ctx context.Context, req providers.Request) (providers.Response, error) {
	for ev, err := range p.Stream(ctx, req) {
		if err != nil {
			return providers.Response{}, err
		}
		if ev.Type == providers.StreamEnd {
			return *ev.Response, nil
		}
	}
	return providers.Response{}, fmt.Errorf("the script ended without an answer")
}

func (p *Provider) take(req providers.Request) (Step, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.requests)
	p.requests = append(p.requests, req)
	if len(p.steps) > 0 {
		s := p.steps[0]
		p.steps = p.steps[1:]
		return s, nil
	}
	if p.Fallback != nil {
		return p.Fallback(n, req), nil
	}
	return Step{}, &chat.Error{Class: chat.ClassMisuse, Message: fmt.Sprintf("the script has no step for request %d", n+1)}
}

// Stream plays the next step.
func (p *Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.StreamEvent, error] {
	return func(yield func(providers.StreamEvent, error) bool) {
		s, err := p.take(req)
		if err != nil {
			yield(providers.StreamEvent{}, err)
			return
		}
		if s.Do != nil {
			s.Do(req)
		}
		msg := chat.Message{Role: chat.RoleAssistant, Stop: s.Stop, Usage: s.Usage}
		send := func(t providers.StreamEventType, part chat.PartType, pieces []string) bool {
			all := ""
			for _, piece := range pieces {
				if !wait(ctx, s.Pause) {
					yield(providers.StreamEvent{}, ctx.Err())
					return false
				}
				all += piece
				if !yield(providers.StreamEvent{Type: t, Text: piece}, nil) {
					return false
				}
			}
			if all != "" {
				msg.Parts = append(msg.Parts, chat.Part{Type: part, Text: all})
			}
			return true
		}
		if !send(providers.StreamThinking, chat.PartThinking, s.Thinking) || !send(providers.StreamText, chat.PartText, s.Text) {
			return
		}
		if s.Err != nil {
			yield(providers.StreamEvent{}, s.Err)
			return
		}
		for i := range s.Calls {
			c := s.Calls[i]
			msg.Parts = append(msg.Parts, chat.Part{Type: chat.PartCall, Call: &c})
		}
		if msg.Stop == "" {
			msg.Stop = chat.StopEnd
			if len(s.Calls) > 0 {
				msg.Stop = chat.StopTools
			}
		}
		yield(providers.StreamEvent{Type: providers.StreamEnd, Response: &providers.Response{Message: msg}}, nil)
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Models resolves every name to one provider and model.
type Models struct {
	Provider providers.Provider
	Info     providers.ModelInfo
}

// Resolve returns the provider and model, whatever the name.
func (m Models) Resolve(context.Context, string) (providers.Provider, providers.ModelInfo, error) {
	return m.Provider, m.Info, nil
}

// Info is a model of the scripted provider with a window of that many tokens.
func Info(window int) providers.ModelInfo {
	return providers.ModelInfo{Provider: "script", ID: "model", ContextWindow: window, MaxOutput: 4096, Vision: true, Tools: true, Known: true}
}
