package chat

import (
	"encoding/json"
	"strings"
	"time"
)

// Role says who a message comes from.
type Role string

// The roles of a history. A tool message holds exactly one [ToolResult].
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Kind tells messages that the harness wrote from those of the user.
type Kind string

// The kinds of a message. The empty kind is what the role says it is.
const (
	KindOrdinary Kind = ""
	// KindHarness is a user-role message that the harness wrote, such as the
	// request to go on after an output limit. Views do not show it as the user's.
	KindHarness Kind = "harness"
	// KindSummary is a user-role message that stands for a compacted past.
	KindSummary Kind = "summary"
	// KindRoundImages is the derived user-role message that carries the images
	// of a tool round to the model. It is never stored.
	KindRoundImages Kind = "round_images"
)

// Message is one entry of a history.
type Message struct {
	ID   string    `json:"id"`
	Role Role      `json:"role"`
	Kind Kind      `json:"kind,omitempty"`
	Time time.Time `json:"time,omitzero"`

	// Parts are the content of user and assistant messages, in order.
	Parts []Part `json:"parts,omitempty"`
	// Result is the content of a tool message, nil for every other role.
	Result *ToolResult `json:"result,omitempty"`

	// Provider and Model name the maker of an assistant message. They decide
	// whether its thinking may go back verbatim.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`

	Stop        StopReason `json:"stop,omitempty"`
	Interrupted bool       `json:"interrupted,omitempty"`
	Usage       *Usage     `json:"usage,omitempty"`

	// Tokens is the estimate for this message, counted once when it was made;
	// 0 means not counted yet. TokensBy names the weights it was counted with.
	Tokens   int    `json:"tokens,omitempty"`
	TokensBy string `json:"tokens_by,omitempty"`
}

// PartType names the content of a [Part].
type PartType string

// The types of a part.
const (
	PartText     PartType = "text"
	PartThinking PartType = "thinking"
	PartImage    PartType = "image"
	PartCall     PartType = "call"
)

// Part is one piece of a user or assistant message. Which fields count is said
// by Type.
type Part struct {
	Type PartType `json:"type"`
	// Text is the text of a text part and the readable text of a thinking part.
	Text string `json:"text,omitempty"`

	// Signature, Encrypted and VendorID are what a vendor wants back verbatim
	// with a thinking part, or (Gemini) with a text or call part.
	Signature string `json:"signature,omitempty"`
	// Encrypted is thinking that only the vendor can read (redacted thinking,
	// encrypted reasoning content).
	Encrypted string `json:"encrypted,omitempty"`
	// VendorID is the vendor's id of this item, where it has one.
	VendorID string `json:"vendor_id,omitempty"`
	// Refusal marks a text part with which the model refused.
	Refusal bool `json:"refusal,omitempty"`

	Image *Image    `json:"image,omitempty"`
	Call  *ToolCall `json:"call,omitempty"`
}

// Image is a picture. The store keeps its bytes once, by Hash; Data is filled
// where the bytes are needed (a request, an export) and empty elsewhere.
type Image struct {
	// Hash is the hex SHA-256 of the bytes.
	Hash   string `json:"hash,omitempty"`
	MIME   string `json:"mime"`
	Width  int    `json:"width,omitempty"`  // pixels
	Height int    `json:"height,omitempty"` // pixels
	Size   int    `json:"size,omitempty"`   // bytes
	Name   string `json:"name,omitempty"`   // where it came from, for the label
	Data   []byte `json:"data,omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	// ID is the harness's own id, unique in the session. VendorID is what the
	// vendor called it, which may be empty, repeated or reused.
	ID       string `json:"id"`
	VendorID string `json:"vendor_id,omitempty"`
	Name     string `json:"name"`
	// Input is the raw argument text as it arrived. It may be no JSON at all:
	// see [ToolCall.ValidInput].
	Input string `json:"input"`
}

// ValidInput returns the arguments as JSON, or false if they are not a JSON
// object. Absent arguments count as an empty object.
func (c *ToolCall) ValidInput() (json.RawMessage, bool) {
	s := strings.TrimSpace(c.Input)
	if s == "" {
		return json.RawMessage("{}"), true
	}
	if s[0] != '{' || !json.Valid([]byte(s)) {
		return nil, false
	}
	return json.RawMessage(s), true
}

// ToolResult answers one tool call.
type ToolResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	// Images are stored with the result and reach the model through
	// [WithRoundImages].
	Images  []Image `json:"images,omitempty"`
	IsError bool    `json:"is_error,omitempty"`
	// Failure is the kind of failure, for the statistics; empty on success.
	Failure FailureKind `json:"failure,omitempty"`
	// Interrupted marks a result that stands in for one that never came.
	Interrupted bool          `json:"interrupted,omitempty"`
	Duration    time.Duration `json:"duration,omitempty"`
	// Sources are documents that a search result names, for the view.
	Sources []Source `json:"sources,omitempty"`
	// Untrusted marks text that came from outside (a page, a connector).
	Untrusted bool `json:"untrusted,omitempty"`
}

// FailureKind says why a tool call failed.
type FailureKind string

// The kinds of tool failure.
const (
	FailUnknownTool FailureKind = "unknown_tool"
	FailBadJSON     FailureKind = "bad_json"
	FailSchema      FailureKind = "schema"
	FailPanic       FailureKind = "panic"
	FailTool        FailureKind = "tool"
	FailTimeout     FailureKind = "timeout"
	FailRefused     FailureKind = "refused"
	FailCutOff      FailureKind = "cut_off"
	FailInterrupted FailureKind = "interrupted"
	FailAbandoned   FailureKind = "abandoned"
)

// StopReason says why an answer or a run ended.
type StopReason string

// Stop reasons of an answer (the first group) and of a run (all but StopTools).
const (
	StopEnd           StopReason = "end"
	StopTools         StopReason = "tools"
	StopOutputLimit   StopReason = "output_limit"
	StopRefusal       StopReason = "refusal"
	StopContentFilter StopReason = "content_filter"
	// StopOverflow is a vendor's in-band report that the window is full.
	StopOverflow StopReason = "context_overflow"
	// StopUnknown is a reason that the codec does not know; it counts as an end.
	StopUnknown StopReason = "unknown"

	StopRoundLimit StopReason = "round_limit"
	StopLoop       StopReason = "loop"
	StopAborted    StopReason = "aborted"
	StopError      StopReason = "error"
)

// Usage counts the tokens of one model call, or of a run when added up.
// Input holds neither CacheRead nor CacheWrite.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	// Thinking is the part of Output spent on thinking, where it is reported.
	Thinking int `json:"thinking,omitempty"`
	// Cost is in US dollars; 0 where the price is unknown.
	Cost float64 `json:"cost"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Thinking: u.Thinking + v.Thinking, Cost: u.Cost + v.Cost,
	}
}

// TotalInput is all that the model read: fresh, cached and written to cache.
func (u Usage) TotalInput() int { return u.Input + u.CacheRead + u.CacheWrite }

// Text returns a text part.
func Text(s string) Part { return Part{Type: PartText, Text: s} }

// UserText returns a user message of one text part without id or time.
func UserText(s string) Message { return Message{Role: RoleUser, Parts: []Part{Text(s)}} }

// PlainText joins the text parts of a message; of a tool message it is the
// result's text. Thinking is not part of it.
func (m *Message) PlainText() string {
	if m.Result != nil {
		return m.Result.Text
	}
	n, last := 0, -1
	for i := range m.Parts {
		if m.Parts[i].Type == PartText {
			n, last = n+1, i
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return m.Parts[last].Text
	}
	var b strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Type == PartText {
			b.WriteString(m.Parts[i].Text)
		}
	}
	return b.String()
}

// Calls returns the tool calls of a message in declared order. The pointers
// lead into the message.
func (m *Message) Calls() []*ToolCall {
	var out []*ToolCall
	for i := range m.Parts {
		if m.Parts[i].Type == PartCall && m.Parts[i].Call != nil {
			out = append(out, m.Parts[i].Call)
		}
	}
	return out
}

// HasCalls reports whether the message asks for tools.
func (m *Message) HasCalls() bool {
	for i := range m.Parts {
		if m.Parts[i].Type == PartCall && m.Parts[i].Call != nil {
			return true
		}
	}
	return false
}
