// Package providertest tests codecs without a network: it plays recorded or
// written streams to a provider, whole or in pieces.
package providertest

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"perch/chat"
	"perch/providers"
)

// Player is an HTTP transport that answers every request with the same
// response and keeps what was asked.
type Player struct {
	Status int // 200 where 0
	Header http.Header
	Body   []byte
	// Piece returns the size of the next piece; nil plays the body whole.
	Piece func() int
	// Err ends the body in place of a clean end.
	Err error

	Requests []*http.Request
	Bodies   [][]byte
}

// RoundTrip answers.
func (p *Player) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	p.Requests, p.Bodies = append(p.Requests, r), append(p.Bodies, body)
	h := p.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	status := p.Status
	if status == 0 {
		status = http.StatusOK
	}
	var out io.Reader = bytes.NewReader(p.Body)
	if p.Piece != nil {
		out = &pieces{out, p.Piece}
	}
	if p.Err != nil {
		out = io.MultiReader(out, failing{p.Err})
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(out), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type pieces struct {
	r    io.Reader
	size func() int
}

func (p *pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), max(1, p.size()))]) }

// RandomPieces returns sizes from 1 to most, the same for the same seed.
func RandomPieces(seed uint64, most int) func() int {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() int { return 1 + r.IntN(most) }
}

// Endpoint is a server that a player stands for.
func Endpoint(name, baseURL string, p *Player) providers.Endpoint {
	return providers.Endpoint{
		Name: name, BaseURL: baseURL, Client: &http.Client{Transport: p},
		Credentials: providers.StaticCredentials{Token: "test-key"},
	}
}

// Streamed is what came out of a stream.
type Streamed struct {
	Text, Thinking string
	Names          []string
	Events         int
	Response       *providers.Response
	Err            error
}

// Drain ranges over a stream.
func Drain(ctx context.Context, p providers.Provider, req providers.Request) Streamed {
	var s Streamed
	for ev, err := range p.Stream(ctx, req) {
		if err != nil {
			s.Err = err
			continue
		}
		s.Events++
		switch ev.Type {
		case providers.StreamText:
			s.Text += ev.Text
		case providers.StreamThinking:
			s.Thinking += ev.Text
		case providers.StreamCall:
			s.Names = append(s.Names, ev.Text)
		case providers.StreamEnd:
			s.Response = ev.Response
		}
	}
	return s
}

// Request is a plain request to a model that can do everything.
func Request(provider, model string) providers.Request {
	return providers.Request{
		Model: providers.ModelInfo{
			Provider: provider, ID: model, ContextWindow: 200_000, MaxOutput: 4096, Vision: true, Reasoning: true, Tools: true, Known: true,
		},
		System: "Be brief.", MaxOutput: 4096, CacheKey: "session-1",
		Messages: []chat.Message{chat.UserText("Hello")},
	}
}

// Shared returns a folder of the recorded data; the test is skipped where it is
// absent.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("PERCH_SHARED")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(root)
			if up == root {
				t.Fatal("no go.mod above the test's folder")
			}
			root = up
		}
		dir = filepath.Join(root, "..", "shared")
	}
	dir = filepath.Join(dir, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded data in %s; set PERCH_SHARED to the folder that holds it", dir)
	}
	return dir
}
