// Package providers speaks to model vendors. One small codec a wire format lives
// in a folder of its own; what differs between vendors never leaves this layer.
//
// Guarantees: a stream ends with exactly one [StreamEnd] event or with an error
// that is a [chat.Error]; a connection that closes before the vendor's closing
// event is an error of class transient, never an answer; retries are the
// caller's. Cost per streamed event is constant.
package providers

import (
	"context"
	"iter"

	"perch/chat"
)

// Provider is one vendor, or one server, behind its wire format.
type Provider interface {
	// ID is the name under which the user knows it, the part before the slash
	// in "provider/model".
	ID() string
	// Complete drains Stream.
	Complete(ctx context.Context, req Request) (Response, error)
	// Stream sends the request and yields its events. It makes one attempt.
	Stream(ctx context.Context, req Request) iter.Seq2[StreamEvent, error]
	// ValidateAuth checks the credentials with the cheapest request there is.
	ValidateAuth(ctx context.Context) error
}

// Request is one model call.
type Request struct {
	Model    ModelInfo
	System   string
	Tools    []chat.ToolDef // sorted by name
	Messages []chat.Message // images' Data filled; encoders run Repair and WithRoundImages last
	// MaxOutput is the output limit in tokens, already clamped to the window.
	MaxOutput int
	// CacheKey identifies the session to the vendor's prompt cache.
	CacheKey string
	// Reasoning is the effort asked for: "" (the vendor's default), "none",
	// "low", "medium" or "high".
	Reasoning string
}

// Response is a complete answer. The message has parts, stop reason, usage,
// provider and model set; its calls carry the vendor's ids only (ID is empty
// until the harness gives one).
type Response struct {
	Message chat.Message
}

// StreamEventType names a [StreamEvent].
type StreamEventType uint8

// The types of stream events.
const (
	// StreamText and StreamThinking carry a piece of text.
	StreamText StreamEventType = iota + 1
	StreamThinking
	// StreamCall says that a tool call has begun; Text is its name.
	StreamCall
	// StreamCallInput carries a piece of a call's arguments, for progress only.
	StreamCallInput
	// StreamEnd closes the stream and carries the whole answer.
	StreamEnd
)

// StreamEvent is one decoded event.
type StreamEvent struct {
	Type StreamEventType
	Text string
	// Response is set on StreamEnd.
	Response *Response
}

// ModelInfo are the facts of one model.
type ModelInfo struct {
	Provider       string  `json:"provider"`
	ID             string  `json:"id"` // the vendor's name
	Name           string  `json:"name,omitempty"`
	ContextWindow  int     `json:"context_window"` // tokens
	MaxOutput      int     `json:"max_output"`     // tokens
	Vision         bool    `json:"vision"`
	Reasoning      bool    `json:"reasoning"`
	Tools          bool    `json:"tools"`
	Local          bool    `json:"local"`
	Known          bool    `json:"known"`   // facts come from a list, not from the defaults
	CostIn         float64 `json:"cost_in"` // US dollars a million tokens; 0 unknown or free
	CostOut        float64 `json:"cost_out"`
	CostCacheRead  float64 `json:"cost_cache_read"`
	CostCacheWrite float64 `json:"cost_cache_write"`
}

// String is "provider/model".
func (m ModelInfo) String() string { return m.Provider + "/" + m.ID }

// What an unknown model is taken to be; it is never refused.
const (
	UnknownContextWindow = 32768
	UnknownMaxOutput     = 4096
)

// Cost is the price of a usage in US dollars, 0 where the price is unknown.
func (m ModelInfo) Cost(u chat.Usage) float64 {
	return (float64(u.Input)*m.CostIn + float64(u.Output)*m.CostOut +
		float64(u.CacheRead)*m.CostCacheRead + float64(u.CacheWrite)*m.CostCacheWrite) / 1e6
}
