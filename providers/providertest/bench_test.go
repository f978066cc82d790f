package providertest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"perch/providers/providertest"
)

// streams are long answers in each wire: n pieces of text.
func streams(n int) map[string][]byte {
	const text = " word and"
	var a, c, r, g, o bytes.Buffer
	fmt.Fprint(&a, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	fmt.Fprint(&r, "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\"}}\n\n")
	for i := range n {
		fmt.Fprintf(&a, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n", text)
		fmt.Fprintf(&c, "data: {\"id\":\"chatcmpl-AbCdEfGhIjKl\",\"object\":\"chat.completion.chunk\",\"created\":1764296393,\"model\":\"gpt-4o\",\"system_fingerprint\":\"fp_1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n", text)
		fmt.Fprintf(&r, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":%q,\"logprobs\":[],\"sequence_number\":%d}\n\n", text, i)
		fmt.Fprintf(&g, "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": %q}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 157,\"candidatesTokenCount\": %d,\"totalTokenCount\": 611},\"modelVersion\": \"gemini-3\",\"responseId\": \"UwCzaa\"}\n\n", text, i)
		fmt.Fprintf(&o, "{\"model\":\"gemma3:1b\",\"created_at\":\"2025-08-20T13:48:24.316155Z\",\"message\":{\"role\":\"assistant\",\"content\":%q},\"done\":false}\n", text)
	}
	fmt.Fprint(&a, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	fmt.Fprint(&c, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	fmt.Fprint(&r, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\n")
	fmt.Fprint(&g, "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\"}]},\"finishReason\": \"STOP\",\"index\": 0}]}\n\n")
	fmt.Fprint(&o, "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n")
	return map[string][]byte{"anthropic": a.Bytes(), "chat": c.Bytes(), "responses": r.Bytes(), "gemini": g.Bytes(), "ollama": o.Bytes()}
}

// bare reads the lines of a stream and decodes each value once, which is the
// least that a reader with encoding/json can do without knowing the format.
func bare(body []byte) int {
	n := 0
	in := bufio.NewScanner(bytes.NewReader(body))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Bytes()
		if b, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			line = b
		}
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		var v any
		if json.Unmarshal(line, &v) == nil {
			n++
		}
	}
	return n
}

const benchPieces = 2000

func BenchmarkDecode(b *testing.B) {
	for name, body := range streams(benchPieces) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := codec(name, name, &providertest.Player{Body: body})
				for _, err := range p.Stream(context.Background(), providertest.Request(name, "m")) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPieces, "ns/event")
		})
		b.Run(name+"/bare", func(b *testing.B) {
			for b.Loop() {
				bare(body)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPieces, "ns/event")
		})
	}
}

// bestOf is the shortest of several runs, which a busy machine disturbs least.
func bestOf(n int, run func()) time.Duration {
	best := time.Hour
	for range n {
		start := time.Now()
		run()
		best = min(best, time.Since(start))
	}
	return best
}

func TestDecodingCostsAtMostHalfMoreThanABareRead(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	const limit = 1.5
	for name, body := range streams(benchPieces) {
		full := bestOf(9, func() {
			for _, err := range codec(name, name, &providertest.Player{Body: body}).Stream(context.Background(), providertest.Request(name, "m")) {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
		floor := bestOf(9, func() { bare(body) })
		t.Logf("%s: %d ns an event, bare %d, ratio %.2f", name, full.Nanoseconds()/benchPieces, floor.Nanoseconds()/benchPieces, float64(full)/float64(floor))
		if float64(full) > limit*float64(floor) {
			t.Errorf("%s: %s, bare %s", name, full, floor)
		}
	}
}

func TestTheCostOfAnEventDoesNotGrowWithTheAnswer(t *testing.T) {
	cost := func(name string, n int) float64 {
		body := streams(n)[name]
		r := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				p := codec(name, name, &providertest.Player{Body: body})
				for _, err := range p.Stream(context.Background(), providertest.Request(name, "m")) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		return float64(r.NsPerOp()) / float64(n)
	}
	if testing.Short() {
		t.Skip("measures time")
	}
	for _, name := range []string{"anthropic"} {
		small, large := cost(name, 500), cost(name, 20000)
		if large > 3*small {
			t.Errorf("%s: %.0f ns an event in a short answer, %.0f in a long one", name, small, large)
		}
	}
}

func TestArgumentsInManyPiecesStayWhole(t *testing.T) {
	var b strings.Builder
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\\\"\"}}]}}]}\n\n")
	for range 8192 {
		b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"12345678\"}}]}}]}\n\n")
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	got := providertest.Drain(context.Background(), codec("chat", "v", &providertest.Player{Body: []byte(b.String())}), providertest.Request("v", "m"))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	c := got.Response.Message.Calls()
	if len(c) != 1 || len(c[0].Input) != 65536+8 {
		t.Fatalf("%d calls", len(c))
	}
	if _, ok := c[0].ValidInput(); !ok {
		t.Error("the arguments are no JSON")
	}
}
