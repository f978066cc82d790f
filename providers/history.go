package providers

import (
	"bytes"
	"encoding/json"
	"strings"

	"perch/chat"
)

// Texts that stand for what cannot be sent.
const (
	// ImageOmitted stands for an image that the model cannot see.
	ImageOmitted = "[An image was left out: this model cannot see images.]"
	// ImageMissing stands for an image whose bytes are gone or unreadable.
	ImageMissing = "[An image was left out: it could not be read.]"
	// EmptyResult stands for a tool result without text, which some vendors refuse.
	EmptyResult = "(no output)"
	// emptyUser stands for a user message of which nothing was left.
	emptyUser = "(empty message)"
	// earlier and goOn frame a history that begins or ends with an assistant.
	earlier = "(The conversation began earlier.)"
	goOn    = "Go on."
)

// Rules are what a wire accepts; [Prepare] brings a history into that form.
type Rules struct {
	// Images are the limits for pictures.
	Images ImageLimits
	// CallID maps a call to an id the vendor accepts; see [CallIDs].
	CallID func(id string) string
	// SignedThinkingOnly drops own thinking that has no signature, encrypted
	// content or vendor id: the vendor would refuse it.
	SignedThinkingOnly bool
	// NoThinking drops all thinking: the wire has no place for it.
	NoThinking bool
	// Alternate joins consecutive messages of users, and of assistants.
	Alternate bool
}

// Prepare returns the history as a wire wants it. Foreign thinking is dropped,
// texts are sanitised, images fit the limits or are replaced by a line, empty
// parts and messages are gone, calls have valid JSON objects as arguments and
// ids that the vendor takes. The last steps are [chat.WithRoundImages] and
// [chat.Repair]. The input is not changed.
//
// Own thinking (same provider and model) stays verbatim. Readable thinking of
// another maker is dropped and not turned into text: as text it would teach the
// model to think aloud.
func Prepare(req *Request, r Rules) []chat.Message {
	msgs, _ := chat.Repair(req.Messages)
	if r.CallID != nil { // before images get their labels, which name the call
		msgs = mapCallIDs(msgs, r.CallID)
	}
	msgs = chat.WithRoundImages(msgs)
	out := make([]chat.Message, 0, len(msgs))
	for i := range msgs {
		m := msgs[i]
		switch m.Role {
		case chat.RoleTool:
			if m.Result == nil {
				continue
			}
			res := *m.Result
			res.Name, res.Text = toolName(res.Name), Sanitize(res.Text)
			if strings.TrimSpace(res.Text) == "" {
				res.Text = EmptyResult
			}
			m.Result = &res
		case chat.RoleAssistant:
			m.Parts = assistantParts(req, r, &m)
			if len(m.Parts) == 0 {
				continue
			}
			if n := len(out); r.Alternate && n > 0 && out[n-1].Role == chat.RoleAssistant && !out[n-1].HasCalls() {
				out[n-1].Parts = append(out[n-1].Parts[:len(out[n-1].Parts):len(out[n-1].Parts)], m.Parts...)
				continue
			}
		default:
			m.Parts = userParts(req, r, m.Parts)
			if n := len(out); r.Alternate && n > 0 && out[n-1].Role == chat.RoleUser {
				out[n-1].Parts = append(out[n-1].Parts[:len(out[n-1].Parts):len(out[n-1].Parts)], m.Parts...)
				continue
			}
		}
		out = append(out, m)
	}
	out, _ = chat.Repair(framed(out))
	return out
}

// framed makes the history begin and end with what a model can answer: vendors
// refuse one that begins with an assistant, and take one that ends with it for
// the beginning of the answer.
func framed(msgs []chat.Message) []chat.Message {
	if len(msgs) == 0 || msgs[0].Role != chat.RoleUser {
		msgs = append([]chat.Message{chat.UserText(earlier)}, msgs...)
	}
	if last := &msgs[len(msgs)-1]; last.Role == chat.RoleAssistant && !last.HasCalls() {
		msgs = append(msgs, chat.UserText(goOn))
	}
	return msgs
}

// Own reports whether a message was made by the model that is asked now.
func Own(req *Request, m *chat.Message) bool {
	return m.Provider == req.Model.Provider && m.Model == req.Model.ID && m.Provider != ""
}

func assistantParts(req *Request, r Rules, m *chat.Message) []chat.Part {
	own := Own(req, m)
	var parts []chat.Part
	said := false
	for i := range m.Parts {
		p := m.Parts[i]
		switch p.Type {
		case chat.PartText:
			p.Text = Sanitize(p.Text)
			if strings.TrimSpace(p.Text) == "" && (p.Signature == "" || !own) {
				continue
			}
			said = true
		case chat.PartThinking:
			signed := p.Signature != "" || p.Encrypted != "" || p.VendorID != ""
			if !own || r.NoThinking || m.Interrupted || r.SignedThinkingOnly && !signed {
				continue
			}
			p.Text = Sanitize(p.Text)
		case chat.PartCall:
			if p.Call == nil {
				continue
			}
			c := *p.Call
			c.Name, c.Input = toolName(c.Name), cleanInput(&c)
			p.Call, said = &c, true
		default:
			continue
		}
		if !own {
			p.Signature, p.Encrypted, p.VendorID = "", "", ""
		}
		parts = append(parts, p)
	}
	if !said {
		return nil // thinking alone is no message to any vendor
	}
	return parts
}

// toolName fits the alphabet that all vendors share: a model that made a name
// up must not make every later request fail.
func toolName(s string) string {
	ok := func(r rune) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	s = strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "unknown"
	}
	return s[:min(len(s), maxToolName)]
}

// maxToolName is the shortest limit of all vendors, in characters.
const maxToolName = 64

// cleanInput returns arguments as a compact JSON object. What is no JSON goes
// back as a string member, so that the model sees what it wrote; it was never
// executed.
func cleanInput(c *chat.ToolCall) string {
	if raw, ok := c.ValidInput(); ok {
		var b bytes.Buffer
		if json.Compact(&b, []byte(Sanitize(string(raw)))) == nil {
			return strings.ReplaceAll(loneSurrogates().ReplaceAllStringFunc(b.String(), mendSurrogates), `\u0000`, "")
		}
	}
	b, _ := json.Marshal(map[string]string{"invalid_arguments": Sanitize(c.Input)})
	return string(b)
}

func userParts(req *Request, r Rules, in []chat.Part) []chat.Part {
	var parts []chat.Part
	for i := range in {
		p := in[i]
		switch p.Type {
		case chat.PartText:
			p.Text = Sanitize(p.Text)
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
		case chat.PartImage:
			if p.Image == nil {
				continue
			}
			if !req.Model.Vision {
				p = chat.Text(ImageOmitted)
				break
			}
			img, ok := r.Images.Fit(p.Image)
			if !ok {
				p = chat.Text(ImageMissing)
				break
			}
			p.Image = img
		default:
			continue
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		parts = []chat.Part{chat.Text(emptyUser)}
	}
	return parts
}

func mapCallIDs(in []chat.Message, id func(string) string) []chat.Message {
	msgs := append([]chat.Message(nil), in...)
	for i := range msgs {
		m := &msgs[i]
		if m.Result != nil {
			res := *m.Result
			res.CallID = id(res.CallID)
			m.Result = &res
		}
		if !m.HasCalls() {
			continue
		}
		m.Parts = append([]chat.Part(nil), m.Parts...)
		for p := range m.Parts {
			if c := m.Parts[p].Call; m.Parts[p].Type == chat.PartCall && c != nil {
				cp := *c
				cp.ID = id(c.ID)
				m.Parts[p].Call = &cp
			}
		}
	}
	return msgs
}
