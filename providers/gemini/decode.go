package gemini

import (
	"bytes"
	"encoding/json"

	"perch/chat"
	"perch/providers"
)

type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   *struct {
		Block   string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	Error json.RawMessage `json:"error"`
}

type usage struct {
	Prompt   int `json:"promptTokenCount"`
	Answer   int `json:"candidatesTokenCount"`
	Thoughts int `json:"thoughtsTokenCount"`
	Cached   int `json:"cachedContentTokenCount"`
	ToolUse  int `json:"toolUsePromptTokenCount"`
}

func (u *usage) take(a *providers.Answer) {
	if u != nil {
		a.Usage = chat.Usage{
			Input: max(u.Prompt-u.Cached, 0) + u.ToolUse, Output: u.Answer + u.Thoughts,
			CacheRead: u.Cached, Thinking: u.Thoughts,
		}
	}
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []partIn `json:"parts"`
	} `json:"content"`
	Finish string `json:"finishReason"`
}

type partIn struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

type decoder struct {
	block    providers.Block
	kind     chat.PartType // of the open block, empty for none
	finished bool
	counts   []byte // usage of the newest chunk, not read yet
}

// Decoder returns a decoder.
func (w *wire) Decoder(*providers.Request) providers.Decoder { return &decoder{} }

// Event decodes one chunk.
func (d *decoder) Event(a *providers.Answer, _ string, data []byte) error {
	var p partIn
	var model string
	var counts []byte
	if fast(data, &p, &model, &counts) {
		d.part(a, &p)
		if model != "" {
			a.Model = model
		}
		if len(counts) > 0 { // only the last one counts
			d.counts = append(d.counts[:0], counts...)
		}
		return nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return providers.Garbled(err)
	}
	if len(c.Error) > 0 && c.Error[0] != 'n' {
		return &providers.InStream{Failure: providers.ErrorEvent(c.Error)}
	}
	if c.Model != "" {
		a.Model = c.Model
	}
	if c.Usage != nil {
		d.counts = d.counts[:0]
		c.Usage.take(a)
	}
	for i := range c.Candidates {
		k := &c.Candidates[i]
		if k.Index != 0 {
			continue
		}
		for j := range k.Content.Parts {
			d.part(a, &k.Content.Parts[j])
		}
		if k.Finish != "" {
			a.Stop, d.finished, a.Grew = stopReason(k.Finish), true, true
		}
	}
	if c.Feedback != nil && c.Feedback.Block != "" && !d.finished {
		a.Stop, d.finished, a.Grew = chat.StopContentFilter, true, true
	}
	return nil
}

// part adds one piece. A signature belongs to the piece it came with: pieces
// are joined only while none has come.
func (d *decoder) part(a *providers.Answer, p *partIn) {
	switch {
	case p.Call != nil:
		b := a.Call(p.Call.ID, p.Call.Name)
		args := bytes.TrimSpace(p.Call.Args)
		if len(args) == 0 || args[0] == 'n' {
			args = []byte("{}")
		}
		a.Input(b, string(args))
		a.Sign(b, p.Signature)
		d.kind = ""
	case p.Text != "" || p.Signature != "":
		kind := chat.PartText
		if p.Thought {
			kind = chat.PartThinking
		}
		if d.kind != kind || p.Signature != "" {
			d.block, d.kind = a.Begin(kind), kind
		}
		a.Append(d.block, p.Text)
		if p.Signature != "" {
			a.Sign(d.block, p.Signature)
			d.kind = ""
		}
	}
}

func stopReason(s string) chat.StopReason {
	switch s {
	case "STOP", "FUNCTION_CALL", "TOOL_CALLS": // the last two from gateways
		return chat.StopEnd
	case "MAX_TOKENS":
		return chat.StopOutputLimit
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return chat.StopContentFilter
	}
	return chat.StopUnknown
}

// Finish closes the answer if a reason for its end has come.
func (d *decoder) Finish(a *providers.Answer) error {
	var u usage
	if len(d.counts) > 0 && json.Unmarshal(d.counts, &u) == nil {
		u.take(a)
	}
	a.Closed = d.finished
	return nil
}
