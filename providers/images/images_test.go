package images

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
)

// vendor answers every request with one body and keeps what it was asked.
func vendor(t *testing.T, status int, answer string) (url string, asked func() (path, auth string, body map[string]any)) {
	t.Helper()
	var path, auth string
	var body map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")+r.Header.Get("X-Goog-Api-Key")
		b, _ := io.ReadAll(r.Body)
		body = nil
		_ = json.Unmarshal(b, &body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() (string, string, map[string]any) { return path, auth, body }
}

func generator(url, wire, compat, model string) *Generator {
	return New(func() (Target, error) {
		return Target{Endpoint: providers.Endpoint{
			Name: "vendor", BaseURL: url, Compat: compat,
			Credentials: providers.StaticCredentials{Token: "image-key"},
		}, Wire: wire, Model: model}, nil
	})
}

func TestEachVendorIsAskedInItsOwnWay(t *testing.T) {
	pic := base64.StdEncoding.EncodeToString([]byte("picture"))
	for _, c := range []struct {
		wire, compat, model, size, answer string
		path, auth                        string
		want                              map[string]string // field → its JSON
		absent                            []string
	}{
		{"openai-chat", "", "dall-e-3", "1024x1024", `{"data":[{"b64_json":"` + pic + `"}]}`, "/v1/images/generations", "Bearer image-key",
			map[string]string{"size": `"1024x1024"`, "response_format": `"b64_json"`, "prompt": `"a perch"`}, nil},
		{"openai-responses", "", "gpt-image-1", "1536x1024", `{"data":[{"b64_json":"` + pic + `"}]}`, "/v1/images/generations", "Bearer image-key",
			map[string]string{"size": `"1536x1024"`, "model": `"gpt-image-1"`}, []string{"response_format"}},
		{"openai-chat", "xai", "grok-2-image", "512x512", `{"data":[{"b64_json":"` + pic + `"}]}`, "/v1/images/generations", "Bearer image-key",
			map[string]string{"response_format": `"b64_json"`}, []string{"size"}},
		{"openai-chat", "together", "flux", "512x256", `{"data":[{"b64_json":"` + pic + `"}]}`, "/v1/images/generations", "Bearer image-key",
			map[string]string{"width": "512", "height": "256"}, []string{"size"}},
		{"gemini", "", "gemini-2.5-flash-image", "1920x1080", `{"candidates":[{"content":{"parts":[{"text":"Here it is"},{"inlineData":{"mimeType":"image/png","data":"` + pic + `"}}]}}]}`,
			"/v1/v1beta/models/gemini-2.5-flash-image:generateContent", "image-key",
			map[string]string{"generationConfig": `{"imageConfig":{"aspectRatio":"16:9"},"responseModalities":["TEXT","IMAGE"]}`}, nil},
		{"gemini", "", "imagen-4.0", "600x800", `{"predictions":[{"bytesBase64Encoded":"` + pic + `"}]}`, "/v1/v1beta/models/imagen-4.0:predict", "image-key",
			map[string]string{"parameters": `{"aspectRatio":"3:4","sampleCount":1}`}, nil},
	} {
		url, asked := vendor(t, 200, c.answer)
		got, err := generator(url+"/v1/", c.wire, c.compat, c.model).Generate(context.Background(), "a perch", c.size)
		path, auth, body := asked()
		if err != nil || string(got) != "picture" || path != c.path || auth != c.auth {
			t.Errorf("%s %s: %q %v, path %s, auth %q", c.wire, c.model, got, err, path, auth)
		}
		for k, want := range c.want {
			if b, _ := json.Marshal(body[k]); string(b) != want {
				t.Errorf("%s %s: %s is %s, want %s", c.wire, c.model, k, b, want)
			}
		}
		for _, k := range c.absent {
			if _, ok := body[k]; ok {
				t.Errorf("%s %s: %s was sent", c.wire, c.model, k)
			}
		}
	}
}

func TestPicturesThatDoNotComeSayWhy(t *testing.T) {
	for _, c := range []struct {
		name, wire, model, size string
		status                  int
		answer, want            string
		class                   chat.Class
	}{
		{"refused", "gemini", "g", "1x1", 200, `{"promptFeedback":{"blockReason":"SAFETY"}}`, "SAFETY", chat.ClassRefusal},
		{"only words", "gemini", "g", "1x1", 200, `{"candidates":[{"content":{"parts":[{"text":"I would rather not."}]}}]}`, "rather not", chat.ClassRefusal},
		{"filtered", "gemini", "imagen-x", "1x1", 200, `{"predictions":[{"raiFilteredReason":"people"}]}`, "people", chat.ClassRefusal},
		{"nothing", "openai-chat", "m", "1x1", 200, `{"data":[]}`, "without a picture", chat.ClassBadRequest},
		{"an address", "openai-chat", "m", "1x1", 200, `{"data":[{"url":"http://x"}]}`, "without a picture", chat.ClassBadRequest},
		{"no base64", "openai-chat", "m", "1x1", 200, `{"data":[{"b64_json":"!!"}]}`, "without a picture", chat.ClassBadRequest},
		{"no json", "openai-chat", "m", "1x1", 200, `<html>`, "no JSON", chat.ClassBadRequest},
		{"key refused", "openai-chat", "m", "1x1", 401, `{"error":{"message":"bad key"}}`, "", chat.ClassAuth},
		{"other wire", "anthropic", "m", "1x1", 200, `{}`, "makes no pictures", chat.ClassMisuse},
		{"bad size", "openai-chat", "m", "big", 200, `{}`, "no size", chat.ClassInternal},
	} {
		url, _ := vendor(t, c.status, c.answer)
		_, err := generator(url, c.wire, "", c.model).Generate(context.Background(), "x", c.size)
		if err == nil || !strings.Contains(err.Error(), c.want) || chat.ClassOf(err) != c.class || strings.Contains(err.Error(), "image-key") {
			t.Errorf("%s: %v (%s)", c.name, err, chat.ClassOf(err))
		}
	}
	broken := errors.New("no image model is set; set [image] in config.toml")
	if _, err := New(func() (Target, error) { return Target{}, broken }).Generate(context.Background(), "x", "1x1"); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
