// Package builtin is a stand-in for people who have no model yet. It is no
// language model and says so: it answers from Perch's own help and from the
// user's documents with quoted passages, does arithmetic and unit conversion,
// and drives tools by slash commands.
//
// An answer is a pure function of the request: the same request gives the same
// answer, without network, clock or disk. So everything else in Perch (runner,
// sessions, permissions, events) can be tried with it as with any model.
package builtin

import (
	"context"
	"fmt"
	"iter"
	"unicode"

	"perch/chat"
	"perch/providers"
)

// Names of the provider and its only model.
const (
	ID    = "builtin"
	Model = "perch"
)

const (
	// contextWindow is small, as nothing is ever read but the last question and
	// its results, and large enough that long tool results fit.
	contextWindow = 32_768
	// maxOutput is the most an answer has, in tokens.
	maxOutput = 4_096
	// pieceRunes is how much text one event carries: about what models send.
	pieceRunes = 24
)

// Provider is the stand-in. The zero value works.
type Provider struct{}

// New returns the stand-in.
func New() *Provider { return &Provider{} }

// Models lists the only model.
func Models() []providers.ModelInfo {
	return []providers.ModelInfo{{
		Provider: ID, ID: Model, Name: "Perch built-in (no language model)",
		ContextWindow: contextWindow, MaxOutput: maxOutput,
		Tools: true, Local: true, Known: true,
	}}
}

// ID is "builtin".
func (*Provider) ID() string { return ID }

// ValidateAuth always succeeds: no credentials are needed.
func (*Provider) ValidateAuth(ctx context.Context) error { return aborted(ctx) }

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
	return providers.Response{}, chat.NewError(chat.ClassInternal, "err.internal", "%s", "the built-in assistant gave no answer")
}

// Stream yields the answer in small pieces and looks at ctx before each.
func (*Provider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.StreamEvent, error] {
	return func(yield func(providers.StreamEvent, error) bool) {
		if err := aborted(ctx); err != nil {
			yield(providers.StreamEvent{}, err)
			return
		}
		a := respond(&req)
		for text := a.text; text != ""; {
			if err := aborted(ctx); err != nil {
				yield(providers.StreamEvent{}, err)
				return
			}
			var piece string
			piece, text = cutPiece(text)
			if !yield(providers.StreamEvent{Type: providers.StreamText, Text: piece}, nil) {
				return
			}
		}
		m := chat.Message{
			Role: chat.RoleAssistant, Provider: ID, Model: Model,
			Stop: chat.StopEnd, Usage: &chat.Usage{},
		}
		if a.text != "" {
			m.Parts = append(m.Parts, chat.Text(a.text))
		}
		for i, c := range a.calls {
			if err := aborted(ctx); err != nil {
				yield(providers.StreamEvent{}, err)
				return
			}
			c.VendorID = fmt.Sprintf("call_%d", i+1)
			m.Parts = append(m.Parts, chat.Part{Type: chat.PartCall, Call: &c})
			m.Stop = chat.StopTools
			if !yield(providers.StreamEvent{Type: providers.StreamCall, Text: c.Name}, nil) ||
				!yield(providers.StreamEvent{Type: providers.StreamCallInput, Text: c.Input}, nil) {
				return
			}
		}
		if err := aborted(ctx); err != nil {
			yield(providers.StreamEvent{}, err)
			return
		}
		yield(providers.StreamEvent{Type: providers.StreamEnd, Response: &providers.Response{Message: m}}, nil)
	}
}

// aborted is the classed error of a context that has ended, else nil.
func aborted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.").Wrap(context.Cause(ctx))
}

// cutPiece takes the next piece off a text, ending after a blank where there is
// one, never inside a character.
func cutPiece(s string) (piece, rest string) {
	n, blank := 0, 0
	for i, r := range s {
		if n == pieceRunes {
			if blank > 0 {
				i = blank
			}
			return s[:i], s[i:]
		}
		n++
		if unicode.IsSpace(r) {
			blank = i + len(string(r))
		}
	}
	return s, ""
}
