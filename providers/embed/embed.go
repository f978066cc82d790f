// Package embed turns texts into vectors, with the embedding endpoints of
// OpenAI-compatible servers, Gemini and Ollama.
package embed

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strings"

	"perch/chat"
	"perch/providers"
)

const (
	// maxAnswer bounds an answer, in bytes: a batch of 3,072 numbers each has
	// about 4 MB as JSON.
	maxAnswer = 64 << 20
	// geminiBatch and defaultBatch are how many texts go into one request: the
	// vendors' limits are 100 and 2,048; small servers have less memory.
	geminiBatch  = 100
	defaultBatch = 64
	// maxText is the longest text sent, in bytes: embedding models read a few
	// thousand tokens, and many servers refuse what is longer.
	maxText = 24_000
)

// Embedder makes vectors with one model.
type Embedder struct {
	ep    providers.Endpoint
	wire  string
	model string
}

// New makes an embedder. wire is the provider's wire format; Anthropic has no
// embeddings.
func New(ep providers.Endpoint, wire, model string) (*Embedder, error) {
	if model == "" {
		return nil, chat.NewError(chat.ClassMisuse, "err.embed.model", "No embedding model is set. Set embedding.model in the settings.")
	}
	switch wire {
	case "openai-chat", "openai-responses", "gemini", "ollama":
		return &Embedder{ep, wire, model}, nil
	}
	return nil, chat.NewError(chat.ClassMisuse, "err.embed.wire", "%s has no embeddings. Choose another provider in embedding.provider.", ep.Name)
}

// Model is "provider/model", the name under which vectors are kept apart.
func (e *Embedder) Model() string { return e.ep.Name + "/" + e.model }

// Embed returns a vector of length 1 for each text, in order. It makes one
// attempt a batch; retries are the caller's.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	size := defaultBatch
	if e.wire == "gemini" {
		size = geminiBatch
	}
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(size, len(texts))
		batch := make([]string, n)
		for i, s := range texts[:n] {
			batch[i] = clip(s)
		}
		vs, err := e.batch(ctx, batch)
		if err != nil {
			return nil, err
		}
		if len(vs) != n {
			return nil, e.bad("it sent another number of vectors than asked for")
		}
		for _, v := range vs {
			if len(v) == 0 || len(out) > 0 && len(v) != len(out[0]) || !unit(v) {
				return nil, e.bad("a vector is empty, has another length, or is no number")
			}
			out = append(out, v)
		}
		texts = texts[n:]
	}
	return out, nil
}

func (e *Embedder) bad(why string) error {
	return chat.NewError(chat.ClassBadRequest, "err.embed.bad", "The embeddings of %s cannot be used: %s. Choose another embedding model.", e.Model(), why)
}

// clip makes a text that servers take: not empty, not too long, whole letters.
func clip(s string) string {
	s = providers.Sanitize(s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}

// unit scales a vector to length 1; false where that cannot be.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	f := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= f
	}
	return true
}

func (e *Embedder) batch(ctx context.Context, texts []string) ([][]float32, error) {
	base := strings.TrimRight(e.ep.BaseURL, "/")
	switch e.wire {
	case "gemini":
		return e.gemini(ctx, base, texts)
	case "ollama":
		var a struct {
			Embeddings [][]float32 `json:"embeddings"`
		}
		err := e.post(ctx, strings.TrimSuffix(base, "/api")+"/api/embed", map[string]any{"model": e.model, "input": texts, "truncate": true}, &a)
		return a.Embeddings, err
	}
	var a struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := e.post(ctx, base+"/embeddings", map[string]any{"model": e.model, "input": texts, "encoding_format": "float"}, &a); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, d := range a.Data {
		at := i // some servers leave the index out
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(out) || out[at] != nil {
			return nil, e.bad("the vectors have wrong indexes")
		}
		out[at] = d.Embedding
	}
	return out, nil
}

func (e *Embedder) gemini(ctx context.Context, base string, texts []string) ([][]float32, error) {
	name := "models/" + strings.TrimPrefix(e.model, "models/")
	type request struct {
		Model   string `json:"model"`
		Content any    `json:"content"`
	}
	reqs := make([]request, len(texts))
	for i, s := range texts {
		reqs[i] = request{name, map[string]any{"parts": []any{map[string]string{"text": s}}}}
	}
	var a struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	u := strings.TrimSuffix(base, "/v1beta") + "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(name, "models/")) + ":batchEmbedContents"
	if err := e.post(ctx, u, map[string]any{"requests": reqs}, &a); err != nil {
		return nil, err
	}
	out := make([][]float32, len(a.Embeddings))
	for i := range a.Embeddings {
		out[i] = a.Embeddings[i].Values
	}
	return out, nil
}

func (e *Embedder) post(ctx context.Context, url string, in, to any) error {
	body, err := providers.MarshalBody(in)
	if err != nil {
		return err
	}
	data, err := providers.Fetch(ctx, e.ep, e.wire, http.MethodPost, url, body, maxAnswer)
	if err != nil {
		return err
	}
	if json.Unmarshal(data, to) != nil {
		return e.bad("the answer is no JSON of the expected form")
	}
	return nil
}
