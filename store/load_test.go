package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"perch/chat"
)

// anyText holds what has torn decoders before.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", " ", "\x00", "\u2028", "<b>&\"\\/", "日本\n語", "🙂👨‍👩‍👧", "\xff\xfe", "\\u0041", "\ufffd", "\x1b[31m"}),
	)
}

// anyMessage makes messages of every shape.
func anyMessage() *rapid.Generator[chat.Message] {
	return rapid.Custom(func(t *rapid.T) chat.Message {
		m := chat.Message{
			ID: anyText().Draw(t, "id"), Role: rapid.SampledFrom([]chat.Role{chat.RoleUser, chat.RoleAssistant, chat.RoleTool}).Draw(t, "role"),
			Kind: rapid.SampledFrom([]chat.Kind{"", chat.KindHarness, chat.KindSummary}).Draw(t, "kind"),
		}
		if rapid.Bool().Draw(t, "timed") {
			m.Time = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).In(time.FixedZone("", 60*rapid.IntRange(-700, 700).Draw(t, "zone")))
		}
		image := func() chat.Image {
			return chat.Image{Hash: anyText().Draw(t, "hash"), MIME: "image/png", Width: rapid.Int().Draw(t, "w"), Size: rapid.Int().Draw(t, "size"), Name: anyText().Draw(t, "n")}
		}
		if m.Role == chat.RoleTool {
			m.Result = &chat.ToolResult{
				CallID: anyText().Draw(t, "call"), Name: anyText().Draw(t, "name"), Text: anyText().Draw(t, "text"),
				IsError: rapid.Bool().Draw(t, "err"), Failure: chat.FailTool, Duration: time.Duration(rapid.Int64().Draw(t, "d")),
			}
			for range rapid.IntRange(0, 2).Draw(t, "images") {
				m.Result.Images = append(m.Result.Images, image())
			}
			if rapid.Bool().Draw(t, "sourced") {
				m.Result.Sources = []chat.Source{{Title: "t", Path: anyText().Draw(t, "path")}}
			}
			return m
		}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			p := chat.Part{Type: chat.PartText, Text: anyText().Draw(t, "text"), Signature: anyText().Draw(t, "sig"), VendorID: anyText().Draw(t, "vid"), Refusal: rapid.Bool().Draw(t, "ref")}
			switch rapid.IntRange(0, 3).Draw(t, "type") {
			case 1:
				p.Type, p.Call = chat.PartCall, &chat.ToolCall{ID: anyText().Draw(t, "cid"), Name: "n", Input: anyText().Draw(t, "input")}
			case 2:
				img := image()
				p.Type, p.Image = chat.PartImage, &img
			}
			m.Parts = append(m.Parts, p)
		}
		if rapid.Bool().Draw(t, "used") {
			m.Usage = &chat.Usage{Input: rapid.Int().Draw(t, "in"), Cost: rapid.Float64().Draw(t, "cost")}
		}
		return m
	})
}

// reference is what encoding/json makes of a line.
func reference(line []byte) (chat.Message, error) {
	var m chat.Message
	if err := json.Unmarshal(line, &m); err != nil {
		return m, err
	}
	return m, checkMessage(&m)
}

func sameAsReference(t interface{ Fatalf(string, ...any) }, line []byte) {
	got, err := newDecoder().message(line)
	want, werr := reference(line)
	if (err == nil) != (werr == nil) {
		t.Fatalf("%s\nerror %v, encoding/json %v", line, err, werr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n got %+v\nwant %+v", line, got, want)
	}
}

func TestFastDecoderAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage().Draw(t, "message")
		line, err := encodeMessage(&m)
		if err != nil {
			t.Fatal(err)
		}
		sameAsReference(t, line)
		html, _ := json.Marshal(m)
		sameAsReference(t, html)
	})
	for _, line := range []string{
		``, `null`, `{}`, `[]`, `{"role":"user"}`, `{"role":"user","parts":[]}`, `{"role":"user","parts":null}`, `{"role":"user","id":"a","id":"b"}`,
		`{"ROLE":"user"}`, `{"role":"user","extra":{"a":[1]}}`, `{"role":"user","tokens":01}`, `{"role":"user","tokens":1e2}`, `{"role":"user","tokens":-0}`,
		`{"role":"user","parts":[{"type":"text","text":"\ud83d\ude42\ud800x\u0000\/"}]}`, `{"role":"user"} x`, `{"role":"user",}`,
		`{"role":"user","parts":[{"type":"text","text":"` + "a\x01b" + `"}]}`, `{"role":"user","time":"yesterday"}`, `{"role":"user","usage":{"cost":1e-7}}`,
		`{"role":"user","usage":{"cost":.5}}`, `{"role":"user","usage":{"cost":00.5}}`, `{"role":"user","parts":[{"type":"text","text":"\u+123"}]}`,
		`{"role":"user","parts":[{"type":"image","image":{"data":"aGk="}}]}`, `{"role":"tool"}`, `{"role":"user","interrupted":tru}`, `{"role":"user","tokens":9223372036854775808}`,
	} {
		sameAsReference(t, []byte(line))
	}
}

func FuzzDecode(f *testing.F) {
	m := assistant("m1", "text\n\"x\"", "c1")
	line, _ := encodeMessage(&m)
	f.Add(line)
	f.Add([]byte(`{"role":"tool","result":{"call_id":"a","text":"\ud83d\ude42"}}`))
	f.Fuzz(func(t *testing.T, line []byte) { sameAsReference(t, line) })
}

// bigSession is a history of n messages of about 1.1 KB each, as a coding
// session makes them.
func bigSession(n int) []chat.Message {
	code := strings.Repeat("\tif err := run(ctx, \"name\"); err != nil { // see <doc>\n", 19)
	var out []chat.Message
	for len(out) < n {
		k := len(out)
		a := assistant(fmt.Sprintf("m%d", k+1), code, fmt.Sprintf("c%d", k))
		a.Time, a.Provider, a.Model, a.Stop = time.Unix(1.7e9, 5000), "anthropic", "claude-sonnet", chat.StopTools
		a.Usage = &chat.Usage{Input: k, Output: 300, CacheRead: 5 * k, Cost: 0.0123}
		r := result(fmt.Sprintf("m%d", k+2), fmt.Sprintf("c%d", k), code)
		r.Time = a.Time
		out = append(out, user(fmt.Sprintf("m%d", k), code), a, r, assistant(fmt.Sprintf("m%d", k+3), code))
	}
	return out[:n]
}

func TestTenThousandMessagesLoadWithinTheBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("a figure, not a behaviour")
	}
	dir := t.TempDir()
	b, err := Open(Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "i")})
	must(t, err)
	defer b.Close()
	fill(t, b, "s1")
	must(t, b.Rewrite("s1", bigSession(10000), chat.View{}))
	must(t, b.Close())
	st, _ := os.Stat(filepath.Join(dir, "s.db"))

	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpu()
	b, err = Open(Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "i")})
	must(t, err)
	l, err := b.Load("s1")
	must(t, err)
	used := cpu() - start
	runtime.ReadMemStats(&after)
	t.Logf("%d messages, file of %.1f MB: %v CPU, %.1f MB allocated", len(l.Messages), float64(st.Size())/1e6, used, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
	const budget, memory = 150 * time.Millisecond, 60 << 20
	if !raceEnabled && used > budget {
		t.Errorf("loading took %v of CPU, more than %v", used, budget)
	}
	if after.TotalAlloc-before.TotalAlloc > memory {
		t.Errorf("loading allocated %d bytes, more than %d", after.TotalAlloc-before.TotalAlloc, memory)
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "i")})
	must(b, err)
	defer s.Close()
	fill(b, s, "s1")
	must(b, s.Rewrite("s1", bigSession(10000), chat.View{}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Load("s1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "i")})
	must(b, err)
	defer s.Close()
	fill(b, s, "s1")
	m := user("m", strings.Repeat("x", 1000))
	for b.Loop() {
		must(b, s.Append("s1", m))
	}
}

func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "i")})
	must(b, err)
	defer s.Close()
	fill(b, s, "s1")
	must(b, s.Rewrite("s1", bigSession(10000), chat.View{}))
	for _, words := range []string{"nowhere", "größe nowhere", "context nowhere", "ctx"} {
		b.Run(words, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.List(Query{Search: words}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
