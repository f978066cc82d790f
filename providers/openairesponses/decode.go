package openairesponses

import (
	"bytes"
	"encoding/json"

	"perch/chat"
	"perch/providers"
)

type event struct {
	Type         string               `json:"type"`
	OutputIndex  int                  `json:"output_index"`
	SummaryIndex int                  `json:"summary_index"`
	Delta        string               `json:"delta"`
	Arguments    providers.FlexString `json:"arguments"`
	Input        string               `json:"input"`
	Item         *item                `json:"item"`
	Response     *response            `json:"response"`
	Error        json.RawMessage      `json:"error"`
}

type item struct {
	Type      string               `json:"type"`
	ID        string               `json:"id"`
	CallID    string               `json:"call_id"`
	Name      string               `json:"name"`
	Arguments providers.FlexString `json:"arguments"`
	Input     string               `json:"input"`
	Encrypted string               `json:"encrypted_content"`
	Summary   []contentIn          `json:"summary"`
	Content   []contentIn          `json:"content"`
}

type contentIn struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type response struct {
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input        int `json:"input_tokens"`
		Output       int `json:"output_tokens"`
		InputDetails struct {
			Cached     int `json:"cached_tokens"`
			CacheWrite int `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
	Output []item `json:"output"`
}

type decoder struct{ open []opened }

// opened is an output item by its index. A reasoning item has a part for each
// summary.
type opened struct {
	index   int
	summary int
	kind    string
	id      string
	block   providers.Block
	has     bool // the block exists
	done    bool
	wrote   bool // content has come
}

// Decoder returns a decoder.
func (w *wire) Decoder(*providers.Request) providers.Decoder { return &decoder{} }

func (d *decoder) at(index int) *opened {
	for i := len(d.open) - 1; i >= 0; i-- {
		if d.open[i].index == index {
			return &d.open[i]
		}
	}
	d.open = append(d.open, opened{index: index})
	return &d.open[len(d.open)-1]
}

// Event decodes one event.
func (d *decoder) Event(a *providers.Answer, typ string, data []byte) error {
	if bytes.Equal(data, []byte("[DONE]")) {
		return nil
	}
	var e event
	if !fast(data, &e) {
		e = event{}
		if err := json.Unmarshal(data, &e); err != nil {
			return providers.Garbled(err)
		}
	}
	if e.Type == "" {
		e.Type = typ
	}
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		if e.Response != nil {
			a.Model = e.Response.Model
		}
		a.Grew = e.Type == "response.created"
	case "response.output_item.added":
		if e.Item != nil {
			d.start(a, d.at(e.OutputIndex), e.Item)
		}
	case "response.output_text.delta":
		o := d.at(e.OutputIndex)
		d.begin(a, o, chat.PartText)
		a.Append(o.block, e.Delta)
		o.wrote = true
	case "response.refusal.delta":
		a.Refuse(e.Delta)
		d.at(e.OutputIndex).wrote = true
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning.delta":
		o := d.at(e.OutputIndex)
		if o.has && e.SummaryIndex > o.summary && o.wrote {
			o.has = false // a part for each summary
		}
		o.summary = e.SummaryIndex
		d.begin(a, o, chat.PartThinking)
		a.Append(o.block, e.Delta)
		o.wrote = true
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta":
		if o := d.at(e.OutputIndex); o.has {
			a.Input(o.block, e.Delta)
		}
	case "response.function_call_arguments.done":
		if o := d.at(e.OutputIndex); o.has && a.Len(o.block) == 0 {
			a.Input(o.block, string(e.Arguments))
		}
	case "response.custom_tool_call_input.done":
		if o := d.at(e.OutputIndex); o.has && a.Len(o.block) == 0 {
			a.Input(o.block, e.Input)
		}
	case "response.output_item.done":
		if e.Item != nil {
			d.done(a, d.at(e.OutputIndex), e.Item)
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		return d.end(a, &e)
	case "error":
		if len(e.Error) > 0 && e.Error[0] != 'n' {
			return inStream(e.Error)
		}
		return inStream(data)
	}
	return nil
}

func inStream(raw []byte) error { return &providers.InStream{Failure: providers.ErrorEvent(raw)} }

// begin makes the part of an item if it has none yet.
func (d *decoder) begin(a *providers.Answer, o *opened, t chat.PartType) {
	if o.has {
		return
	}
	o.block, o.has = a.Begin(t), true
	if t == chat.PartThinking {
		a.SetVendorID(o.block, o.id)
	}
}

func (d *decoder) start(a *providers.Answer, o *opened, in *item) {
	o.kind, o.id = in.Type, in.ID
	a.Grew = true
	switch in.Type {
	case "reasoning":
		d.begin(a, o, chat.PartThinking)
	case "function_call", "custom_tool_call":
		o.block, o.has = a.Call(in.CallID, in.Name), true
	}
}

// done takes what came only with the end of an item.
func (d *decoder) done(a *providers.Answer, o *opened, in *item) {
	if o.done {
		return
	}
	o.done = true
	a.Grew = true
	switch in.Type {
	case "reasoning":
		o.id = in.ID
		d.begin(a, o, chat.PartThinking)
		a.SetVendorID(o.block, in.ID)
		a.Encrypt(o.block, in.Encrypted)
		if !o.wrote {
			for _, c := range append(in.Summary, in.Content...) {
				a.Append(o.block, c.Text)
			}
		}
	case "message":
		if o.wrote {
			return
		}
		for _, c := range in.Content {
			a.Refuse(c.Refusal)
			if c.Text != "" {
				d.begin(a, o, chat.PartText)
				a.Append(o.block, c.Text)
			}
		}
	case "function_call", "custom_tool_call":
		if !o.has {
			o.block, o.has = a.Call(in.CallID, in.Name), true
		}
		a.CallID(o.block, in.CallID)
		a.CallName(o.block, in.Name)
		if a.Len(o.block) == 0 {
			a.Input(o.block, string(in.Arguments)+in.Input)
		}
	}
}

func (d *decoder) end(a *providers.Answer, e *event) error {
	r := e.Response
	if r == nil {
		return providers.Garbled(nil)
	}
	if r.Model != "" {
		a.Model = r.Model
	}
	if u := r.Usage; u != nil {
		read, write := u.InputDetails.Cached, u.InputDetails.CacheWrite
		a.Usage = chat.Usage{Input: max(u.Input-read-write, 0), Output: u.Output, CacheRead: read, CacheWrite: write, Thinking: u.OutputDetails.Reasoning}
	}
	if len(r.Error) > 0 && r.Error[0] != 'n' {
		return inStream(r.Error)
	}
	if len(d.open) == 0 { // a server that sends everything at the end
		for i := range r.Output {
			d.done(a, d.at(i), &r.Output[i])
		}
	}
	stop := chat.StopEnd
	switch {
	case r.Status == "failed" || e.Type == "response.failed":
		return inStream([]byte(`{"message":"the vendor gave the answer up without a reason","code":"server_error"}`))
	case r.Status == "cancelled" || e.Type == "response.cancelled":
		return nil // not closed: interrupted
	case r.Status == "incomplete" || e.Type == "response.incomplete":
		switch r.Incomplete.Reason {
		case "max_output_tokens", "max_tokens":
			stop = chat.StopOutputLimit
		case "content_filter":
			stop = chat.StopContentFilter
		default:
			stop = chat.StopUnknown
		}
	}
	if a.Stop != chat.StopRefusal || stop != chat.StopEnd {
		a.Stop = stop
	}
	a.Closed = true
	return nil
}

// Finish has nothing to add.
func (d *decoder) Finish(*providers.Answer) error { return nil }
