package embed_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/embed"
)

// vectors answers in each vendor's form: [length of the text, 1], out of order
// where the form has indexes.
func vectors(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Input    []string `json:"input"`
			Requests []struct {
				Content struct {
					Parts []struct {
						Text string `json:"text"`
					} `json:"parts"`
				} `json:"content"`
			} `json:"requests"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		switch r.URL.Path {
		case "/v1/embeddings":
			type d struct {
				Index     int       `json:"index"`
				Embedding []float64 `json:"embedding"`
			}
			var out []d
			for i := len(in.Input) - 1; i >= 0; i-- {
				out = append(out, d{i, []float64{float64(len(in.Input[i])), 1}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"data": out})
		case "/api/embed":
			var out [][]float64
			for _, s := range in.Input {
				out = append(out, []float64{float64(len(s)), 1})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": out})
		case "/v1beta/models/m:batchEmbedContents":
			type v struct {
				Values []float64 `json:"values"`
			}
			var out []v
			for _, q := range in.Requests {
				out = append(out, v{[]float64{float64(len(q.Content.Parts[0].Text)), 1}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": out})
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestEachWireGivesUnitVectorsInOrder(t *testing.T) {
	srv := vectors(t)
	var texts []string
	for i := range 150 {
		texts = append(texts, strings.Repeat("a", i%7+1))
	}
	for wire, base := range map[string]string{"openai-chat": srv.URL + "/v1", "ollama": srv.URL, "gemini": srv.URL} {
		e, err := embed.New(providers.Endpoint{Name: "v", BaseURL: base, NoKey: true, Client: srv.Client()}, wire, "m")
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Embed(context.Background(), texts)
		if err != nil || len(got) != len(texts) {
			t.Fatalf("%s: %d %v", wire, len(got), err)
		}
		for i, v := range got {
			n := float64(len(texts[i]))
			if want := n / math.Hypot(n, 1); math.Abs(float64(v[0])-want) > 1e-5 {
				t.Fatalf("%s: vector %d is %v, want %v", wire, i, v, want)
			}
		}
	}
}

func TestAMissingModelIsToldByItsClass(t *testing.T) {
	srv := vectors(t)
	e, _ := embed.New(providers.Endpoint{Name: "v", BaseURL: srv.URL + "/other", NoKey: true, Client: srv.Client()}, "openai-chat", "m")
	if _, err := e.Embed(context.Background(), []string{"x"}); chat.ClassOf(err) != chat.ClassUnknownModel {
		t.Error(err)
	}
	if _, err := embed.New(providers.Endpoint{Name: "v"}, "anthropic", "m"); chat.ClassOf(err) != chat.ClassMisuse {
		t.Error(err)
	}
}
