package harnesstest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"

	"perch/chat"
	"perch/harness"
	"perch/providers"
)

// maxRecordLine is the longest line of a recording, in bytes: an image inline.
const maxRecordLine = 64 << 20

// Replay plays a recorded run: it is the provider, and it brings the tools.
type Replay struct {
	mu      sync.Mutex
	turns   []replayTurn
	results map[string][]chat.ToolResult // by tool name and input, in order
	names   []string
	// Differences are requests that were not those of the recording.
	Differences []string
	Events      []json.RawMessage
}

type replayTurn struct {
	hash   string
	events []harness.RecordedEvent
	err    *chat.Error
}

// NewReplay reads a recording.
func NewReplay(r io.Reader) (*Replay, error) {
	p := &Replay{results: map[string][]chat.ToolResult{}}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxRecordLine)
	for n := 1; sc.Scan(); n++ {
		var l harness.RecordLine
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("read recording, line %d: %w", n, err)
		}
		p.add(l)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return p, nil
}

func (p *Replay) add(l harness.RecordLine) {
	last := len(p.turns) - 1
	switch {
	case l.Request != "":
		p.turns = append(p.turns, replayTurn{hash: l.Request})
	case l.Stream != nil && last >= 0:
		p.turns[last].events = append(p.turns[last].events, *l.Stream)
	case l.Error != nil && last >= 0:
		p.turns[last].err = l.Error
	case l.Result != nil && l.Call != nil:
		key := l.Call.Name + "\x00" + l.Call.Input
		if _, known := p.results[key]; !known {
			p.names = append(p.names, l.Call.Name)
		}
		p.results[key] = append(p.results[key], *l.Result)
	case l.Event != nil:
		p.Events = append(p.Events, l.Event)
	}
}

// ID is "script", as the provider that most recordings were made with.
func (p *Replay) ID() string { return "script" }

// ValidateAuth always succeeds.
func (p *Replay) ValidateAuth(context.Context) error { return nil }

// Complete drains Stream.
func (p *Replay) Complete(ctx context.Context, req providers.Request) (providers.Response, error) {
	for ev, err := range p.Stream(ctx, req) {
		if err != nil || ev.Type == providers.StreamEnd {
			if err != nil {
				return providers.Response{}, err
			}
			return *ev.Response, nil
		}
	}
	return providers.Response{}, fmt.Errorf("the recording ended without an answer")
}

// Stream plays the next recorded answer.
func (p *Replay) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.StreamEvent, error] {
	return func(yield func(providers.StreamEvent, error) bool) {
		p.mu.Lock()
		if len(p.turns) == 0 {
			p.mu.Unlock()
			yield(providers.StreamEvent{}, fmt.Errorf("the recording has no further answer"))
			return
		}
		t := p.turns[0]
		p.turns = p.turns[1:]
		if got := harness.RequestHash(req); got != t.hash {
			p.Differences = append(p.Differences, fmt.Sprintf("request %s, recorded %s", got[:12], t.hash[:12]))
		}
		p.mu.Unlock()
		for _, e := range t.events {
			ev := providers.StreamEvent{Type: e.Type, Text: e.Text}
			if e.Message != nil {
				m := *e.Message
				m.Parts = append([]chat.Part(nil), m.Parts...)
				for i := range m.Parts {
					if c := m.Parts[i].Call; c != nil {
						cc := *c
						m.Parts[i].Call = &cc
					}
				}
				ev.Response = &providers.Response{Message: m}
			}
			if !yield(ev, nil) {
				return
			}
		}
		if t.err != nil {
			yield(providers.StreamEvent{}, t.err)
		}
	}
}

// Tools are stand-ins that answer with the recorded results.
func (p *Replay) Tools() []chat.Tool {
	var out []chat.Tool
	seen := map[string]bool{}
	for _, name := range p.names {
		if seen[name] {
			continue
		}
		seen[name] = true
		out = append(out, Tool{Name: name, Do: func(_ context.Context, input json.RawMessage, _ chat.Env) (chat.ToolResult, error) {
			return p.next(name, strings.TrimSpace(string(input)))
		}})
	}
	return out
}

func (p *Replay) next(name, input string) (chat.ToolResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, rs := range p.results {
		n, in, _ := strings.Cut(key, "\x00")
		if n != name || len(rs) == 0 || (strings.TrimSpace(in) != input && !(in == "" && input == "{}")) {
			continue
		}
		p.results[key] = rs[1:]
		if rs[0].IsError {
			return chat.ToolResult{}, fmt.Errorf("%s", rs[0].Text)
		}
		return rs[0], nil
	}
	return chat.ToolResult{}, fmt.Errorf("the recording has no such call")
}
