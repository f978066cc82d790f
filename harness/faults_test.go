package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/harness"
	"perch/harness/harnesstest"
	"perch/providers"
	"perch/providers/openaichat"
	"perch/store"
)

const (
	sseHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	textPart = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"part of it \"}}]}\n\n"
	argsPart = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"a\\\": \"}}]}}]}\n\n"
	ending   = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
)

// status is a whole HTTP answer with a body.
func status(code int, header, body string) func(net.Conn) {
	return func(c net.Conn) {
		fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s", code, http.StatusText(code), len(body), header, body)
	}
}

// says writes raw bytes and closes cleanly.
func says(parts ...string) func(net.Conn) {
	return func(c net.Conn) {
		for _, p := range parts {
			c.Write([]byte(p))
		}
	}
}

// resets writes raw bytes and breaks the connection.
func resets(parts ...string) func(net.Conn) {
	return func(c net.Conn) {
		says(parts...)(c)
		c.(*net.TCPConn).SetLinger(0)
	}
}

// stalls writes raw bytes, then a piece every 20 ms, until the client has gone.
func stalls(every string, parts ...string) func(net.Conn) {
	return func(c net.Conn) {
		says(parts...)(c)
		for {
			if _, err := c.Write([]byte(every)); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // the fault itself: a server that drips
		}
	}
}

func errBody(kind, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":%q}}`, message, kind, kind)
}

// faulty is a server on loopback that treats each connection with the next of
// its behaviours, the last one for ever.
func faulty(t *testing.T, behaviour ...func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	closed := false
	wg.Add(1)
	go func() {
		defer wg.Done()
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if closed {
				c.Close()
			}
			conns[c] = true
			mu.Unlock()
			f := behaviour[min(n, len(behaviour)-1)]
			wg.Add(1)
			go func() {
				defer wg.Done()
				defer c.Close()
				buf := make([]byte, 64<<10)
				if _, err := c.Read(buf); err == nil {
					f(c)
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		closed = true
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

func TestFaultMatrix(t *testing.T) {
	answer := says(sseHead, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"whole\"}}]}\n\n", ending)
	refused := func() string { // a port on which nothing listens
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		defer l.Close()
		return "http://" + l.Addr().String()
	}()
	overflow := errBody("context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens")
	for _, c := range []struct {
		name      string
		url       string
		fault     func(net.Conn)
		recovers  bool // the second attempt succeeds
		class     chat.Class
		says      string
		keepsPart bool
	}{
		{name: "429 with retry-after 0", fault: status(429, "Retry-After: 0\r\n", errBody("rate_limit", "slow down")), recovers: true, class: chat.ClassRateLimit},
		{name: "429 with half a second", fault: status(429, "Retry-After: 0.05\r\n", errBody("rate_limit", "slow down")), recovers: true, class: chat.ClassRateLimit},
		{name: "429 with milliseconds", fault: status(429, "Retry-After-Ms: 30\r\n", errBody("rate_limit", "slow down")), recovers: true, class: chat.ClassRateLimit},
		{name: "429 with a date in the past", fault: status(429, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n", errBody("rate_limit", "slow down")), recovers: true, class: chat.ClassRateLimit},
		{name: "429 with an hour", fault: status(429, "Retry-After: 3600\r\n", errBody("rate_limit", "slow down")), class: chat.ClassRateLimit, says: "Try again"},
		{name: "429 for quota", fault: status(429, "", errBody("insufficient_quota", "You exceeded your current quota")), class: chat.ClassQuota},
		{name: "500", fault: status(500, "Retry-After: 0\r\n", errBody("server_error", "oops")), recovers: true, class: chat.ClassTransient},
		{name: "503 with a hint", fault: status(503, "Retry-After: 0\r\n", ""), recovers: true, class: chat.ClassTransient},
		{name: "529 with a hint", fault: status(529, "Retry-After: 0\r\n", errBody("overloaded_error", "Overloaded")), recovers: true, class: chat.ClassTransient},
		{name: "connection refused", url: refused, class: chat.ClassTransient, says: "base_url"},
		{name: "reset before headers", fault: resets(), recovers: true, class: chat.ClassTransient},
		{name: "reset after headers", fault: resets(sseHead), recovers: true, class: chat.ClassTransient},
		{name: "reset in mid-text", fault: resets(sseHead, textPart), recovers: true, class: chat.ClassTransient, keepsPart: true},
		{name: "reset in mid-arguments", fault: resets(sseHead, argsPart), recovers: true, class: chat.ClassTransient},
		{name: "clean close without the closing event", fault: says(sseHead, textPart), recovers: true, class: chat.ClassTransient, keepsPart: true},
		{name: "error event in a 200", fault: says(sseHead, textPart, "data: "+errBody("server_error", "the engine died")+"\n\n"), recovers: true, class: chat.ClassTransient, keepsPart: true},
		{name: "deterministic error event in a 200", fault: says(sseHead, "data: "+errBody("invalid_request_error", "bad schema")+"\n\n"), class: chat.ClassBadRequest},
		{name: "stall before the first event", fault: stalls("", sseHead), recovers: true, class: chat.ClassTransient},
		{name: "stall in mid-stream with keep-alive comments", fault: stalls(": ping\n\n", sseHead, textPart), recovers: true, class: chat.ClassTransient, keepsPart: true},
		{name: "garbage", fault: says("SSH-2.0-OpenSSH_9.2\r\n"), recovers: true},
		{name: "wrong content type", fault: says("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>sign in</html>"), says: "base_url"},
		{name: "redirect", fault: says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), class: chat.ClassBadRequest},
		{name: "401", fault: status(401, "", errBody("invalid_api_key", "Incorrect API key provided")), class: chat.ClassAuth},
		{name: "402", fault: status(402, "", errBody("", "Payment required")), class: chat.ClassPayment},
		{name: "403", fault: status(403, "", errBody("", "no access")), class: chat.ClassPermission},
		{name: "404", fault: status(404, "", errBody("model_not_found", "The model `m` does not exist")), class: chat.ClassUnknownModel},
		{name: "413", fault: status(413, "", errBody("", "too large")), class: chat.ClassOverflow},
		{name: "overflow", fault: status(400, "", overflow), class: chat.ClassOverflow, says: "history"},
		{name: "malformed request", fault: status(400, "", errBody("invalid_request_error", "tools.0 is wrong")), class: chat.ClassBadRequest},
		{name: "reset in a huge event", fault: resets(sseHead, "data: {\"choices\":[{\"delta\":{\"content\":\""+strings.Repeat("x", 1<<20)), recovers: true, class: chat.ClassTransient},
	} {
		for _, again := range []bool{true, false} {
			if again && !c.recovers {
				continue
			}
			name := c.name
			if again {
				name += ", then well"
			}
			t.Run(name, func(t *testing.T) {
				url := c.url
				if url == "" {
					if again {
						url = faulty(t, c.fault, answer)
					} else {
						url = faulty(t, c.fault)
					}
				}
				res, shown, h := runAgainst(t, url, 300*time.Millisecond)
				if again {
					if res.StopReason != chat.StopEnd || res.Text != "whole" || shown != "whole" || res.Retries != 1 || len(h) != 2 {
						t.Fatalf("outcome %s %v, text %q, shown %q, %d retries, %d messages", res.StopReason, res.Error, res.Text, shown, res.Retries, len(h))
					}
					return
				}
				if res.Error == nil || (c.class != "" && res.Error.Class != c.class) || !strings.Contains(res.Error.Message, c.says) {
					t.Fatalf("%+v", res.Error)
				}
				if (len(h) == 2) != c.keepsPart || !chat.Paired(h) {
					t.Errorf("%d messages in the store", len(h))
				}
				if c.keepsPart && (!h[1].Interrupted || h[1].PlainText() != "part of it ") {
					t.Errorf("kept: %+v", h[1])
				}
				t.Logf("| %s | %s | %s | %d messages |", c.name, res.Error.Class, res.Error.Message, len(h))
			})
		}
	}
}

// runAgainst asks one question of a faulty server, with one retry and a limit of
// silence.
func runAgainst(t *testing.T, url string, silence time.Duration) (chat.Result, string, []chat.Message) {
	t.Helper()
	client, err := providers.NewHTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	p := openaichat.New(providers.Endpoint{
		Name: "local", BaseURL: url, NoKey: true, Credentials: providers.StaticCredentials{}, Client: client,
		FirstEvent: silence, Idle: silence,
	})
	r := &rig{t: t, s: store.NewMemory(), cfg: config.Default()}
	r.cfg.WorkingDir, r.cfg.Limits.Retries = t.TempDir(), 1
	r.o = harness.Options{
		Store: r.s, Config: func() config.Config { return r.cfg },
		Models:    harnesstest.Models{Provider: p, Info: harnesstest.Info(100_000)},
		Estimator: func(providers.ModelInfo) harness.Estimator { return harnesstest.Words{} },
		Tools:     func(context.Context) []chat.Tool { return []chat.Tool{harnesstest.Text("look", "seen")} },
	}
	if err := r.s.Create(chat.SessionMeta{ID: "s1", Created: time.Now(), Used: time.Now()}); err != nil {
		t.Fatal(err)
	}
	res := r.ask(t.Context(), "q")
	return res, r.shown(), r.history()
}

func TestSlowAndHugeAnswersAreWhole(t *testing.T) {
	drip := func(c net.Conn) {
		for _, b := range []byte(sseHead + textPart + ending) {
			c.Write([]byte{b})
		}
	}
	big := strings.Repeat("a long line ", 200_000) // 2.4 MB in one event
	huge := says(sseHead, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\""+big+"\"}}]}\n\n", ending)
	for name, c := range map[string]struct {
		fault func(net.Conn)
		want  string
	}{"a byte at a time": {drip, "part of it "}, "an event of 2.4 MB": {huge, big}} {
		t.Run(name, func(t *testing.T) {
			res, shown, _ := runAgainst(t, faulty(t, c.fault), 20*time.Second)
			if res.Text != c.want || shown != c.want || res.Retries != 0 {
				t.Errorf("%d of %d bytes, %d retries, %v", len(res.Text), len(c.want), res.Retries, res.Error)
			}
		})
	}
}

func TestStopInTheMiddleOfArgumentsRunsNothing(t *testing.T) {
	url := faulty(t, stalls(": ping\n\n", sseHead, textPart, argsPart))
	client, err := providers.NewHTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	r := newRig(t)
	p := openaichat.New(providers.Endpoint{Name: "local", BaseURL: url, NoKey: true, Credentials: providers.StaticCredentials{}, Client: client})
	r.o.Models = harnesstest.Models{Provider: p, Info: harnesstest.Info(100_000)}
	r.o.Tools = func(context.Context) []chat.Tool {
		return []chat.Tool{harnesstest.Tool{Name: "look", Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
			t.Error("half a call was run")
			return chat.ToolResult{}, nil
		}}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stopped time.Time
	for e, err := range harness.New(r.o).Stream(ctx, harness.Request{Session: "s1", Text: "q"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *chat.TextDelta:
			time.AfterFunc(100*time.Millisecond, func() { stopped = time.Now(); cancel() })
		case *chat.Done:
			if took := time.Since(stopped); e.Result.StopReason != chat.StopAborted || took > 100*time.Millisecond {
				t.Errorf("%s after %v", e.Result.StopReason, took)
			}
		}
	}
	if h := r.history(); len(h) != 2 || !h[1].Interrupted || h[1].HasCalls() {
		t.Errorf("history: %+v", h)
	}
	r.checkHistory()
}
