package providertest_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/providertest"
)

// FuzzStream feeds any bytes to every codec: the stream ends with one answer or
// one classed error, whole and in pieces alike, and never with a panic.
func FuzzStream(f *testing.F) {
	apis := []string{"anthropic", "chat", "responses", "gemini", "ollama"}
	for _, body := range streams(3) {
		f.Add(body)
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":{}}}]}}]}\n\n"))
	f.Add([]byte("data: {\"type\":\"content_block_delta\",\"index\":-1,\"delta\":{}}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	if dir := os.Getenv("PERCH_SHARED"); dir != "" {
		_, files := recordings(f)
		for _, file := range files[:min(len(files), 40)] {
			body, _ := load(f, file)
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, api := range apis {
			whole := run(t, api, &providertest.Player{Body: body})
			pieces := run(t, api, &providertest.Player{Body: body, Piece: func() int { return 3 }})
			if (whole.Err == nil) != (pieces.Err == nil) || whole.Text != pieces.Text || !reflect.DeepEqual(whole.Response, pieces.Response) {
				t.Fatalf("%s: whole and pieces differ:\n%+v\n%+v", api, whole, pieces)
			}
		}
	})
}

func run(t *testing.T, api string, p *providertest.Player) providertest.Streamed {
	s := providertest.Streamed{}
	ends := 0
	for ev, err := range codec(api, "v", p).Stream(context.Background(), providertest.Request("v", "m")) {
		if ends > 0 {
			t.Fatalf("%s: an event after the end", api)
		}
		switch {
		case err != nil:
			var e *chat.Error
			if !errors.As(err, &e) || e.Class == "" || e.Message == "" {
				t.Fatalf("%s: unclassed error %v", api, err)
			}
			s.Err = err
			ends++
		case ev.Type == providers.StreamEnd:
			s.Response = ev.Response
			ends++
		case ev.Type == providers.StreamText:
			s.Text += ev.Text
		}
	}
	if ends != 1 {
		t.Fatalf("%s: %d ends", api, ends)
	}
	return s
}
