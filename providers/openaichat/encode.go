package openaichat

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"perch/chat"
	"perch/providers"
)

type request struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               []tool          `json:"tools,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	Reasoning           json.RawMessage `json:"reasoning,omitempty"`
	Thinking            json.RawMessage `json:"thinking,omitempty"`
	EnableThinking      *bool           `json:"enable_thinking,omitempty"`
	ToolStream          bool            `json:"tool_stream,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
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
	Role             string    `json:"role"`
	Content          any       `json:"content"` // text, blocks or null
	ReasoningContent string    `json:"reasoning_content,omitempty"`
	Reasoning        string    `json:"reasoning,omitempty"`
	ReasoningDetails []detail  `json:"reasoning_details,omitempty"`
	ToolCalls        []callOut `json:"tool_calls,omitempty"`
	ToolCallID       string    `json:"tool_call_id,omitempty"`
	Name             string    `json:"name,omitempty"`
}

type callOut struct {
	ID       string      `json:"id"`
	Type     string      `json:"type"`
	Function functionOut `json:"function"`
}

type functionOut struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type contentBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ImageURL     *imageURL       `json:"image_url,omitempty"`
	Thinking     []contentBlock  `json:"thinking,omitempty"`
	CacheControl json.RawMessage `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

const (
	// cacheKeyLimit is OpenAI's limit of prompt_cache_key, in characters.
	cacheKeyLimit = 64
	// bridgeText stands between a tool result and a user message where a vendor
	// demands an assistant's turn there.
	bridgeText = "I have the result."
)

var schemaRules = providers.SchemaRules{Drop: []string{"$schema", "$id", "$comment"}}

// imageLimits are OpenAI's: larger pictures are scaled down by the vendor anyway.
var imageLimits = providers.ImageLimits{MaxEdge: 2048, MaxBytes: 10 << 20, Types: []string{"image/png", "image/jpeg", "image/webp"}}

// Encode writes the request by the vendor's rules.
func (w *wire) Encode(req *providers.Request) (providers.Call, error) {
	c := w.row()
	r := request{Model: req.Model.ID, Stream: true}
	if !c.noStreamOptions {
		r.StreamOptions = &streamOptions{true}
	}
	if c.completionTokens {
		r.MaxCompletionTokens = req.MaxOutput
	} else {
		r.MaxTokens = req.MaxOutput
	}
	header := http.Header{}
	if req.CacheKey != "" {
		if c.cacheKey {
			r.PromptCacheKey = providers.CacheKey(req.CacheKey, cacheKeyLimit)
		}
		if c.cacheHeader != "" {
			header.Set(c.cacheHeader, providers.CacheKey(req.CacheKey, cacheKeyLimit))
		}
	}
	w.reasoning(&r, c, req)
	if !c.noTools && (req.Model.Tools || !req.Model.Known) {
		for _, d := range req.Tools {
			r.Tools = append(r.Tools, tool{"function", function{d.Name, providers.Sanitize(d.Description), schemaRules.Apply(d.Schema)}})
		}
		r.ToolStream = c.toolStream && len(r.Tools) > 0
	}
	r.Messages = messages(c, req)
	body, err := providers.MarshalBody(r)
	return providers.Call{URL: w.url("/chat/completions"), Header: header, Body: body}, err
}

func (w *wire) reasoning(r *request, c compat, req *providers.Request) {
	effort := w.ep.Effort(req)
	if effort == "" {
		return
	}
	on := effort != "none"
	switch c.effort {
	case effortMember:
		if on || w.vendor == "openai" && strings.HasPrefix(req.Model.ID, "gpt-5.") {
			r.ReasoningEffort = effort
		} else if w.vendor == "openai" {
			r.ReasoningEffort = "minimal" // the least that older models take
		}
	case effortObject:
		if on {
			r.Reasoning = json.RawMessage(`{"effort":"` + effort + `"}`)
		} else {
			r.Reasoning = json.RawMessage(`{"enabled":false}`)
		}
	case thinkingSwitch:
		if on {
			r.Thinking = json.RawMessage(`{"type":"enabled"}`)
		} else {
			r.Thinking = json.RawMessage(`{"type":"disabled"}`)
		}
	case enableThinking:
		r.EnableThinking = &on
	}
}

func messages(c compat, req *providers.Request) []message {
	var out []message
	cached := c.breakpoints && strings.Contains(req.Model.ID, "claude")
	if s := providers.Sanitize(req.System); strings.TrimSpace(s) != "" {
		m := message{Role: "system", Content: s}
		if c.developerRole && req.Model.Reasoning {
			m.Role = "developer"
		}
		if cached {
			m.Content = []contentBlock{{Type: "text", Text: s, CacheControl: ephemeral}}
		}
		out = append(out, m)
	}
	history := providers.Prepare(req, providers.Rules{
		Images: imageLimits, CallID: providers.CallIDs(c.idLength, c.exactIDs), Alternate: c.merge,
		NoThinking: c.thinking == noThinking,
	})
	for i := range history {
		m := &history[i]
		switch m.Role {
		case chat.RoleTool:
			t := message{Role: "tool", Content: m.Result.Text, ToolCallID: m.Result.CallID}
			if c.resultName {
				t.Name = m.Result.Name
			}
			out = append(out, t)
		case chat.RoleAssistant:
			out = append(out, assistant(c, m))
		default:
			if n := len(out); c.bridge && n > 0 && out[n-1].Role == "tool" {
				out = append(out, message{Role: "assistant", Content: bridgeText})
			}
			out = append(out, message{Role: "user", Content: userContent(m.Parts)})
		}
	}
	if cached {
		markLast(out)
	}
	return out
}

// markLast puts the second breakpoint at the newest user or tool message. All of
// them are written as blocks, so that a message looks the same with and without.
func markLast(out []message) {
	marked := false
	for i := len(out) - 1; i > 0; i-- {
		m := &out[i]
		if m.Role != "user" && m.Role != "tool" {
			continue
		}
		if s, ok := m.Content.(string); ok {
			m.Content = []contentBlock{{Type: "text", Text: s}}
		}
		if v, ok := m.Content.([]contentBlock); ok && !marked {
			v[len(v)-1].CacheControl = ephemeral
			marked = true
		}
	}
}

func userContent(parts []chat.Part) any {
	if len(parts) == 1 && parts[0].Type == chat.PartText {
		return parts[0].Text
	}
	var out []contentBlock
	for _, p := range parts {
		if p.Type == chat.PartImage {
			out = append(out, contentBlock{Type: "image_url", ImageURL: &imageURL{
				"data:" + p.Image.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Image.Data)}})
			continue
		}
		out = append(out, contentBlock{Type: "text", Text: p.Text})
	}
	return out
}

func assistant(c compat, m *chat.Message) message {
	out := message{Role: "assistant"}
	var text, thinking strings.Builder
	var blocks []contentBlock
	for _, p := range m.Parts {
		switch p.Type {
		case chat.PartText:
			text.WriteString(p.Text)
		case chat.PartThinking:
			thinking.WriteString(p.Text)
			switch c.thinking {
			case reasoningDetails:
				out.ReasoningDetails = append(out.ReasoningDetails, detailOf(len(out.ReasoningDetails), p))
			case thinkingBlocks:
				if p.Text != "" {
					blocks = append(blocks, contentBlock{Type: "thinking", Thinking: []contentBlock{{Type: "text", Text: p.Text}}})
				}
			}
		case chat.PartCall:
			out.ToolCalls = append(out.ToolCalls, callOut{p.Call.ID, "function", functionOut{p.Call.Name, p.Call.Input}})
		}
	}
	if text.Len() > 0 {
		out.Content = text.String()
	}
	switch {
	case c.thinking == reasoningContent && len(out.ToolCalls) > 0:
		out.ReasoningContent = thinking.String()
	case c.thinking == reasoningText && len(out.ToolCalls) > 0:
		out.Reasoning = thinking.String()
	case len(blocks) > 0:
		if text.Len() > 0 {
			blocks = append(blocks, contentBlock{Type: "text", Text: text.String()})
		}
		out.Content = blocks
	}
	return out
}
