package ollama

import (
	"encoding/json"

	"perch/chat"
	"perch/providers"
)

type line struct {
	Model   string `json:"model"`
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string               `json:"name"`
				Arguments providers.FlexString `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Prompt     int             `json:"prompt_eval_count"`
	Eval       int             `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

type decoder struct{}

// Decoder returns a decoder.
func (w *wire) Decoder(*providers.Request) providers.Decoder { return decoder{} }

// Event decodes one line.
func (decoder) Event(a *providers.Answer, _ string, data []byte) error {
	var l line
	if !fast(data, &l) {
		l = line{}
		if err := json.Unmarshal(data, &l); err != nil {
			return providers.Garbled(err)
		}
	}
	if len(l.Error) > 0 && l.Error[0] != 'n' {
		return &providers.InStream{Failure: providers.ErrorEvent(l.Error)}
	}
	if l.Model != "" {
		a.Model = l.Model
	}
	a.Thinking(l.Message.Thinking)
	a.Text(l.Message.Content)
	for _, c := range l.Message.Calls {
		a.Input(a.Call(c.ID, c.Function.Name), string(c.Function.Arguments))
	}
	if !l.Done {
		return nil
	}
	a.Usage = chat.Usage{Input: l.Prompt, Output: l.Eval}
	switch l.DoneReason {
	case "stop", "":
		a.Stop = chat.StopEnd
	case "length":
		a.Stop = chat.StopOutputLimit
	default: // "load", "unload": the server had no prompt to answer
		a.Stop = chat.StopUnknown
	}
	a.Closed = true
	return nil
}

// Finish has nothing to add.
func (decoder) Finish(*providers.Answer) error { return nil }
