package ollama

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"perch/chat"
	"perch/providers"
)

type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	Stream   bool      `json:"stream"`
	// Truncate and Shift are off: an overflow must be an error, never a loss.
	Truncate bool    `json:"truncate"`
	Shift    bool    `json:"shift"`
	Think    any     `json:"think,omitempty"`
	Options  options `json:"options"`
}

type options struct {
	NumCtx     int `json:"num_ctx"`
	NumPredict int `json:"num_predict,omitempty"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type message struct {
	Role       string    `json:"role"`
	Content    string    `json:"content"`
	Thinking   string    `json:"thinking,omitempty"`
	Images     []string  `json:"images,omitempty"`
	Calls      []callOut `json:"tool_calls,omitempty"`
	ToolName   string    `json:"tool_name,omitempty"`
	ToolCallID string    `json:"tool_call_id,omitempty"`
}

type callOut struct {
	ID       string      `json:"id,omitempty"`
	Function functionOut `json:"function"`
}

type functionOut struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// idLimit is of no matter to the server; templates print ids.
const idLimit = 64

var imageLimits = providers.ImageLimits{MaxEdge: 2048, MaxBytes: 10 << 20, Types: []string{"image/png", "image/jpeg"}}

var schemaRules = providers.SchemaRules{Drop: []string{"$schema", "$id", "$comment"}, Inline: true, ConstAsEnum: true}

// Encode writes the request by the server's rules.
func (w *wire) Encode(req *providers.Request) (providers.Call, error) {
	window := req.Model.ContextWindow
	if window <= 0 {
		window = providers.UnknownContextWindow
	}
	r := request{Model: req.Model.ID, Stream: true, Options: options{NumCtx: window, NumPredict: req.MaxOutput}}
	switch effort := w.ep.Effort(req); {
	case effort == "none":
		r.Think = false
	case effort != "" && strings.Contains(req.Model.ID, "gpt-oss"):
		r.Think = effort
	case effort != "":
		r.Think = true
	}
	if req.Model.Tools || !req.Model.Known {
		for _, d := range req.Tools {
			r.Tools = append(r.Tools, tool{"function", function{d.Name, providers.Sanitize(d.Description), schemaRules.Apply(d.Schema)}})
		}
	}
	if s := providers.Sanitize(req.System); strings.TrimSpace(s) != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: s})
	}
	for _, m := range providers.Prepare(req, providers.Rules{Images: imageLimits, CallID: providers.CallIDs(idLimit, false), Alternate: true}) {
		r.Messages = append(r.Messages, encode(&m))
	}
	body, err := providers.MarshalBody(r)
	return providers.Call{URL: w.url("/chat"), Body: body, Format: providers.NDJSON}, err
}

func encode(m *chat.Message) message {
	if m.Role == chat.RoleTool {
		return message{Role: "tool", Content: m.Result.Text, ToolName: m.Result.Name, ToolCallID: m.Result.CallID}
	}
	out := message{Role: string(m.Role)}
	var text, thinking []string
	for _, p := range m.Parts {
		switch p.Type {
		case chat.PartImage:
			out.Images = append(out.Images, base64.StdEncoding.EncodeToString(p.Image.Data))
		case chat.PartThinking:
			thinking = append(thinking, p.Text)
		case chat.PartCall:
			out.Calls = append(out.Calls, callOut{p.Call.ID, functionOut{p.Call.Name, json.RawMessage(p.Call.Input)}})
		default:
			text = append(text, p.Text)
		}
	}
	sep := "" // an answer's texts were one; a user's are several
	if m.Role == chat.RoleUser {
		sep = "\n\n"
	}
	out.Content, out.Thinking = strings.Join(text, sep), strings.Join(thinking, "")
	return out
}
