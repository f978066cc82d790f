// Package imagegen makes pictures from a description, with the image endpoints
// of OpenAI-compatible servers and of Gemini.
package imagegen

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/jpeg" // read for its size
	_ "image/png"  // read for its size
	"net/http"
	"net/url"
	"strings"
	"time"

	_ "golang.org/x/image/webp" // read for its size

	"perch/chat"
	"perch/providers"
)

const (
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 64 << 20
	// wait bounds one picture: slow models take two minutes.
	wait = 5 * time.Minute
)

// Generator makes pictures with one model.
type Generator struct {
	ep    providers.Endpoint
	wire  string
	model string
}

// New makes a generator. wire is the provider's wire format.
func New(ep providers.Endpoint, wire, model string) (*Generator, error) {
	if model == "" {
		return nil, chat.NewError(chat.ClassMisuse, "err.image.model", "No image model is set. Set image.model in the settings.")
	}
	switch wire {
	case "openai-chat", "openai-responses", "gemini":
		return &Generator{ep, wire, model}, nil
	}
	return nil, chat.NewError(chat.ClassMisuse, "err.image.wire", "%s makes no pictures. Choose another provider in image.provider.", ep.Name)
}

// Model is "provider/model".
func (g *Generator) Model() string { return g.ep.Name + "/" + g.model }

// Generate makes one picture. size is "WIDTHxHEIGHT" in pixels, or "" for the
// model's default; Gemini takes the nearest shape it knows.
func (g *Generator) Generate(ctx context.Context, prompt, size string) (chat.Image, error) {
	prompt = providers.Sanitize(prompt)
	if strings.TrimSpace(prompt) == "" {
		return chat.Image{}, chat.NewError(chat.ClassMisuse, "err.image.prompt", "The description of the picture is empty. Say what it shall show.")
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var data []byte
	var err error
	if g.wire == "gemini" {
		data, err = g.gemini(ctx, prompt, size)
	} else {
		data, err = g.openai(ctx, prompt, size)
	}
	if err != nil {
		return chat.Image{}, err
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return chat.Image{}, g.bad("it sent no picture that can be read")
	}
	return chat.Image{MIME: "image/" + format, Width: cfg.Width, Height: cfg.Height, Size: len(data), Data: data}, nil
}

func (g *Generator) bad(why string) error {
	return chat.NewError(chat.ClassBadRequest, "err.image.bad", "%s made no picture: %s. Change the description or choose another image model.", g.Model(), why)
}

func (g *Generator) post(ctx context.Context, url string, in, to any) error {
	body, err := providers.MarshalBody(in)
	if err != nil {
		return err
	}
	data, err := providers.Fetch(ctx, g.ep, g.wire, http.MethodPost, url, body, maxAnswer)
	if err != nil {
		return err
	}
	if json.Unmarshal(data, to) != nil {
		return g.bad("the answer is no JSON of the expected form")
	}
	return nil
}

func (g *Generator) openai(ctx context.Context, prompt, size string) ([]byte, error) {
	in := map[string]any{"model": g.model, "prompt": prompt, "n": 1}
	if size != "" {
		in["size"] = size
	}
	if !strings.HasPrefix(g.model, "gpt-image") { // which always sends base64 and refuses the word
		in["response_format"] = "b64_json"
	}
	var a struct {
		Data []struct {
			B64 string `json:"b64_json"`
		} `json:"data"`
	}
	if err := g.post(ctx, strings.TrimRight(g.ep.BaseURL, "/")+"/images/generations", in, &a); err != nil {
		return nil, err
	}
	if len(a.Data) == 0 || a.Data[0].B64 == "" {
		return nil, g.bad("the answer holds none")
	}
	return decode(g, a.Data[0].B64)
}

func decode(g *Generator, s string) ([]byte, error) {
	if _, after, ok := strings.Cut(s, ";base64,"); ok {
		s = after
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, g.bad("it is not encoded as agreed")
	}
	return data, nil
}

// shapes are the aspect ratios that Gemini takes.
var shapes = []struct {
	name  string
	ratio float64
}{{"1:1", 1}, {"3:4", 3. / 4}, {"4:3", 4. / 3}, {"9:16", 9. / 16}, {"16:9", 16. / 9}}

// shape is the nearest aspect ratio for a size, "" for none.
func shape(size string) string {
	w, h, ok := strings.Cut(size, "x")
	var a, b float64
	if !ok || json.Unmarshal([]byte(w), &a) != nil || json.Unmarshal([]byte(h), &b) != nil || a <= 0 || b <= 0 {
		return ""
	}
	best, at := "", 0.
	for _, s := range shapes {
		d := max(a/b/s.ratio, s.ratio/(a/b))
		if best == "" || d < at {
			best, at = s.name, d
		}
	}
	return best
}

// gemini asks an image model of the Gemini family, or Imagen by its own method.
func (g *Generator) gemini(ctx context.Context, prompt, size string) ([]byte, error) {
	base := strings.TrimSuffix(strings.TrimRight(g.ep.BaseURL, "/"), "/v1beta") + "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(g.model, "models/"))
	if strings.Contains(g.model, "imagen") {
		params := map[string]any{"sampleCount": 1}
		if s := shape(size); s != "" {
			params["aspectRatio"] = s
		}
		var a struct {
			Predictions []struct {
				Data string `json:"bytesBase64Encoded"`
			} `json:"predictions"`
		}
		if err := g.post(ctx, base+":predict", map[string]any{"instances": []any{map[string]string{"prompt": prompt}}, "parameters": params}, &a); err != nil {
			return nil, err
		}
		if len(a.Predictions) == 0 {
			return nil, g.bad("the answer holds none")
		}
		return decode(g, a.Predictions[0].Data)
	}
	conf := map[string]any{"responseModalities": []string{"TEXT", "IMAGE"}}
	if s := shape(size); s != "" {
		conf["imageConfig"] = map[string]string{"aspectRatio": s}
	}
	var a struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text   string `json:"text"`
					Inline *struct {
						Data string `json:"data"`
					} `json:"inlineData"`
				} `json:"parts"`
			} `json:"content"`
			Finish string `json:"finishReason"`
		} `json:"candidates"`
		Feedback struct {
			Block string `json:"blockReason"`
		} `json:"promptFeedback"`
	}
	in := map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]string{"text": prompt}}}}, "generationConfig": conf}
	if err := g.post(ctx, base+":generateContent", in, &a); err != nil {
		return nil, err
	}
	why := "the answer holds none"
	if a.Feedback.Block != "" {
		why = "the description was blocked (" + a.Feedback.Block + ")"
	}
	for _, c := range a.Candidates {
		for _, p := range c.Content.Parts {
			if p.Inline != nil && p.Inline.Data != "" {
				return decode(g, p.Inline.Data)
			}
			if p.Text != "" {
				why = "it said: " + providers.Redact(p.Text)
			}
		}
	}
	return nil, g.bad(why)
}
