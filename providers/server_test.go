package providers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"perch/chat"
	"perch/providers"
	"perch/providers/openaichat"
	"perch/providers/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	piece = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"
	ended = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
)

// script is a transport whose body is written by a function as time passes.
type script struct {
	header time.Duration // before the response
	write  func(ctx context.Context, w *io.PipeWriter)
}

func (s script) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.header):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	pr, pw := io.Pipe()
	go func() { s.write(r.Context(), pw); pw.Close() }()
	stop := context.AfterFunc(r.Context(), func() { pr.CloseWithError(r.Context().Err()) })
	_ = stop
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: pr, Request: r}, nil
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func server(rt http.RoundTripper, change func(*providers.Endpoint)) providers.Provider {
	ep := providers.Endpoint{Name: "v", BaseURL: "http://v.test/v1", NoKey: true, Client: &http.Client{Transport: rt}}
	if change != nil {
		change(&ep)
	}
	return openaichat.New(ep)
}

func plain() providers.Request {
	r := providertest.Request("v", "m")
	r.Model.Reasoning = false
	return r
}

func TestSilenceEndsTheRequest(t *testing.T) {
	forever := func(ctx context.Context, w *io.PipeWriter) {
		for wait(ctx, 5*time.Second) {
			fmt.Fprint(w, ": keep-alive\n\n")
		}
	}
	afterOne := func(ctx context.Context, w *io.PipeWriter) { fmt.Fprint(w, piece); forever(ctx, w) }
	for name, c := range map[string]struct {
		s      script
		local  bool
		thinks bool
		idle   time.Duration
		want   time.Duration
	}{
		"no response":                    {s: script{header: time.Hour}, want: 120 * time.Second},
		"only keep-alive comments":       {s: script{write: forever}, want: 120 * time.Second},
		"a local server gets longer":     {s: script{write: forever}, local: true, want: 600 * time.Second},
		"a thinking model gets longer":   {s: script{write: forever}, thinks: true, want: 600 * time.Second},
		"silence after content":          {s: script{write: afterOne}, want: 90 * time.Second},
		"silence of a thinking model":    {s: script{write: afterOne}, thinks: true, want: 300 * time.Second},
		"a limit of the user's settings": {s: script{write: afterOne}, idle: 20 * time.Second, want: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := server(c.s, func(e *providers.Endpoint) { e.Local, e.Idle = c.local, c.idle })
				req := plain()
				req.Model.Reasoning = c.thinks
				start := time.Now()
				got := providertest.Drain(t.Context(), p, req)
				if chat.ClassOf(got.Err) != chat.ClassTransient {
					t.Fatalf("%v", got.Err)
				}
				if d := time.Since(start); d < c.want || d > c.want+3*time.Second {
					t.Errorf("after %s, want %s", d, c.want)
				}
			})
		})
	}
}

func TestASlowButLivingStreamIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := server(script{header: 100 * time.Second, write: func(ctx context.Context, w *io.PipeWriter) {
			for range 5 {
				wait(ctx, 80*time.Second)
				fmt.Fprint(w, piece)
			}
			fmt.Fprint(w, ended)
		}}, func(e *providers.Endpoint) { e.FirstEvent = 200 * time.Second })
		if got := providertest.Drain(t.Context(), p, plain()); got.Err != nil || got.Text != "hihihihihi" {
			t.Errorf("%+v", got)
		}
	})
}

func TestAConsumerThatTakesItsTimeIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := server(&providertest.Player{Body: []byte(piece + piece + ended)}, nil)
		n := 0
		for _, err := range p.Stream(t.Context(), plain()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			time.Sleep(10 * time.Minute)
		}
		if n != 3 {
			t.Errorf("%d events", n)
		}
	})
}

func TestCancelInMidStreamStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := server(script{write: func(ctx context.Context, w *io.PipeWriter) { fmt.Fprint(w, piece); wait(ctx, time.Hour) }}, nil)
		start := time.Now()
		var last error
		for ev, err := range p.Stream(ctx, plain()) {
			if ev.Type == providers.StreamText {
				cancel()
			}
			last = err
		}
		if chat.ClassOf(last) != chat.ClassAborted || time.Since(start) > 50*time.Millisecond {
			t.Errorf("%v after %s", last, time.Since(start))
		}
	})
}

func TestConnectionFaultsAreTransientAndOtherFaultsAreNot(t *testing.T) {
	for name, c := range map[string]struct {
		p    *providertest.Player
		want chat.Class
	}{
		"clean close before the closing event": {&providertest.Player{Body: []byte(piece)}, chat.ClassTransient},
		"finish reason but no closing event":   {&providertest.Player{Body: []byte(piece + strings.TrimSuffix(ended, "data: [DONE]\n\n"))}, chat.ClassTransient},
		"reset in the middle":                  {&providertest.Player{Body: []byte(piece), Err: syscall.ECONNRESET}, chat.ClassTransient},
		"cut body":                             {&providertest.Player{Body: []byte(piece), Err: io.ErrUnexpectedEOF}, chat.ClassTransient},
		"http/2 stream reset":                  {&providertest.Player{Body: []byte(piece), Err: errors.New("stream error: stream ID 3; INTERNAL_ERROR")}, chat.ClassTransient},
		"nobody knows what":                    {&providertest.Player{Body: []byte(piece), Err: errors.New("peculiar")}, chat.ClassInternal},
		"nothing at all":                       {&providertest.Player{}, chat.ClassTransient},
		"only the marker":                      {&providertest.Player{Body: []byte("data: [DONE]\n\n")}, chat.ClassTransient},
		"garbled":                              {&providertest.Player{Body: []byte("data: {\"choi\n\n")}, chat.ClassTransient},
		"a page":                               {&providertest.Player{Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<html>")}, chat.ClassBadRequest},
		"an error object with status 200":      {&providertest.Player{Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"error":{"message":"Invalid API key","code":"invalid_api_key"}}`)}, chat.ClassAuth},
	} {
		got := providertest.Drain(context.Background(), server(c.p, nil), plain())
		if chat.ClassOf(got.Err) != c.want || got.Response != nil {
			t.Errorf("%s: %s %v", name, chat.ClassOf(got.Err), got.Err)
		}
	}
}

func TestAStreamUnderAWrongNameIsRead(t *testing.T) {
	for _, kind := range []string{"application/json", "text/plain; charset=utf-8", "", "application/octet-stream"} {
		p := &providertest.Player{Header: http.Header{"Content-Type": {kind}}, Body: []byte("\n" + piece + ended)}
		if got := providertest.Drain(context.Background(), server(p, nil), plain()); got.Err != nil || got.Text != "hi" {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}

func TestAMissingKeyIsToldBeforeAnythingIsSent(t *testing.T) {
	p := &providertest.Player{}
	got := providertest.Drain(context.Background(), server(p, func(e *providers.Endpoint) { e.NoKey = false }), plain())
	if chat.ClassOf(got.Err) != chat.ClassAuth || len(p.Requests) != 0 || !strings.Contains(got.Err.Error(), "perch auth login v") {
		t.Errorf("%v", got.Err)
	}
}

// renewing hands out a sign-in and one renewal.
type renewing struct{ renewals int }

func (r *renewing) Credential(context.Context, string) (providers.Credential, error) {
	return providers.Credential{Token: "old-token", OAuth: true}, nil
}

func (r *renewing) Renew(_ context.Context, _ string, c providers.Credential) (providers.Credential, error) {
	r.renewals++
	return providers.Credential{Token: "new-token", OAuth: true}, nil
}

func TestARefusedSignInIsRenewedOnce(t *testing.T) {
	var seen []string
	good := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer new-token" || !good {
			w.WriteHeader(401)
			return
		}
		fmt.Fprint(w, piece+ended)
	}))
	defer srv.Close()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, good = range []bool{true, false} {
		r := &renewing{}
		got := providertest.Drain(context.Background(), server(nil, func(e *providers.Endpoint) {
			e.BaseURL, e.Client, e.Credentials, e.NoKey = srv.URL, c, r, false
		}), plain())
		if good && got.Err != nil || !good && chat.ClassOf(got.Err) != chat.ClassAuth || r.renewals != 1 {
			t.Errorf("good %v: %v, %d renewals, %v", good, got.Err, r.renewals, seen)
		}
	}
}

func TestARedirectToAnotherHostGetsNoKey(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = true }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/chat/completions?key=x", http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	client, err := providers.NewHTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	got := providertest.Drain(context.Background(), server(nil, func(e *providers.Endpoint) { e.BaseURL, e.Client = srv.URL, client }), plain())
	if asked || chat.ClassOf(got.Err) != chat.ClassBadRequest || !strings.Contains(got.Err.Error(), "base_url") {
		t.Errorf("%v, asked %v", got.Err, asked)
	}
}

func TestAnEventOfSixteenMegabytesIsRead(t *testing.T) {
	big := strings.Repeat("x", 16<<20)
	body := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + big + "\"}}]}\n\n" + ended
	for _, size := range []int{1 << 20, 1 << 10} { // in small reads it must not cost quadratic time
		start := time.Now()
		got := providertest.Drain(context.Background(), server(&providertest.Player{Body: []byte(body), Piece: func() int { return size }}, nil), plain())
		if got.Err != nil || len(got.Text) != len(big) {
			t.Error(got.Err, len(got.Text))
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s in pieces of %d", d, size)
		}
	}
}

func TestConnectionRefusedSaysWhatToDo(t *testing.T) {
	srv := httptest.NewServer(nil)
	url := srv.URL
	srv.Close()
	got := providertest.Drain(context.Background(), server(nil, func(e *providers.Endpoint) { e.BaseURL, e.Client = url, &http.Client{Transport: &http.Transport{}} }), plain())
	if chat.ClassOf(got.Err) != chat.ClassTransient || !strings.Contains(got.Err.Error(), "base_url") {
		t.Error(got.Err)
	}
}
