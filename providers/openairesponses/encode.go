package openairesponses

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"perch/chat"
	"perch/providers"
)

type request struct {
	Model           string     `json:"model"`
	Instructions    string     `json:"instructions,omitempty"`
	Tools           []tool     `json:"tools,omitempty"`
	Input           []any      `json:"input"`
	Stream          bool       `json:"stream"`
	Store           bool       `json:"store"`
	Include         []string   `json:"include,omitempty"`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
	PromptCacheKey  string     `json:"prompt_cache_key,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type messageItem struct {
	Type    string    `json:"type"`
	Role    string    `json:"role"`
	Content []content `json:"content"`
}

type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

type reasoningItem struct {
	Type      string    `json:"type"`
	ID        string    `json:"id,omitempty"`
	Summary   []content `json:"summary"`
	Encrypted string    `json:"encrypted_content"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type outputItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

const (
	// idLimit is what call ids may have, in characters.
	idLimit = 64
	// cacheKeyLimit is what prompt_cache_key may have, in characters.
	cacheKeyLimit = 64
	// minOutput is the smallest output limit that is taken, in tokens.
	minOutput = 16
)

var imageLimits = providers.ImageLimits{MaxEdge: 2048, MaxBytes: 10 << 20, Types: []string{"image/png", "image/jpeg", "image/webp"}}

var schemaRules = providers.SchemaRules{Drop: []string{"$schema", "$id", "$comment"}}

// Encode writes the request by the vendor's rules.
func (w *wire) Encode(req *providers.Request) (providers.Call, error) {
	r := request{
		Model: req.Model.ID, Instructions: providers.Sanitize(req.System), Stream: true,
		PromptCacheKey: providers.CacheKey(req.CacheKey, cacheKeyLimit),
	}
	if w.noCacheKey.Load() {
		r.PromptCacheKey = ""
	}
	if req.MaxOutput > 0 {
		r.MaxOutputTokens = max(req.MaxOutput, minOutput)
	}
	if req.Model.Reasoning {
		if !w.noEncrypted.Load() {
			r.Include = []string{"reasoning.encrypted_content"}
		}
		r.Reasoning = &reasoning{}
		if !w.noSummary.Load() {
			r.Reasoning.Summary = "auto"
		}
		switch effort := w.ep.Effort(req); {
		case effort == "none" && !strings.HasPrefix(req.Model.ID, "gpt-5."):
			r.Reasoning.Effort = "minimal" // the least that older models take
			if strings.HasPrefix(req.Model.ID, "o") {
				r.Reasoning.Effort = "low"
			}
		default:
			r.Reasoning.Effort = effort
		}
	}
	if req.Model.Tools || !req.Model.Known {
		for _, d := range req.Tools {
			r.Tools = append(r.Tools, tool{"function", d.Name, providers.Sanitize(d.Description), schemaRules.Apply(d.Schema), false})
		}
	}
	for _, m := range providers.Prepare(req, providers.Rules{
		Images: imageLimits, CallID: providers.CallIDs(idLimit, false), SignedThinkingOnly: true,
	}) {
		switch m.Role {
		case chat.RoleTool:
			r.Input = append(r.Input, outputItem{"function_call_output", m.Result.CallID, m.Result.Text})
		case chat.RoleAssistant:
			r.Input = append(r.Input, assistantItems(&m)...)
		default:
			r.Input = append(r.Input, messageItem{"message", "user", userContent(m.Parts)})
		}
	}
	body, err := providers.MarshalBody(r)
	return providers.Call{URL: w.url("/responses"), Body: body}, err
}

func userContent(parts []chat.Part) []content {
	var out []content
	for _, p := range parts {
		if p.Type == chat.PartImage {
			out = append(out, content{Type: "input_image", ImageURL: "data:" + p.Image.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Image.Data)})
			continue
		}
		out = append(out, content{Type: "input_text", Text: p.Text})
	}
	return out
}

// assistantItems keeps the order of the parts. A reasoning item must be followed
// by what it led to; one that leads to nothing is left out. Parts with the same
// vendor id are one item with several summaries.
func assistantItems(m *chat.Message) []any {
	last := len(m.Parts) - 1
	for last >= 0 && m.Parts[last].Type == chat.PartThinking {
		last--
	}
	var out []any
	for i := 0; i <= last; i++ {
		p := m.Parts[i]
		switch p.Type {
		case chat.PartThinking:
			item := reasoningItem{Type: "reasoning", ID: p.VendorID, Summary: []content{}, Encrypted: p.Encrypted}
			add := func(s string) {
				if s != "" {
					item.Summary = append(item.Summary, content{Type: "summary_text", Text: s})
				}
			}
			add(p.Text)
			for i+1 <= last && m.Parts[i+1].Type == chat.PartThinking && p.VendorID != "" && m.Parts[i+1].VendorID == p.VendorID {
				i++
				add(m.Parts[i].Text)
				if item.Encrypted == "" {
					item.Encrypted = m.Parts[i].Encrypted
				}
			}
			if item.Encrypted != "" { // the vendor keeps nothing: an id alone is unknown to it
				out = append(out, item)
			}
		case chat.PartCall:
			out = append(out, callItem{"function_call", p.Call.ID, p.Call.Name, p.Call.Input})
		default:
			out = append(out, messageItem{"message", "assistant", []content{{Type: "output_text", Text: p.Text}}})
		}
	}
	return out
}
