package openaichat

import (
	"bytes"
	"encoding/json"

	"perch/chat"
	"perch/providers"
)

type chunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Groq    *struct {
		Usage *usage          `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
	// Type and Message are what servers send that put an error where a chunk
	// belongs.
	Object  string `json:"object"`
	Message string `json:"message"`
}

type choice struct {
	Index  int             `json:"index"`
	Delta  delta           `json:"delta"`
	Finish string          `json:"finish_reason"`
	Error  json.RawMessage `json:"error"`
	Usage  *usage          `json:"usage"`
}

type delta struct {
	Content          content              `json:"content"`
	ReasoningContent providers.FlexString `json:"reasoning_content"`
	Reasoning        providers.FlexString `json:"reasoning"`
	Details          []detail             `json:"reasoning_details"`
	Refusal          string               `json:"refusal"`
	ToolCalls        []callIn             `json:"tool_calls"`
}

type callIn struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string               `json:"name"`
		Arguments providers.FlexString `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	CacheHit      int `json:"prompt_cache_hit_tokens"`
	Cached        int `json:"cached_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	PromptDetails struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// content is a text, or Mistral's list of text and thinking blocks.
type content struct {
	text   string
	blocks []blockIn
}

type blockIn struct {
	Type     string    `json:"type"`
	Text     string    `json:"text"`
	Thinking []blockIn `json:"thinking"`
}

// UnmarshalJSON reads both forms.
func (c *content) UnmarshalJSON(b []byte) error {
	c.text, c.blocks = "", nil
	switch {
	case len(b) == 0 || b[0] == 'n':
		return nil
	case b[0] == '"':
		return json.Unmarshal(b, &c.text)
	case b[0] == '[':
		return json.Unmarshal(b, &c.blocks)
	case b[0] == '{':
		c.blocks = make([]blockIn, 1)
		return json.Unmarshal(b, &c.blocks[0])
	}
	c.text = string(b)
	return nil
}

// decoder reads one stream.
type decoder struct {
	calls    []call
	finished bool

	thinking       providers.Block
	thinkingOpen   bool
	thinkingIndex  int
	thinkingType   string
	thinkingFormat string
	sawDetails     bool
}

type call struct {
	block providers.Block
	index int // -1 where the vendor gives none
	id    string
	name  string
	tail  byte // last byte of the arguments
	head  byte // first byte
}

// Decoder returns a decoder.
func (w *wire) Decoder(*providers.Request) providers.Decoder { return &decoder{} }

var doneMarker = []byte("[DONE]")

// Event decodes one chunk.
func (d *decoder) Event(a *providers.Answer, typ string, data []byte) error {
	if bytes.Equal(data, doneMarker) {
		a.Closed = true
		return nil
	}
	var f fastChunk
	if typ != "error" && fast(data, &f) && d.take(a, &f) {
		return nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return providers.Garbled(err)
	}
	if c.Model != "" {
		a.Model = c.Model
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // one answer was asked for
		}
		if err := d.choice(a, &c.Choices[i]); err != nil {
			return err
		}
	}
	if c.Usage != nil {
		setUsage(a, c.Usage)
	}
	if c.Groq != nil {
		if c.Groq.Usage != nil {
			setUsage(a, c.Groq.Usage)
		}
		if present(c.Groq.Error) {
			return inStream(c.Groq.Error)
		}
	}
	switch {
	case present(c.Error):
		return inStream(c.Error)
	case typ == "error", c.Object == "error":
		return inStream(data)
	}
	return nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] != 'n' }

func inStream(raw []byte) error { return &providers.InStream{Failure: providers.ErrorEvent(raw)} }

func (d *decoder) choice(a *providers.Answer, c *choice) error {
	dl := &c.Delta
	for i := range dl.Details {
		d.sawDetails = true
		d.detail(a, &dl.Details[i])
	}
	if !d.sawDetails {
		if dl.ReasoningContent != "" {
			a.Thinking(string(dl.ReasoningContent))
		} else {
			a.Thinking(string(dl.Reasoning))
		}
	}
	a.Text(dl.Content.text)
	for _, b := range dl.Content.blocks {
		if b.Type == "thinking" {
			for _, t := range b.Thinking {
				a.Thinking(t.Text)
			}
			a.Thinking(b.Text)
			continue
		}
		a.Text(b.Text)
	}
	a.Refuse(dl.Refusal)
	for i := range dl.ToolCalls {
		d.call(a, &dl.ToolCalls[i])
	}
	if c.Usage != nil {
		setUsage(a, c.Usage)
	}
	if present(c.Error) {
		return inStream(c.Error)
	}
	return d.finish(a, c.Finish)
}

// call adds a piece of a call to the call it belongs to. Vendors repeat, omit
// or reuse ids and indexes: see startsCall.
func (d *decoder) call(a *providers.Answer, in *callIn) {
	index := -1
	if in.Index != nil {
		index = *in.Index
	}
	at := -1
	for i := len(d.calls) - 1; i >= 0 && at < 0; i-- {
		if d.calls[i].index == index {
			at = i
		}
	}
	if at < 0 || startsCall(a, &d.calls[at], in) {
		b := a.Call(in.ID, in.Function.Name)
		d.calls = append(d.calls, call{block: b, index: index, id: in.ID, name: in.Function.Name})
		at = len(d.calls) - 1
	}
	c := &d.calls[at]
	if c.id == "" && in.ID != "" {
		c.id = in.ID
		a.CallID(c.block, in.ID)
	}
	if c.name == "" {
		c.name = in.Function.Name
		a.CallName(c.block, in.Function.Name)
	}
	if s := string(in.Function.Arguments); s != "" {
		if a.Len(c.block) == 0 {
			c.head = s[0]
		}
		c.tail = s[len(s)-1]
		a.Input(c.block, s)
	}
}

// startsCall decides whether a piece with the index of an open call begins
// another one: a new id does; without one, a name does when it differs, or when
// the open call's object is closed and a new object begins.
func startsCall(a *providers.Answer, open *call, in *callIn) bool {
	if in.ID != "" && open.id != "" && in.ID != open.id {
		return true
	}
	name, args := in.Function.Name, string(in.Function.Arguments)
	if name == "" || open.name == "" {
		return false
	}
	closed := a.Len(open.block) > 0 && open.head == '{' && open.tail == '}'
	if args != "" && args[0] == '{' && closed {
		return true
	}
	return name != open.name && (in.ID == "" || in.ID != open.id)
}

// stops are the reasons that vendors give.
var stops = map[string]chat.StopReason{
	"stop": chat.StopEnd, "end_turn": chat.StopEnd, "eos": chat.StopEnd, "stop_sequence": chat.StopEnd, "eos_token": chat.StopEnd,
	"length": chat.StopOutputLimit, "max_tokens": chat.StopOutputLimit, "model_length": chat.StopOutputLimit,
	"tool_calls": chat.StopTools, "function_call": chat.StopTools, "tool_use": chat.StopTools,
	"content_filter": chat.StopContentFilter, "sensitive": chat.StopContentFilter,
	"refusal":                       chat.StopRefusal,
	"model_context_window_exceeded": chat.StopOverflow,
}

func (d *decoder) finish(a *providers.Answer, reason string) error {
	switch reason {
	case "":
		return nil
	case "error", "network_error", "insufficient_system_resource", "abort":
		d.finished = true
		if reason == "error" {
			return nil // the error itself stands beside it or in the next event
		}
		return &providers.InStream{Failure: providers.Failure{Status: 503, Code: reason, Message: "the vendor broke the answer off: " + reason}}
	}
	d.finished = true
	stop, ok := stops[reason]
	if !ok {
		stop = chat.StopUnknown
	}
	if a.Stop != chat.StopRefusal {
		a.Stop = stop
	}
	a.Grew = true
	return nil
}

func setUsage(a *providers.Answer, u *usage) {
	if u.Prompt == 0 && u.Completion == 0 && u.Total == 0 {
		return
	}
	read := max(u.PromptDetails.Cached, u.CacheHit, u.Cached)
	write := max(u.PromptDetails.CacheWrite, u.CacheCreation)
	out := u.Completion
	if r := u.CompletionDetails.Reasoning; r > 0 && u.Total == u.Prompt+u.Completion+r {
		out += r // xAI counts thinking apart
	}
	a.Usage = chat.Usage{
		Input: max(u.Prompt-read-write, 0), Output: out, CacheRead: read, CacheWrite: write,
		Thinking: u.CompletionDetails.Reasoning,
	}
}

// Finish has nothing to add; a stop that never came is the closing event's
// business.
func (d *decoder) Finish(a *providers.Answer) error {
	if a.Closed && !d.finished && a.Empty() {
		a.Closed = false // a stream of nothing but its marker is no answer
	}
	return nil
}
