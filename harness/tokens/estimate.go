package tokens

import (
	"math"

	"perch/chat"
)

// shape is what a vendor adds around the text, in tokens. The figures are those
// of the public chat templates; where none is public, of reported usage.
type shape struct {
	message int // role and separators of a message
	call    int // frame of a tool call
	result  int // frame of a tool result
	tool    int // frame of a tool definition
	tools   int // text that the vendor puts before the definitions, if any
	image   imageRule
}

// encryptedShare is tokens a byte of base64 that only the vendor can read:
// three quarters are payload, and a token of text is about four bytes.
const encryptedShare = 0.75 / 4

// shapeOf returns what surrounds the text for a model of a family. An empty
// model is any of the family.
func shapeOf(model, family string) shape {
	s := shape{message: 4, call: 8, result: 5, tool: 8, image: imageRuleOf(model, family)}
	switch family {
	case Claude:
		// The vendor documents 290 to 530 tokens for the tool-use system prompt,
		// by model; most are at 346.
		s.message, s.call, s.result, s.tool, s.tools = 4, 12, 10, 10, 346
	case Qwen:
		// "<|im_start|>role\n…<|im_end|>\n" and the tools preamble of the template.
		s.message, s.call, s.result, s.tools = 5, 9, 8, 110
	case Llama3:
		s.message, s.tools = 5, 60
	case DeepSeek:
		s.message, s.call, s.result = 2, 10, 6
	case Gemma:
		s.message = 5
	}
	return s
}

// Name identifies the weights, for [chat.Message.TokensBy]. It changes with the
// figures and with what is counted around the text.
func (e *Estimator) Name() string { return e.name }

// Family is the tokenizer family that the weights belong to.
func (e *Estimator) Family() string { return e.family }

// Text estimates the tokens of a text. It makes one pass and allocates nothing.
func (e *Estimator) Text(s string) int { return int(math.Round(e.text(s))) }

func (e *Estimator) text(s string) float64 {
	if s == "" {
		return 0
	}
	var sums sums
	e.sc.scan(s, &sums, nil)
	total := 0.0
	for c, n := range sums {
		total += float64(n) * e.scale[c]
	}
	return total
}

// Message estimates the tokens of a message as it is sent: text, thinking that
// goes back, calls, result and images, and what the vendor puts around them.
// It keeps nothing; the caller stores the figure with [Estimator.Name].
func (e *Estimator) Message(m *chat.Message) int {
	total := float64(e.shape.message)
	for i := range m.Parts {
		total += e.part(&m.Parts[i])
	}
	if m.Result != nil {
		total += float64(e.shape.result) + e.text(m.Result.Name) + e.text(m.Result.Text)
		for i := range m.Result.Images {
			img := &m.Result.Images[i]
			total += float64(e.Image(img.Width, img.Height) + imageLabel)
		}
	}
	return int(math.Round(total))
}

// imageLabel is the line that names the call an image belongs to, in tokens.
const imageLabel = 20

func (e *Estimator) part(p *chat.Part) float64 {
	switch p.Type {
	case chat.PartText:
		return e.text(p.Text)
	case chat.PartThinking:
		switch {
		case p.Encrypted != "":
			return float64(len(p.Encrypted)) * encryptedShare
		case p.Signature == "":
			return 0 // thinking without its signature does not go back
		case p.Text == "":
			return float64(len(p.Signature)) * encryptedShare
		}
		return e.text(p.Text)
	case chat.PartImage:
		if p.Image != nil {
			return float64(e.Image(p.Image.Width, p.Image.Height))
		}
	case chat.PartCall:
		if p.Call != nil {
			return float64(e.shape.call) + e.text(p.Call.Name) + e.text(p.Call.Input)
		}
	}
	return 0
}

// Tools estimates the tokens of the tool definitions as they are sent: name,
// description and schema of each with what the vendor puts around them.
func (e *Estimator) Tools(defs []chat.ToolDef) int {
	if len(defs) == 0 {
		return 0
	}
	total := float64(e.shape.tools)
	for i := range defs {
		total += float64(e.shape.tool) + e.text(defs[i].Name) + e.text(defs[i].Description) + e.text(string(defs[i].Schema))
	}
	return int(math.Round(total))
}

// History sums up messages, counting only those that were not counted with
// these weights before.
func (e *Estimator) History(msgs []chat.Message) int {
	n := 0
	for i := range msgs {
		if m := &msgs[i]; m.Tokens > 0 && m.TokensBy == e.name {
			n += m.Tokens
		} else {
			n += e.Message(m)
		}
	}
	return n
}
