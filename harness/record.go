package harness

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"

	"perch/chat"
	"perch/providers"
)

// RecordLine is one line of a recorded run. Exactly one field is set.
type RecordLine struct {
	// Request is the SHA-256 of a request's prompt, tools and messages.
	Request string `json:"request,omitempty"`
	// Stream is one event of the provider's answer to it.
	Stream *RecordedEvent `json:"stream,omitempty"`
	// Error is the failure that ended the answer.
	Error *chat.Error `json:"error,omitempty"`
	// Call and Result are a tool's answer.
	Call   *chat.ToolCall   `json:"call,omitempty"`
	Result *chat.ToolResult `json:"result,omitempty"`
	// Event is what the run yielded.
	Event json.RawMessage `json:"event,omitempty"`
}

// RecordedEvent is a [providers.StreamEvent] in a recording.
type RecordedEvent struct {
	Type    providers.StreamEventType `json:"type"`
	Text    string                    `json:"text,omitempty"`
	Message *chat.Message             `json:"message,omitempty"`
}

// Recorder writes a run to a file, from which it can be replayed without a
// provider or tools: request hashes, provider streams, tool results and events,
// one JSON value a line.
type Recorder struct {
	mu  sync.Mutex
	w   *bufio.Writer
	err error
}

// NewRecorder returns a recorder that writes to w. Call Flush at the end.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{w: bufio.NewWriter(w)} }

// Flush writes what is buffered and returns the first error of the recording.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.w.Flush(); r.err == nil {
		r.err = err
	}
	return r.err
}

func (r *Recorder) line(l RecordLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := json.Marshal(l)
	if err == nil {
		_, err = r.w.Write(append(b, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

func (r *Recorder) event(e chat.Event) {
	if b, err := json.Marshal(e); err == nil {
		r.line(RecordLine{Event: b})
	}
}

func (r *Recorder) result(c *chat.ToolCall, res *chat.ToolResult) {
	cc, cr := *c, *res
	r.line(RecordLine{Call: &cc, Result: &cr})
}

// stream records a provider's stream while it passes through.
func (r *Recorder) stream(req providers.Request, in iter.Seq2[providers.StreamEvent, error]) iter.Seq2[providers.StreamEvent, error] {
	return func(yield func(providers.StreamEvent, error) bool) {
		r.line(RecordLine{Request: RequestHash(req)})
		for ev, err := range in {
			if err != nil {
				r.line(RecordLine{Error: chat.AsError(err)})
			} else {
				rec := &RecordedEvent{Type: ev.Type, Text: ev.Text}
				if ev.Response != nil {
					m := ev.Response.Message
					rec.Message = &m
				}
				r.line(RecordLine{Stream: rec})
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// RequestHash identifies what a request says: prompt, tools and messages without
// the ids and times that differ from run to run.
func RequestHash(req providers.Request) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	fmt.Fprintf(h, "%s\n%s\n", req.Model.String(), req.System)
	enc.Encode(req.Tools)
	ids := map[string]string{}
	for i := range req.Messages {
		enc.Encode(anonymous(req.Messages[i], ids))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// anonymous replaces ids by their order of appearance and drops times.
func anonymous(m chat.Message, ids map[string]string) any {
	name := func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("id%d", len(ids)+1)
		}
		return ids[id]
	}
	type call struct{ ID, Name, Input string }
	out := struct {
		Role   chat.Role
		Text   string
		Calls  []call
		Result string
		Images []string
	}{Role: m.Role, Text: m.PlainText()}
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			out.Calls = append(out.Calls, call{name(c.ID), c.Name, c.Input})
		}
		if img := m.Parts[i].Image; img != nil {
			out.Images = append(out.Images, img.Hash)
		}
	}
	if m.Result != nil {
		out.Result = name(m.Result.CallID)
		for _, img := range m.Result.Images {
			out.Images = append(out.Images, img.Hash)
		}
	}
	return out
}
