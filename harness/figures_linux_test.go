package harness_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"perch/chat"
	"perch/config"
	"perch/harness"
	"perch/harness/harnesstest"
	"perch/providers"
	"perch/providers/openaichat"
	"perch/store"
)

// figure prints one row of the table that `make bench` gathers.
func figure(t *testing.T, what, value, goal, beside string) {
	t.Logf("FIGURE\tharness\t%s\t%s\t%s\t%s", what, value, goal, beside)
}

// cpu is the processor time of this process.
func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// median runs f several times and returns the median of what it measured.
func median[T int64 | float64 | time.Duration](n int, f func() T) T {
	var all []T
	for range n {
		all = append(all, f())
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// canned is a server that answers every request with the same bytes at once, so
// that it costs next to nothing beside its client.
func canned(t *testing.T, body []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(body)
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String()
}

func textStream(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word%d \"},\"finish_reason\":null}]}\n\n", i)
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

func argStream(pieces int) []byte {
	var b bytes.Buffer
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"a\\\":\\\"\"}}]}}]}\n\n")
	for range pieces {
		b.WriteString("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"abcdefgh\"}}]},\"finish_reason\":null}]}\n\n")
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

// floor reads the stream as a bare client does: a line at a time, each event
// decoded with encoding/json.
func floor(t *testing.T, url string) (d, first time.Duration) {
	start, begin := cpu(), time.Now()
	resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var ev struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					ToolCalls []struct {
						Function struct {
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"delta"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &ev); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = time.Since(begin)
		}
	}
	return cpu() - start, first
}

func wired(t *testing.T, url string, s store.Store, tools ...chat.Tool) harness.Options {
	p := openaichat.New(providers.Endpoint{Name: "local", BaseURL: url, NoKey: true, Local: true, Credentials: providers.StaticCredentials{}, Client: http.DefaultClient})
	cfg := config.Default()
	cfg.WorkingDir = t.TempDir()
	info := harnesstest.Info(10_000_000)
	info.Provider = "local"
	return harness.Options{
		Store: s, Models: harnesstest.Models{Provider: p, Info: info}, Config: func() config.Config { return cfg },
		Estimator: func(providers.ModelInfo) harness.Estimator { return harnesstest.Words{} },
		Tools:     func(context.Context) []chat.Tool { return tools },
	}
}

func drain(t *testing.T, o harness.Options, session string) (d, first time.Duration) {
	if err := o.Store.Create(chat.SessionMeta{ID: session, Created: time.Now(), Used: time.Now()}); err != nil {
		t.Fatal(err)
	}
	start, begin := cpu(), time.Now()
	for e, err := range harness.New(o).Stream(t.Context(), harness.Request{Session: session, Text: "q"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(*chat.TextDelta); ok && first == 0 {
			first = time.Since(begin)
		}
		if d, ok := e.(*chat.Done); ok && d.Result.Error != nil {
			t.Fatal(d.Result.Error)
		}
	}
	return cpu() - start, first
}

// The first of its file: streams that other measurements keep would count.
func TestFiguresOfMemory(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("measures; run `make bench`")
	}
	var before, after runtime.MemStats
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		part := textStream(100)
		part, end := part[:bytes.LastIndex(part, []byte(`data: {"choices":[{"index":0,"delta":{},`))], part[bytes.LastIndex(part, []byte(`data: {"choices":[{"index":0,"delta":{},`)):]
		for range 1000 {
			w.Write(part)
		}
		w.Write(end)
	}))
	defer live.Close()
	o := wired(t, live.URL, store.NewMemory())
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	o.Store.Create(chat.SessionMeta{ID: "peak", Created: time.Now(), Used: time.Now()})
	i := 0
	for range harness.New(o).Stream(t.Context(), harness.Request{Session: "peak", Text: "q"}) {
		if i++; i%5000 == 0 {
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapInuse-min(before.HeapInuse, after.HeapInuse))
		}
	}
	figure(t, "peak memory of a run of 100,000 pieces", fmt.Sprintf("%.0f MB", float64(peak)/1e6), "≤ 30 MB", "")
}

func TestFiguresOfTheRunLoop(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("measures; run `make bench`")
	}
	n := 0
	next := func() string { n++; return fmt.Sprint("s", n) }
	perPiece := map[int]float64{}
	one := wired(t, canned(t, textStream(1)), store.NewMemory())
	drain(t, one, next())
	fixed := median(21, func() time.Duration { d, _ := drain(t, one, next()); return d })
	for _, pieces := range []int{2000, 20_000, 100_000} {
		url := canned(t, textStream(pieces))
		o := wired(t, url, store.NewMemory())
		floor(t, url)
		drain(t, o, next())
		ours := median(5, func() time.Duration { d, _ := drain(t, o, next()); return d })
		base := median(5, func() time.Duration { d, _ := floor(t, url); return d })
		us := float64(ours.Nanoseconds()) / float64(pieces) / 1000
		perPiece[pieces] = float64((ours - fixed).Nanoseconds()) / float64(pieces) / 1000
		figure(t, fmt.Sprintf("CPU a text piece, %d pieces", pieces), fmt.Sprintf("%.2f µs", us), "≤ 5 µs, ≤ 1.5 × floor",
			fmt.Sprintf("floor %.2f µs, %.2f ×", float64(base.Nanoseconds())/float64(pieces)/1000, float64(ours)/float64(base)))
	}
	figure(t, "text piece, 100,000 against 2,000 pieces", fmt.Sprintf("%+.0f %%", 100*(perPiece[100_000]/perPiece[2000]-1)), "within 30 %", fmt.Sprintf("without what a run of one piece costs, %.1f ms", float64(fixed.Microseconds())/1000))

	for _, pieces := range []int{1000, 8000, 25_000} {
		url := canned(t, argStream(pieces))
		p := wired(t, url, store.NewMemory())
		run := func() time.Duration {
			start := cpu()
			prov, info, _ := p.Models.Resolve(t.Context(), "")
			if _, err := prov.Complete(t.Context(), providers.Request{Model: info, MaxOutput: 1000, Messages: []chat.Message{chat.UserText("q")}}); err != nil {
				t.Fatal(err)
			}
			return cpu() - start
		}
		run()
		us := float64(median(5, run).Nanoseconds()) / float64(pieces) / 1000
		base := median(5, func() time.Duration { d, _ := floor(t, url); return d })
		figure(t, fmt.Sprintf("CPU a piece of arguments, %d KB", pieces*8/1000), fmt.Sprintf("%.2f µs", us), "≤ 8 µs, flat to 200 KB", fmt.Sprintf("floor %.2f µs", float64(base.Nanoseconds())/float64(pieces)/1000))
	}

	url := canned(t, textStream(10))
	o := wired(t, url, store.NewMemory())
	ours := median(101, func() time.Duration { _, f := drain(t, o, next()); return f })
	base := median(101, func() time.Duration { _, f := floor(t, url); return f })
	figure(t, "first token over the floor", fmt.Sprintf("%.2f ms", float64((ours-base).Microseconds())/1000), "≤ 0.3 ms", fmt.Sprintf("floor %.2f ms", float64(base.Microseconds())/1000))
}

func TestFiguresOfToolRoundsAndSessions(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("measures; run `make bench`")
	}
	dir := t.TempDir()
	db, err := store.Open(store.Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "img")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	const rounds = 50
	p := harnesstest.NewProvider()
	cfg := config.Default()
	cfg.WorkingDir = dir
	cfg.Limits.Rounds = 1000
	o := harness.Options{
		Store: db, Models: harnesstest.Models{Provider: p, Info: harnesstest.Info(10_000_000)}, Config: func() config.Config { return cfg },
		Estimator: func(providers.ModelInfo) harness.Estimator { return harnesstest.Words{} },
		Tools:     func(context.Context) []chat.Tool { return []chat.Tool{harnesstest.Text("look", "seen")} },
	}
	i := 0
	d := median(5, func() time.Duration {
		i++
		for k := range rounds {
			p.Add(harnesstest.Call("look", fmt.Sprintf(`{"n":%d}`, k)))
		}
		p.Add(harnesstest.Say("ok"))
		d, _ := drain(t, o, fmt.Sprint("rounds", i))
		return d
	})
	figure(t, "CPU a tool round, stored durably", fmt.Sprintf("%.2f ms", float64(d.Microseconds())/rounds/1000), "≤ 1 ms beside the sync", "two synced appends a round")

	var msgs []chat.Message
	text := strings.Repeat("some words of a usual message, ", 32)
	for k := range 2500 {
		id := fmt.Sprint(k)
		msgs = append(msgs,
			chat.Message{ID: "u" + id, Role: chat.RoleUser, Time: time.Now(), Parts: []chat.Part{chat.Text(text)}, Tokens: 9, TokensBy: "words"},
			chat.Message{ID: "a" + id, Role: chat.RoleAssistant, Time: time.Now(), Tokens: 9, TokensBy: "words", Parts: []chat.Part{chat.Text(text), {Type: chat.PartCall, Call: &chat.ToolCall{ID: "c" + id, Name: "look", Input: `{"path":"a/b/c"}`}}}},
			chat.Message{ID: "r" + id, Role: chat.RoleTool, Time: time.Now(), Tokens: 9, TokensBy: "words", Result: &chat.ToolResult{CallID: "c" + id, Name: "look", Text: text}},
			chat.Message{ID: "b" + id, Role: chat.RoleAssistant, Time: time.Now(), Tokens: 9, TokensBy: "words", Parts: []chat.Part{chat.Text(text)}})
	}
	if err := db.Create(chat.SessionMeta{ID: "big", Created: time.Now(), Used: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := db.Rewrite("big", msgs, chat.View{}); err != nil {
		t.Fatal(err)
	}
	msgs = nil
	runtime.GC()
	debug.FreeOSMemory()
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	l, err := db.Load("big")
	if err != nil || len(l.Messages) != 10_000 {
		t.Fatalf("%v", err)
	}
	runtime.GC()
	runtime.ReadMemStats(&b)
	kept := b.HeapAlloc - min(a.HeapAlloc, b.HeapAlloc)
	load := median(5, func() time.Duration { s := cpu(); db.Load("big"); return cpu() - s })
	figure(t, "session of 10,000 messages (11 MB) ready", fmt.Sprintf("%.0f ms CPU, %.0f MB", float64(load.Milliseconds()), float64(kept)/1e6), "≤ 150 ms, ≤ 60 MB", "")
	fix := median(9, func() time.Duration { s := time.Now(); chat.Repair(l.Messages); return time.Since(s) })
	broken := append([]chat.Message{{ID: "x", Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "z"}}}, l.Messages...)
	worst := median(9, func() time.Duration { s := time.Now(); chat.Repair(broken); return time.Since(s) })
	figure(t, "repair of it", fmt.Sprintf("%.2f ms (damaged: %.2f ms)", float64(fix.Microseconds())/1000, float64(worst.Microseconds())/1000), "≤ 5 ms", "")

	raw, err := bbolt.Open(filepath.Join(dir, "raw.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	m := chat.Message{ID: "m", Role: chat.RoleUser, Time: time.Now(), Parts: []chat.Part{chat.Text(text)}}
	value, _ := json.Marshal(m)
	if err := db.Create(chat.SessionMeta{ID: "app", Created: time.Now(), Used: time.Now()}); err != nil {
		t.Fatal(err)
	}
	var ours, bare []time.Duration
	for k := range 200 { // in turns, so that both see the same disk
		m.ID = fmt.Sprint("m", k)
		s := time.Now()
		if err := db.Append("app", m); err != nil {
			t.Fatal(err)
		}
		ours = append(ours, time.Since(s))
		s = time.Now()
		raw.Update(func(tx *bbolt.Tx) error {
			bk, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return bk.Put([]byte(fmt.Sprintf("%08d", k)), value)
		})
		bare = append(bare, time.Since(s))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	figure(t, "append, p50", fmt.Sprintf("%.2f ms", float64(ours[100].Microseconds())/1000), "≤ 1.2 × a bare put", fmt.Sprintf("bare %.2f ms, %.2f ×", float64(bare[100].Microseconds())/1000, float64(ours[100])/float64(bare[100])))
}
