package anthropic

import (
	"encoding/json"

	"perch/chat"
	"perch/providers"
)

type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Input     string `json:"partial_json"`
		Signature string `json:"signature"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type usage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

type decoder struct {
	open []opened
}

// opened is a block by its index; blocks of the vendor's own tools are skipped.
type opened struct {
	index int
	block providers.Block
	kind  chat.PartType // empty for what is skipped
	input string        // arguments that came whole with the start
}

// Decoder returns a decoder.
func (w *wire) Decoder(*providers.Request) providers.Decoder { return &decoder{} }

// Event decodes one event.
func (d *decoder) Event(a *providers.Answer, typ string, data []byte) error {
	if typ == "ping" {
		return nil
	}
	var e event
	if !fast(data, &e) {
		e = event{}
		if err := json.Unmarshal(data, &e); err != nil {
			return providers.Garbled(err)
		}
	}
	switch e.Type {
	case "message_start":
		d.restart(a)
		a.Model = e.Message.Model
		a.Grew = true
		take(&a.Usage, e.Message.Usage)
	case "content_block_start":
		d.start(a, &e)
	case "content_block_delta":
		d.delta(a, &e)
	case "content_block_stop":
		if o := d.at(e.Index); o != nil && o.kind == chat.PartCall && a.Len(o.block) == 0 {
			a.Input(o.block, o.input)
		}
	case "message_delta":
		take(&a.Usage, e.Usage)
		if e.Delta.Stop != "" {
			a.Stop = stopReason(e.Delta.Stop)
			a.Grew = true
		}
	case "message_stop":
		a.Closed = true
	case "error":
		return &providers.InStream{Failure: providers.ErrorEvent(e.Error)}
	case "":
		if len(e.Error) > 0 || typ == "error" {
			return &providers.InStream{Failure: providers.ErrorEvent(data)}
		}
	}
	return nil
}

// restart drops what a message that begins again had so far.
func (d *decoder) restart(a *providers.Answer) {
	for _, o := range d.open {
		if o.kind != "" {
			a.Drop(o.block)
		}
	}
	d.open, a.Stop = nil, ""
}

func (d *decoder) at(index int) *opened {
	for i := len(d.open) - 1; i >= 0; i-- {
		if d.open[i].index == index {
			return &d.open[i]
		}
	}
	return nil
}

func (d *decoder) start(a *providers.Answer, e *event) {
	b, o := &e.Block, opened{index: e.Index}
	switch b.Type {
	case "text":
		o.kind, o.block = chat.PartText, a.Begin(chat.PartText)
		a.Append(o.block, b.Text)
	case "thinking":
		o.kind, o.block = chat.PartThinking, a.Begin(chat.PartThinking)
		a.Append(o.block, b.Thinking)
		a.Sign(o.block, b.Signature)
	case "redacted_thinking":
		o.kind, o.block = chat.PartThinking, a.Begin(chat.PartThinking)
		a.Encrypt(o.block, b.Data)
	case "tool_use":
		o.kind, o.block = chat.PartCall, a.Call(b.ID, b.Name)
		if s := string(b.Input); s != "" && s != "{}" && s != "null" {
			o.input = s
		}
	default:
		a.Grew = true
	}
	d.open = append(d.open, o)
}

func (d *decoder) delta(a *providers.Answer, e *event) {
	o := d.at(e.Index)
	if o == nil { // a server that leaves the start out
		if e.Delta.Type != "text_delta" {
			return
		}
		d.open = append(d.open, opened{index: e.Index, kind: chat.PartText, block: a.Begin(chat.PartText)})
		o = &d.open[len(d.open)-1]
	}
	switch {
	case o.kind == "":
		a.Grew = true
	case o.kind == chat.PartCall:
		a.Input(o.block, e.Delta.Input)
	case e.Delta.Type == "signature_delta":
		a.Sign(o.block, e.Delta.Signature)
	case o.kind == chat.PartThinking:
		a.Append(o.block, e.Delta.Thinking)
	default:
		a.Append(o.block, e.Delta.Text)
	}
}

func take(to *chat.Usage, u *usage) {
	if u == nil {
		return
	}
	for _, f := range []struct {
		to   *int
		from *int
	}{{&to.Input, u.Input}, {&to.Output, u.Output}, {&to.CacheRead, u.CacheRead}, {&to.CacheWrite, u.CacheWrite}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

func stopReason(s string) chat.StopReason {
	switch s {
	case "end_turn", "stop_sequence":
		return chat.StopEnd
	case "tool_use":
		return chat.StopTools
	case "max_tokens":
		return chat.StopOutputLimit
	case "refusal":
		return chat.StopRefusal
	case "model_context_window_exceeded":
		return chat.StopOverflow
	}
	return chat.StopUnknown
}

// Finish has nothing to add.
func (d *decoder) Finish(*providers.Answer) error { return nil }
