// Package popuptest is a stand-in for the process that the popup talks to: it
// keeps sessions in memory and streams scripted answers. Tests and the command
// that makes the pictures use it, as net/http/httptest is used for HTTP.
package popuptest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
)

// Step is one thing that a scripted run does.
type Step struct {
	// Event is sent as it is; Wait is what passes before it.
	Event chat.Event
	Wait  time.Duration
	// Ask, where it is set, waits for the answer to the permission question of
	// that call.
	Ask string
}

// Backend fulfils the services that the popup uses. Make one with New.
type Backend struct {
	mu       sync.Mutex
	sessions map[string]*session
	deleted  map[string]*session
	order    []string
	watchers map[string][]chan control.Frame
	answers  map[string]chan control.Answer
	cancel   map[string]context.CancelFunc
	next     int
	settings map[string]any
	commands chan control.FrontCommand
	acks     chan control.FrontAck
	clip     control.Clip
	memory   control.MemoryView
	kb       control.KBStatus
	rules    []control.Rule
	asked    []control.Ask
	listed   int
	answered []control.Answer
	waited   []time.Duration
	askedAt  map[string]time.Time
	wg       sync.WaitGroup

	// Script is what a run does; by default it answers with the question.
	Script func(a control.Ask) []Step
	// Models, Found, FirstStart are what the services say.
	ModelList  []control.Model
	FoundList  []control.Found
	FirstStart bool
	Auths      []control.AuthStatus
}

type session struct {
	view control.SessionView
	live *control.Live
}

// New returns an empty backend.
func New() *Backend {
	b := &Backend{
		sessions: map[string]*session{}, deleted: map[string]*session{}, watchers: map[string][]chan control.Frame{},
		answers: map[string]chan control.Answer{}, cancel: map[string]context.CancelFunc{},
		askedAt: map[string]time.Time{}, settings: map[string]any{}, commands: make(chan control.FrontCommand, 8), acks: make(chan control.FrontAck, 64),
		ModelList: []control.Model{
			{ID: "anthropic/claude-sonnet-4-6", Name: "Claude Sonnet 4.6", ContextWindow: 200000, MaxOutput: 64000, Vision: true, Reasoning: true, Ready: true, CostIn: 3, CostOut: 15},
			{ID: "ollama/qwen3:8b", Name: "Qwen3 8B", ContextWindow: 40960, MaxOutput: 8192, Local: true, Ready: true},
			{ID: "openai/gpt-5", Name: "GPT-5", ContextWindow: 400000, MaxOutput: 128000, Vision: true, Reasoning: true, CostIn: 1.25, CostOut: 10},
			{ID: "builtin/help", Name: "Built-in assistant", ContextWindow: 32768, MaxOutput: 4096, Local: true, Ready: true},
		},
	}
	return b
}

// Services are the backend as the popup sees it.
func (b *Backend) Services() control.Services {
	return control.Services{Sessions: b, Runs: b, Models: b, Settings: b, Knowledge: b, Memory: b, Auth: b, Rules: b, Desktop: b, Front: b, Owner: b}
}

// Send gives the popup an order and waits for its answer.
func (b *Backend) Send(ctx context.Context, c control.FrontCommand) (control.FrontAck, error) {
	b.mu.Lock()
	b.next++
	c.ID = int64(b.next)
	b.mu.Unlock()
	select {
	case b.commands <- c:
	case <-ctx.Done():
		return control.FrontAck{}, fmt.Errorf("the popup takes no orders: %w", ctx.Err())
	}
	for {
		select {
		case a := <-b.acks:
			if a.ID == c.ID {
				return a, nil
			}
		case <-ctx.Done():
			return control.FrontAck{}, fmt.Errorf("the popup did not answer %q: %w", c.What, ctx.Err())
		}
	}
}

// Wait waits for all runs to end.
func (b *Backend) Wait() { b.wg.Wait() }

// Add puts a session in, with its history.
func (b *Backend) Add(v control.SessionView) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.ID == "" {
		b.next++
		v.ID = fmt.Sprintf("s%d", b.next)
	}
	v.Messages = len(v.History)
	if v.Context.Window == 0 {
		v.Context = control.Context{Window: 200000, Prompt: 1900, Tools: 2600, Memory: 300, History: 400 * len(v.History)}
	}
	b.sessions[v.ID] = &session{view: v}
	b.order = append(b.order, v.ID)
}

// Asked are the requests so far.
func (b *Backend) Asked() []control.Ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

// Answers are the answers to permission questions so far.
func (b *Backend) Answers() []control.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.answered)
}

// Listed is how often the list of sessions was asked for.
func (b *Backend) Listed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listed
}

// Waited says how long after its question each answer came.
func (b *Backend) Waited() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.waited)
}

// Clipboard is what the popup handed over last.
func (b *Backend) Clipboard() control.Clip {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clip
}

// SetClipboard is what the popup will read.
func (b *Backend) SetClipboard(c control.Clip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clip = c
}

// Session is a session as it is stored.
func (b *Backend) Session(id string) (control.SessionView, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil {
		return control.SessionView{}, false
	}
	return s.view, true
}

func notFound(id string) error {
	return chat.NewError(chat.ClassMisuse, "err.no_session", "There is no session %s.", id)
}

func (b *Backend) broadcast(id string, f control.Frame) {
	for _, w := range b.watchers[id] {
		select {
		case w <- f:
		default: // a test that does not read its frames
		}
	}
}

func (b *Backend) snapshot(s *session) *control.Snapshot {
	v := s.view
	v.History = slices.Clone(v.History)
	snap := &control.Snapshot{View: v}
	if s.live != nil {
		l := *s.live
		snap.Live = &l
	}
	return snap
}

// Ask starts a scripted run, or queues the text for the one at work.
func (b *Backend) Ask(_ context.Context, id string, a control.Ask) (control.AskReply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil {
		return control.AskReply{}, notFound(id)
	}
	b.asked = append(b.asked, a)
	if s.live != nil {
		s.view.Pending = append(s.view.Pending, a.Text)
		b.broadcast(id, control.Frame{Snapshot: b.snapshot(s)})
		return control.AskReply{Session: id, Run: s.live.Run, Steered: true}, nil
	}
	b.next++
	run := fmt.Sprintf("r%d", b.next)
	m := chat.UserText(a.Text)
	m.ID, m.Time = fmt.Sprintf("m%d", b.next), time.Now()
	for i := range a.Images {
		m.Parts = append(m.Parts, chat.Part{Type: chat.PartImage, Image: &a.Images[i]})
	}
	s.view.History = append(s.view.History, m)
	if s.view.Title == "" {
		s.view.Title = strings.SplitN(a.Text, "\n", 2)[0]
	}
	s.view.Activity, s.view.Used, s.view.Draft = control.Running, time.Now(), ""
	s.live = &control.Live{Run: run}
	b.broadcast(id, control.Frame{Snapshot: b.snapshot(s)})
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel[run] = cancel
	script := b.Script
	if script == nil {
		script = func(a control.Ask) []Step { return Text("You said: " + a.Text) }
	}
	steps := script(a)
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		defer cancel()
		b.run(ctx, id, run, steps)
	}()
	return control.AskReply{Session: id, Run: run}, nil
}

// Text is a script that streams a text in small pieces.
func Text(text string) []Step {
	var out []Step
	for text != "" {
		n := min(len(text), 24)
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		out = append(out, Step{Event: &chat.TextDelta{Text: text[:n]}, Wait: time.Millisecond})
		text = text[n:]
	}
	return out
}

func (b *Backend) run(ctx context.Context, id, run string, steps []Step) {
	var seq int64
	var text strings.Builder
	var parts []chat.Part
	var results []chat.Message
	emit := func(e chat.Event) {
		seq++
		chat.Stamp(e, run, seq)
		j, err := json.Marshal(e)
		if err != nil {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		s := b.sessions[id]
		if s == nil {
			return
		}
		if s.live != nil {
			s.live.Seq = seq
			s.live.Text = text.String()
			if q, ok := e.(*chat.Permission); ok {
				s.live.Question = q
				b.answers[run+q.ID] = make(chan control.Answer, 1)
				b.askedAt[run+q.ID] = time.Now()
			}
		}
		b.broadcast(id, control.Frame{Event: j})
	}
	stop := chat.StopEnd
loop:
	for _, st := range steps {
		if st.Wait > 0 {
			select {
			case <-ctx.Done():
				stop = chat.StopAborted
				break loop
			case <-time.After(st.Wait):
			}
		}
		switch e := st.Event.(type) {
		case *chat.TextDelta:
			text.WriteString(e.Text)
		case *chat.Retry:
			all := text.String()
			text.Reset()
			text.WriteString(all[:len(all)-min(len(all), e.Withdrawn.TextBytes)])
		case *chat.ToolStart:
			if text.Len() > 0 {
				parts = append(parts, chat.Text(text.String()))
				text.Reset()
			}
			parts = append(parts, chat.Part{Type: chat.PartCall, Call: &chat.ToolCall{ID: e.ID, Name: e.Name, Input: string(e.Input)}})
		case *chat.ToolEnd:
			results = append(results, chat.Message{ID: run + e.ID, Role: chat.RoleTool, Result: &chat.ToolResult{CallID: e.ID, Name: e.Name, Text: e.Result, IsError: e.IsError, Duration: e.Duration, Images: e.Images}})
		}
		emit(st.Event)
		if st.Ask != "" {
			b.mu.Lock()
			ch := b.answers[run+st.Ask]
			b.mu.Unlock()
			select {
			case <-ctx.Done():
				stop = chat.StopAborted
				break loop
			case <-ch:
			}
		}
	}
	if text.Len() > 0 && len(results) == 0 {
		parts = append(parts, chat.Text(text.String()))
		text.Reset()
	}
	b.mu.Lock()
	if s := b.sessions[id]; s != nil {
		if len(parts) > 0 {
			s.view.History = append(s.view.History, chat.Message{ID: run + "a", Role: chat.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-6", Parts: parts, Interrupted: stop == chat.StopAborted})
		}
		s.view.History = append(s.view.History, results...)
		if text.Len() > 0 {
			s.view.History = append(s.view.History, chat.Message{ID: run + "b", Role: chat.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-6", Parts: []chat.Part{chat.Text(text.String())}, Interrupted: stop == chat.StopAborted})
		}
		s.view.Activity, s.view.Messages = control.Idle, len(s.view.History)
		s.live = nil
	}
	b.mu.Unlock()
	emit(&chat.Done{Result: chat.Result{Session: id, StopReason: stop, Model: "anthropic/claude-sonnet-4-6"}})
}
