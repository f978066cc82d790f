// Package images makes pictures with the model that the setting [image] names:
// over the image interface of OpenAI and of those who speak it, and over Gemini.
package images

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"perch/chat"
	"perch/providers"
)

// maxAnswer is the most that is read of an answer, in bytes: a picture of
// 2048 × 2048 pixels has some 8 MB in PNG, a third more in base64.
const maxAnswer = 32 << 20

// Target is where pictures are made.
type Target struct {
	Endpoint providers.Endpoint
	Wire     string
	Model    string
}

// Generator makes pictures.
type Generator struct {
	target func() (Target, error)
}

// New returns a generator. target is asked at each picture, so that a change of
// the settings counts at once.
func New(target func() (Target, error)) *Generator { return &Generator{target} }

// Generate makes one picture and returns its bytes. size is "WIDTHxHEIGHT" in
// pixels; a vendor that knows shapes only takes the nearest one.
func (g *Generator) Generate(ctx context.Context, prompt, size string) ([]byte, error) {
	t, err := g.target()
	if err != nil {
		return nil, err
	}
	w, h, err := parseSize(size)
	if err != nil {
		return nil, err
	}
	switch t.Wire {
	case "openai-chat", "openai-responses":
		return openAI(ctx, t, prompt, w, h)
	case "gemini":
		if strings.HasPrefix(t.Model, "imagen") {
			return imagen(ctx, t, prompt, w, h)
		}
		return gemini(ctx, t, prompt, w, h)
	}
	return nil, chat.NewError(chat.ClassMisuse, "err.image.wire",
		"%s makes no pictures that Perch can ask for. Choose another provider under [image] in the settings.", t.Endpoint.Name)
}

func parseSize(s string) (w, h int, err error) {
	a, b, ok := strings.Cut(s, "x")
	if ok {
		w, _ = strconv.Atoi(a)
		h, _ = strconv.Atoi(b)
	}
	if w <= 0 || h <= 0 {
		return 0, 0, fmt.Errorf("%q is no size; write width and height in pixels, such as 1024x1024", s)
	}
	return w, h, nil
}

// post sends a request and reads the answer.
func post(ctx context.Context, t Target, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	data, err := providers.Fetch(ctx, t.Endpoint, t.Wire, http.MethodPost, strings.TrimRight(t.Endpoint.BaseURL, "/")+path, b, maxAnswer)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return chat.NewError(chat.ClassBadRequest, "err.image.answer",
			"%s answered with something that is no JSON. Check base_url in the settings.", t.Endpoint.Name).Wrap(err)
	}
	return nil
}

// openAI asks POST /images/generations.
func openAI(ctx context.Context, t Target, prompt string, w, h int) ([]byte, error) {
	body := map[string]any{"model": t.Model, "prompt": prompt, "n": 1}
	switch t.Endpoint.Compat {
	case "xai": // has one size, and refuses the field
	case "together":
		body["width"], body["height"] = w, h
	default:
		body["size"] = fmt.Sprintf("%dx%d", w, h)
	}
	// The models named gpt-image always answer in base64 and refuse to be told so;
	// all others answer with an address unless told.
	if !strings.Contains(t.Model, "gpt-image") && !strings.HasPrefix(t.Model, "chatgpt-image") {
		body["response_format"] = "b64_json"
		if t.Endpoint.Compat == "together" {
			body["response_format"] = "base64"
		}
	}
	var a struct {
		Data []struct {
			B64 string `json:"b64_json"`
		} `json:"data"`
	}
	if err := post(ctx, t, "/images/generations", body, &a); err != nil {
		return nil, err
	}
	if len(a.Data) == 0 {
		return nil, none(t, "")
	}
	return decode(t, a.Data[0].B64)
}

// gemini asks a model that answers with text and pictures.
func gemini(ctx context.Context, t Target, prompt string, w, h int) ([]byte, error) {
	body := map[string]any{
		"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": prompt}}}},
		"generationConfig": map[string]any{
			"responseModalities": []string{"TEXT", "IMAGE"}, "imageConfig": map[string]any{"aspectRatio": shape(w, h)},
		},
	}
	var a struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text       string `json:"text"`
					InlineData *struct {
						Data string `json:"data"`
					} `json:"inlineData"`
				} `json:"parts"`
			} `json:"content"`
			FinishReason string `json:"finishReason"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
	}
	if err := post(ctx, t, "/v1beta/models/"+url.PathEscape(t.Model)+":generateContent", body, &a); err != nil {
		return nil, err
	}
	why := a.PromptFeedback.BlockReason
	for _, c := range a.Candidates {
		for _, p := range c.Content.Parts {
			if p.InlineData != nil {
				return decode(t, p.InlineData.Data)
			}
			if why == "" {
				why = strings.TrimSpace(p.Text)
			}
		}
		if why == "" {
			why = c.FinishReason
		}
	}
	return nil, none(t, why)
}

// imagen asks a model that makes pictures only.
func imagen(ctx context.Context, t Target, prompt string, w, h int) ([]byte, error) {
	body := map[string]any{
		"instances":  []any{map[string]any{"prompt": prompt}},
		"parameters": map[string]any{"sampleCount": 1, "aspectRatio": shape(w, h)},
	}
	var a struct {
		Predictions []struct {
			Bytes  string `json:"bytesBase64Encoded"`
			Reason string `json:"raiFilteredReason"`
		} `json:"predictions"`
	}
	if err := post(ctx, t, "/v1beta/models/"+url.PathEscape(t.Model)+":predict", body, &a); err != nil {
		return nil, err
	}
	if len(a.Predictions) == 0 {
		return nil, none(t, "")
	}
	if p := a.Predictions[0]; p.Bytes == "" {
		return nil, none(t, p.Reason)
	}
	return decode(t, a.Predictions[0].Bytes)
}

// shape is the nearest of the shapes that Gemini and Imagen know.
func shape(w, h int) string {
	best, distance := "", math.Inf(1)
	for _, s := range []struct {
		name  string
		ratio float64
	}{{"1:1", 1}, {"3:4", 3.0 / 4}, {"4:3", 4.0 / 3}, {"9:16", 9.0 / 16}, {"16:9", 16.0 / 9}} {
		if d := math.Abs(math.Log(float64(w) / float64(h) / s.ratio)); d < distance {
			best, distance = s.name, d
		}
	}
	return best
}

// decode reads the picture's bytes.
func decode(t Target, s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	if err != nil || len(b) == 0 {
		return nil, none(t, "").Wrap(err)
	}
	return b, nil
}

// maxWhy bounds what is repeated of a vendor's reason, in runes.
const maxWhy = 300

// none is the error of an answer without a picture.
func none(t Target, why string) *chat.Error {
	if r := []rune(why); len(r) > maxWhy {
		why = string(r[:maxWhy]) + "…"
	}
	if why != "" {
		return chat.NewError(chat.ClassRefusal, "err.image.refused", "%s made no picture: %s. Describe it in another way.", t.Endpoint.Name, strings.TrimRight(why, "."))
	}
	return chat.NewError(chat.ClassBadRequest, "err.image.none",
		"%s answered without a picture. Check that %s makes pictures, or choose another model under [image] in the settings.", t.Endpoint.Name, t.Model)
}
