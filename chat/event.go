package chat

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is one thing that happened in a run. The concrete types are pointers
// to TextDelta, ThinkingDelta, ToolStart, ToolProgress, ToolEnd, Permission,
// Compaction, Retry, Notice and Done.
type Event interface {
	// Header returns the event's run and sequence number, for reading and, by
	// the runner, for stamping.
	Header() *Head
	// EventType is the value of "type" in JSON.
	EventType() string
}

// Head is common to all events.
type Head struct {
	Type string `json:"type"`
	Run  string `json:"run"`
	// Seq counts from 1 in each run, without gaps.
	Seq int64 `json:"seq"`
}

// Header returns h.
func (h *Head) Header() *Head { return h }

// Stamp sets the head of an event.
func Stamp(e Event, run string, seq int64) Event {
	h := e.Header()
	h.Type, h.Run, h.Seq = e.EventType(), run, seq
	return e
}

// TextDelta is a piece of the answer.
type TextDelta struct {
	Head
	Text string `json:"text"`
}

// ThinkingDelta is a piece of the model's readable thinking.
type ThinkingDelta struct {
	Head
	Text string `json:"text"`
}

// ToolStart says that a call has been taken up. Every call gets one.
type ToolStart struct {
	Head
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolProgress is a word from a tool at work.
type ToolProgress struct {
	Head
	ID      string `json:"id"`
	Message string `json:"message"`
}

// ToolEnd says how a call ended. Every call gets one.
type ToolEnd struct {
	Head
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Result   string        `json:"result"`
	IsError  bool          `json:"is_error"`
	Duration time.Duration `json:"-"`
	Images   []Image       `json:"images,omitempty"`
	Sources  []Source      `json:"sources,omitempty"`
}

// Permission is a question to the user; the run waits for its answer.
type Permission struct {
	Head
	ID   string `json:"id"` // of the call
	Name string `json:"name"`
	// Need is the kind in question; Detail is shown whole. Needs holds all that
	// is asked with one question.
	Need   NeedKind `json:"need"`
	Detail string   `json:"detail"`
	Needs  []Need   `json:"needs,omitempty"`
}

// Compaction says that the model's view was compacted.
type Compaction struct {
	Head
	TokensBefore int `json:"tokens_before"`
	TokensAfter  int `json:"tokens_after"`
}

// Withdrawn counts what a failed attempt had streamed and is now void.
type Withdrawn struct {
	TextBytes     int `json:"text_bytes"`
	ThinkingBytes int `json:"thinking_bytes"`
}

// Retry announces another attempt after Wait.
type Retry struct {
	Head
	Attempt   int           `json:"attempt"` // from 1
	Reason    string        `json:"reason"`
	Wait      time.Duration `json:"-"`
	Withdrawn Withdrawn     `json:"withdrawn"`
}

// Notice is a line for the user that is no part of the answer.
type Notice struct {
	Head
	ID   string   `json:"id,omitempty"` // in the message catalogues
	Args []string `json:"args,omitempty"`
	Text string   `json:"text"`
}

// Done is the last event of every run.
type Done struct {
	Head
	Result Result `json:"result"`
}

// ToolFailures counts failed calls of one tool and kind.
type ToolFailures struct {
	Tool  string      `json:"tool"`
	Kind  FailureKind `json:"kind"`
	Count int         `json:"count"`
}

// Timings are non-overlapping shares of a run's time.
type Timings struct {
	Provider   time.Duration
	Tools      time.Duration
	Compaction time.Duration
	Waiting    time.Duration // for retries and for the user
}

type timingsJSON struct {
	Provider   durationMS `json:"provider"`
	Tools      durationMS `json:"tools"`
	Compaction durationMS `json:"compaction"`
	Waiting    durationMS `json:"waiting"`
}

// MarshalJSON writes whole milliseconds.
func (t Timings) MarshalJSON() ([]byte, error) {
	return json.Marshal(timingsJSON{durationMS(t.Provider), durationMS(t.Tools), durationMS(t.Compaction), durationMS(t.Waiting)})
}

// UnmarshalJSON reads whole milliseconds.
func (t *Timings) UnmarshalJSON(b []byte) error {
	var j timingsJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*t = Timings{time.Duration(j.Provider), time.Duration(j.Tools), time.Duration(j.Compaction), time.Duration(j.Waiting)}
	return nil
}

// Result is the outcome of a run.
type Result struct {
	Session    string     `json:"session"`
	Text       string     `json:"text"`
	StopReason StopReason `json:"stop_reason"`
	Error      *Error     `json:"error"`
	Model      string     `json:"model"`
	Usage      Usage      `json:"usage"`
	Rounds     int        `json:"rounds"`
	// Compactions and Retries count what happened in this run.
	Compactions  int            `json:"compactions"`
	Retries      int            `json:"retries"`
	ToolFailures []ToolFailures `json:"tool_failures"`
	// Refused counts calls that the user or a rule refused.
	Refused int     `json:"refused"`
	Timings Timings `json:"timings_ms"`
	// Abandoned counts tools that ignored cancellation and were given up.
	Abandoned int `json:"abandoned,omitempty"`
	// Message is the last assistant message, nil where there is none.
	Message *Message `json:"-"`
}

// EventType returns "text_delta".
func (*TextDelta) EventType() string { return "text_delta" }

// EventType returns "thinking_delta".
func (*ThinkingDelta) EventType() string { return "thinking_delta" }

// EventType returns "tool_start".
func (*ToolStart) EventType() string { return "tool_start" }

// EventType returns "tool_progress".
func (*ToolProgress) EventType() string { return "tool_progress" }

// EventType returns "tool_end".
func (*ToolEnd) EventType() string { return "tool_end" }

// EventType returns "permission".
func (*Permission) EventType() string { return "permission" }

// EventType returns "compaction".
func (*Compaction) EventType() string { return "compaction" }

// EventType returns "retry".
func (*Retry) EventType() string { return "retry" }

// EventType returns "notice".
func (*Notice) EventType() string { return "notice" }

// EventType returns "done".
func (*Done) EventType() string { return "done" }

// MarshalJSON writes the duration as duration_ms.
func (e *ToolEnd) MarshalJSON() ([]byte, error) {
	type plain ToolEnd
	return json.Marshal(struct {
		*plain
		MS durationMS `json:"duration_ms"`
	}{(*plain)(e), durationMS(e.Duration)})
}

// UnmarshalJSON reads duration_ms.
func (e *ToolEnd) UnmarshalJSON(b []byte) error {
	type plain ToolEnd
	j := struct {
		*plain
		MS durationMS `json:"duration_ms"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	e.Duration = time.Duration(j.MS)
	return nil
}

// MarshalJSON writes the wait as wait_ms.
func (e *Retry) MarshalJSON() ([]byte, error) {
	type plain Retry
	return json.Marshal(struct {
		*plain
		MS durationMS `json:"wait_ms"`
	}{(*plain)(e), durationMS(e.Wait)})
}

// UnmarshalJSON reads wait_ms.
func (e *Retry) UnmarshalJSON(b []byte) error {
	type plain Retry
	j := struct {
		*plain
		MS durationMS `json:"wait_ms"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	e.Wait = time.Duration(j.MS)
	return nil
}

// UnmarshalEvent reads one event from its JSON form. An unknown type is an
// error: the protocol's version decides who may talk to whom.
func UnmarshalEvent(b []byte) (Event, error) {
	var h Head
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	var e Event
	switch h.Type {
	case "text_delta":
		e = new(TextDelta)
	case "thinking_delta":
		e = new(ThinkingDelta)
	case "tool_start":
		e = new(ToolStart)
	case "tool_progress":
		e = new(ToolProgress)
	case "tool_end":
		e = new(ToolEnd)
	case "permission":
		e = new(Permission)
	case "compaction":
		e = new(Compaction)
	case "retry":
		e = new(Retry)
	case "notice":
		e = new(Notice)
	case "done":
		e = new(Done)
	default:
		return nil, fmt.Errorf("read event: unknown type %q", h.Type)
	}
	if err := json.Unmarshal(b, e); err != nil {
		return nil, fmt.Errorf("read %s event: %w", h.Type, err)
	}
	return e, nil
}
