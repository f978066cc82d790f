package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"perch/chat"
	"perch/providers"
)

type request struct {
	Model        string          `json:"model"`
	MaxTokens    int             `json:"max_tokens"`
	System       []block         `json:"system,omitempty"`
	Tools        []tool          `json:"tools,omitempty"`
	Messages     []message       `json:"messages"`
	Thinking     json.RawMessage `json:"thinking,omitempty"`
	OutputConfig json.RawMessage `json:"output_config,omitempty"`
	Stream       bool            `json:"stream"`
}

type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Source       *source         `json:"source,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

const (
	// idLimit is what tool ids may have, in characters.
	idLimit = 64
	// minBudget is the smallest thinking budget that is taken, in tokens.
	minBudget = 1024
	// answerRoom is left of the output limit for the answer itself, in tokens.
	answerRoom = 1024
	// newestMarks is how many user turns get a cache breakpoint: the newest, and
	// the one before it, which the last request wrote. The vendor allows four,
	// of which one marks prompt and tools.
	newestMarks = 2
)

// budgets are thinking budgets by effort, in tokens.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16384}

// imageLimits are the vendor's: larger edges are scaled down there, and 5 MB of
// base64 are 3.75 MB of picture.
var imageLimits = providers.ImageLimits{MaxEdge: 1568, MaxBytes: 3_700_000, Types: []string{"image/png", "image/jpeg", "image/webp", "image/gif"}}

var schemaRules = providers.SchemaRules{Drop: []string{"$schema", "$id", "$comment"}}

// Encode writes the request by the vendor's rules.
func (w *wire) Encode(req *providers.Request) (providers.Call, error) {
	r := request{Model: req.Model.ID, MaxTokens: req.MaxOutput, Stream: true}
	if r.MaxTokens <= 0 {
		r.MaxTokens = providers.UnknownMaxOutput // the vendor demands a limit
	}
	if req.Model.Tools || !req.Model.Known {
		for _, d := range req.Tools {
			r.Tools = append(r.Tools, tool{Name: d.Name, Description: providers.Sanitize(d.Description), InputSchema: schemaRules.Apply(d.Schema)})
		}
	}
	if s := providers.Sanitize(req.System); strings.TrimSpace(s) != "" {
		r.System = []block{{Type: "text", Text: s, CacheControl: ephemeral}}
	} else if n := len(r.Tools); n > 0 {
		r.Tools[n-1].CacheControl = ephemeral
	}
	history := providers.Prepare(req, providers.Rules{
		Images: imageLimits, CallID: providers.CallIDs(idLimit, false), SignedThinkingOnly: true,
	})
	r.Messages = messages(history)
	w.thinking(&r, req)
	markNewest(r.Messages)
	body, err := providers.MarshalBody(r)
	return providers.Call{URL: w.url("/messages"), Header: w.header(), Body: body}, err
}

// messages joins what follows on the same role: results come first in a user
// turn, then what the user said.
func messages(history []chat.Message) []message {
	var out []message
	for i := range history {
		m := &history[i]
		role, blocks := "user", userBlocks(m.Parts)
		switch m.Role {
		case chat.RoleAssistant:
			role, blocks = "assistant", assistantBlocks(m)
		case chat.RoleTool:
			blocks = []block{{Type: "tool_result", ToolUseID: m.Result.CallID, Content: m.Result.Text, IsError: m.Result.IsError}}
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, message{role, blocks})
	}
	return out
}

func userBlocks(parts []chat.Part) []block {
	var out []block
	for _, p := range parts {
		if p.Type == chat.PartImage {
			out = append(out, block{Type: "image", Source: &source{"base64", p.Image.MIME, base64.StdEncoding.EncodeToString(p.Image.Data)}})
			continue
		}
		out = append(out, block{Type: "text", Text: p.Text})
	}
	return out
}

func assistantBlocks(m *chat.Message) []block {
	var out []block
	for _, p := range m.Parts {
		switch p.Type {
		case chat.PartThinking:
			switch {
			case p.Encrypted != "":
				out = append(out, block{Type: "redacted_thinking", Data: p.Encrypted})
			case p.Signature != "":
				out = append(out, block{Type: "thinking", Thinking: &p.Text, Signature: p.Signature})
			}
		case chat.PartCall:
			out = append(out, block{Type: "tool_use", ID: p.Call.ID, Name: p.Call.Name, Input: json.RawMessage(p.Call.Input)})
		default:
			if s := strings.TrimRight(p.Text, " \t\r\n"); s != "" {
				out = append(out, block{Type: "text", Text: s})
			}
		}
	}
	return out
}

// thinking asks for it where the effort says so. A tool round that another
// model began has no thinking, which the vendor refuses to go on from.
func (w *wire) thinking(r *request, req *providers.Request) {
	effort := w.ep.Effort(req)
	switch {
	case effort == "" || w.noThinking.Load():
		return
	case effort == "none":
		if strings.Contains(req.Model.ID, "claude-") { // others on this wire may not know the switch
			r.Thinking = json.RawMessage(`{"type":"disabled"}`)
		}
		return
	case adaptive(req.Model.ID):
		r.Thinking = json.RawMessage(`{"type":"adaptive"}`)
		r.OutputConfig = json.RawMessage(`{"effort":"` + effort + `"}`)
		return
	case openRoundWithoutThinking(r.Messages):
		return
	}
	budget := min(budgets[effort], r.MaxTokens-answerRoom)
	if budget < minBudget {
		return
	}
	b, _ := providers.MarshalBody(map[string]any{"type": "enabled", "budget_tokens": budget})
	r.Thinking = b
}

// adaptive reports whether a model takes an effort instead of a budget: from
// 4.6 on.
func adaptive(model string) bool {
	for _, old := range []string{"claude-3", "-4-0", "-4-1", "-4-5", "-4-2025"} {
		if strings.Contains(model, old) {
			return false
		}
	}
	return strings.Contains(model, "claude-")
}

// openRoundWithoutThinking reports whether the request continues a tool round
// whose assistant turn does not begin with thinking.
func openRoundWithoutThinking(msgs []message) bool {
	n := len(msgs)
	if n < 2 || msgs[n-1].Content[0].Type != "tool_result" {
		return false
	}
	first := msgs[n-2].Content[0].Type
	return first != "thinking" && first != "redacted_thinking"
}

// markNewest puts cache breakpoints at the end of the newest user turns.
func markNewest(msgs []message) {
	left := newestMarks
	for i := len(msgs) - 1; i >= 0 && left > 0; i-- {
		if msgs[i].Role == "user" {
			c := msgs[i].Content
			c[len(c)-1].CacheControl = ephemeral
			left--
		}
	}
}
