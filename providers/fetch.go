package providers

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"perch/chat"
)

// Fetch makes a request that is no stream (a list of models, embeddings, an
// image) with a provider's credential in the way of its wire, and returns the
// body, which may have limit bytes.
func Fetch(ctx context.Context, ep Endpoint, wire, method, url string, body []byte, limit int64) ([]byte, error) {
	s := NewServer(ep, plainWire{wire})
	call := Call{Method: method, URL: url, Body: body, Header: http.Header{"Accept": {"application/json"}}}
	if wire == "anthropic" {
		call.Header.Set("Anthropic-Version", "2023-06-01")
	}
	resp, err := s.send(ctx, call, "")
	if err != nil {
		return nil, transportError(ep.Name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, s.failure(resp, "").Error()
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, transportError(ep.Name, err)
	}
	if int64(b.Len()) > limit {
		return nil, chat.NewError(chat.ClassBadRequest, "err.provider.too_large", "%s answered with more than %d MB, which is refused.", ep.Name, limit>>20)
	}
	return b.Bytes(), nil
}

// plainWire authorises as a wire does and speaks no stream.
type plainWire struct{ name string }

func (plainWire) Encode(*Request) (Call, error) { return Call{}, nil }
func (plainWire) Decoder(*Request) Decoder      { return nil }
func (plainWire) Check() Call                   { return Call{} }
func (w plainWire) Authorize(h http.Header, c Credential) {
	switch {
	case w.name == "anthropic" && !c.OAuth:
		h.Set("X-Api-Key", c.Token.Reveal())
	case w.name == "gemini" && !c.OAuth:
		h.Set("X-Goog-Api-Key", c.Token.Reveal())
	default:
		h.Set("Authorization", "Bearer "+c.Token.Reveal())
	}
}
