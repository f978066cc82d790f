package gemini

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"perch/chat"
	"perch/providers"
)

type request struct {
	System   *content  `json:"systemInstruction,omitempty"`
	Tools    []tools   `json:"tools,omitempty"`
	Contents []content `json:"contents"`
	Config   config    `json:"generationConfig"`
}

type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      *string   `json:"text,omitempty"`
	Thought   bool      `json:"thought,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
	Inline    *inline   `json:"inlineData,omitempty"`
	Call      *call     `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
}

type inline struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type config struct {
	MaxOutput int       `json:"maxOutputTokens,omitempty"`
	Thinking  *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

const (
	// idLimit is what call ids may have, in characters.
	idLimit = 64
	// foreignSignature is the vendor's documented stand-in for a call that
	// another model made: Gemini 3 refuses a call without a signature.
	foreignSignature = "skip_thought_signature_validator"
)

// budgets are thinking budgets by effort, in tokens, for models before Gemini 3.
var budgets = map[string]int{"none": 0, "low": 2048, "medium": 8192, "high": 24576}

// imageLimits are the vendor's; a request as a whole may have 20 MB.
var imageLimits = providers.ImageLimits{MaxEdge: 3072, MaxBytes: 7 << 20, Types: []string{"image/png", "image/jpeg", "image/webp"}}

// schemaRules: the vendor takes a part of OpenAPI 3.0.
var schemaRules = providers.SchemaRules{
	Drop: []string{"$schema", "$id", "$comment", "$anchor", "additionalProperties", "patternProperties", "propertyNames", "dependentSchemas", "dependentRequired",
		"examples", "example", "default", "readOnly", "writeOnly", "deprecated", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems",
		"not", "if", "then", "else", "allOf", "contains", "minContains", "maxContains", "prefixItems", "unevaluatedProperties", "unevaluatedItems",
		"contentEncoding", "contentMediaType", "strict"},
	Inline: true, SingleType: true, ConstAsEnum: true, StringEnums: true,
}

// Encode writes the request by the vendor's rules.
func (w *wire) Encode(req *providers.Request) (providers.Call, error) {
	r := request{Config: config{MaxOutput: req.MaxOutput, Thinking: w.thinking(req)}}
	if s := providers.Sanitize(req.System); strings.TrimSpace(s) != "" {
		r.System = &content{Parts: []part{{Text: &s}}}
	}
	if len(req.Tools) > 0 && (req.Model.Tools || !req.Model.Known) {
		var f []function
		for _, d := range req.Tools {
			fn := function{Name: d.Name, Description: providers.Sanitize(d.Description)}
			if p := schemaRules.Apply(d.Schema); hasProperties(p) { // an object without properties is refused
				fn.Parameters = p
			}
			f = append(f, fn)
		}
		r.Tools = []tools{{f}}
	}
	r.Contents = contents(req)
	body, err := providers.MarshalBody(r)
	return providers.Call{URL: w.modelURL(req.Model.ID, ":streamGenerateContent?alt=sse"), Body: body}, err
}

func hasProperties(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &s) == nil && len(s.Properties) > 0
}

func (w *wire) thinking(req *providers.Request) *thinking {
	if !req.Model.Reasoning {
		return nil
	}
	t := &thinking{Include: true}
	effort := w.ep.Effort(req)
	switch {
	case effort == "":
	case newer(req.Model.ID):
		if t.Level = effort; effort == "none" || effort == "medium" && strings.Contains(req.Model.ID, "pro") {
			t.Level = "low" // the least, and the nearest, that these take
		}
	default:
		b := budgets[effort]
		if b == 0 && strings.Contains(req.Model.ID, "pro") {
			b = 128 // Gemini 2.5 Pro cannot stop thinking
		}
		t.Budget = &b
		t.Include = b > 0
	}
	return t
}

// newer reports whether a model is Gemini 3 or later.
func newer(model string) bool {
	return strings.Contains(model, "gemini-") && !strings.Contains(model, "gemini-1") && !strings.Contains(model, "gemini-2")
}

// contents keeps all results of a round in one content, directly after the calls.
func contents(req *providers.Request) []content {
	history := providers.Prepare(req, providers.Rules{Images: imageLimits, CallID: providers.CallIDs(idLimit, false), Alternate: true})
	var out []content
	for i := range history {
		m := &history[i]
		switch m.Role {
		case chat.RoleTool:
			key := "output"
			if m.Result.IsError {
				key = "error"
			}
			p := part{Response: &response{m.Result.CallID, m.Result.Name, map[string]string{key: m.Result.Text}}}
			if i > 0 && history[i-1].Role == chat.RoleTool {
				out[len(out)-1].Parts = append(out[len(out)-1].Parts, p)
				continue
			}
			out = append(out, content{"user", []part{p}})
		case chat.RoleAssistant:
			out = append(out, content{"model", modelParts(req, m)})
		default:
			out = append(out, content{"user", userParts(m.Parts)})
		}
	}
	return out
}

func userParts(parts []chat.Part) []part {
	var out []part
	for _, p := range parts {
		if p.Type == chat.PartImage {
			out = append(out, part{Inline: &inline{p.Image.MIME, base64.StdEncoding.EncodeToString(p.Image.Data)}})
			continue
		}
		out = append(out, part{Text: &p.Text})
	}
	return out
}

func modelParts(req *providers.Request, m *chat.Message) []part {
	var out []part
	firstCall := true
	for _, p := range m.Parts {
		switch p.Type {
		case chat.PartThinking:
			if p.Text != "" || p.Signature != "" {
				out = append(out, part{Text: &p.Text, Thought: true, Signature: p.Signature})
			}
		case chat.PartCall:
			s := p.Signature
			if s == "" && firstCall && newer(req.Model.ID) {
				s = foreignSignature
			}
			firstCall = false
			out = append(out, part{Call: &call{p.Call.ID, p.Call.Name, json.RawMessage(p.Call.Input)}, Signature: s})
		default:
			out = append(out, part{Text: &p.Text, Signature: p.Signature})
		}
	}
	return out
}
