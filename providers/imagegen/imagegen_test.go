package imagegen

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/providertest"
)

func TestEachWireGivesAPicture(t *testing.T) {
	pic := providertest.Picture(6, 4)
	b64 := base64.StdEncoding.EncodeToString(pic.Data)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/images/generations":
			fmt.Fprintf(w, `{"data":[{"b64_json":%q}]}`, b64)
		case "/v1beta/models/flash-image:generateContent":
			fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[{"text":"here"},{"inlineData":{"mimeType":"image/png","data":%q}}]}}]}`, b64)
		case "/v1beta/models/imagen-4:predict":
			fmt.Fprintf(w, `{"predictions":[{"bytesBase64Encoded":%q}]}`, b64)
		default:
			fmt.Fprint(w, `{"promptFeedback":{"blockReason":"SAFETY"}}`)
		}
	}))
	defer srv.Close()
	for _, c := range []struct{ wire, base, model string }{
		{"openai-chat", srv.URL + "/v1", "gpt-image-1"}, {"gemini", srv.URL, "flash-image"}, {"gemini", srv.URL, "imagen-4"},
	} {
		g, err := New(providers.Endpoint{Name: "v", BaseURL: c.base, NoKey: true, Client: srv.Client()}, c.wire, c.model)
		if err != nil {
			t.Fatal(err)
		}
		img, err := g.Generate(context.Background(), "a bird", "1024x768")
		if err != nil || img.Width != 6 || img.Height != 4 || img.MIME != "image/png" {
			t.Errorf("%v: %+v %v", c, img.Width, err)
		}
	}
	g, _ := New(providers.Endpoint{Name: "v", BaseURL: srv.URL, NoKey: true, Client: srv.Client()}, "gemini", "other")
	if _, err := g.Generate(context.Background(), "x", ""); chat.ClassOf(err) != chat.ClassBadRequest {
		t.Error(err)
	}
}

func TestTheNearestShapeIsTaken(t *testing.T) {
	for size, want := range map[string]string{"1024x1024": "1:1", "1920x1080": "16:9", "800x600": "4:3", "600x1000": "9:16", "": "", "axb": ""} {
		if got := shape(size); got != want {
			t.Errorf("%s: %s, want %s", size, got, want)
		}
	}
}
