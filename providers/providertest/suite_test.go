package providertest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"perch/chat"
	"perch/providers"
	"perch/providers/providertest"
)

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// play are the streams of one wire for the scenarios of the suite.
type play struct {
	text, thinking, parallel, noArgs, length, refusal, filter, strange, inStream string
	// begun is a stream that has begun and goes on.
	begun string
}

var plays = map[string]play{
	"anthropic": {
		text:     sse(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":1}}}`, `{"type":"ping"}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo ☕"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`, `{"type":"message_stop"}`),
		thinking: sse(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hmm"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"blob"}}`, `{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"ok"}}`, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence"}}`, `{"type":"message_stop"}`),
		parallel: sse(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"add","input":{}}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"mul","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"y\":"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"2}"}}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
		noArgs:   sse(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"now","input":{}}}`, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
		length:   sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"cut"}}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, `{"type":"message_stop"}`),
		refusal:  sse(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`),
		strange:  sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, `{"type":"brand_new_event"}`, `{"type":"message_delta","delta":{"stop_reason":"brand_new"}}`, `{"type":"message_stop"}`),
		inStream: sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		begun:    sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"begun"}}`),
	},
	"chat": {
		text:     sse(`{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":"Hel"}}]}`, `{"choices":[{"index":0,"delta":{"content":"lo ☕"},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":16,"completion_tokens":7,"total_tokens":23,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2}}}`, `[DONE]`),
		thinking: sse(`{"choices":[{"delta":{"reasoning_content":"hmm"}}]}`, `{"choices":[{"delta":{"content":"ok"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
		parallel: sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"add","arguments":"{\"x\":1}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"mul","arguments":"{\"y\":"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"2}"}}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
		noArgs:   sse(`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"now"}}]},"finish_reason":"stop"}]}`, `[DONE]`),
		length:   sse(`{"choices":[{"delta":{"content":"cut"},"finish_reason":"length"}]}`, `[DONE]`),
		refusal:  sse(`{"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}`, `[DONE]`),
		filter:   sse(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, `[DONE]`),
		strange:  sse(`{"choices":[{"delta":{"content":"x"},"finish_reason":"brand_new"}]}`, `[DONE]`),
		inStream: sse(`{"error":{"code":502,"message":"Provider disconnected"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`),
		begun:    sse(`{"choices":[{"delta":{"content":"begun"}}]}`),
	},
	"responses": {
		text:     sse(`{"type":"response.created","response":{"model":"m"}}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`, `{"type":"response.output_text.delta","output_index":0,"delta":"Hel"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"lo ☕"}`, `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":16,"output_tokens":7,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2}}}}`),
		thinking: sse(`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"hmm"}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"blob"}}`, `{"type":"response.output_text.delta","output_index":1,"delta":"ok"}`, `{"type":"response.completed","response":{"status":"completed"}}`),
		parallel: sse(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"add"}}`, `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"a","name":"mul"}}`, `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"y\":2}"}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\":1}"}`, `{"type":"response.completed","response":{"status":"completed"}}`),
		noArgs:   sse(`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"now","arguments":""}}`, `{"type":"response.completed","response":{"status":"completed"}}`),
		length:   sse(`{"type":"response.output_text.delta","output_index":0,"delta":"cut"}`, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
		refusal:  sse(`{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, `{"type":"response.completed","response":{"status":"completed"}}`),
		filter:   sse(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`),
		strange:  sse(`{"type":"response.brand_new"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"brand_new"}}}`),
		inStream: sse(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"The server had an error"}}}`),
		begun:    sse(`{"type":"response.output_text.delta","output_index":0,"delta":"begun"}`),
	},
	"gemini": {
		text:     sse(`{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}],"usageMetadata":{"promptTokenCount":1}}`, `{"candidates":[{"content":{"parts":[{"text":"lo ☕"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":16,"cachedContentTokenCount":6,"candidatesTokenCount":7}}`),
		thinking: sse(`{"candidates":[{"content":{"parts":[{"text":"hmm","thought":true}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"ok","thoughtSignature":"sig"}]},"finishReason":"STOP"}]}`),
		parallel: sse(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"add","args":{"x":1}}},{"functionCall":{"name":"mul","args":{"y":2}}}]},"finishReason":"STOP"}]}`),
		noArgs:   sse(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"now"}}]},"finishReason":"STOP"}]}`),
		length:   sse(`{"candidates":[{"content":{"parts":[{"text":"cut"}]},"finishReason":"MAX_TOKENS"}]}`),
		filter:   sse(`{"promptFeedback":{"blockReason":"SAFETY"}}`),
		strange:  sse(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"BRAND_NEW"}]}`),
		inStream: sse(`{"error":{"code":503,"status":"UNAVAILABLE","message":"The model is overloaded."}}`),
		begun:    sse(`{"candidates":[{"content":{"parts":[{"text":"begun"}]}}]}`),
	},
	"ollama": {
		text:     `{"model":"m","message":{"content":"Hel"},"done":false}` + "\n" + `{"message":{"content":"lo ☕"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":16,"eval_count":7}` + "\n",
		thinking: `{"message":{"content":"","thinking":"hmm"},"done":false}` + "\n" + `{"message":{"content":"ok"},"done":true,"done_reason":"stop"}` + "\n",
		parallel: `{"message":{"content":"","tool_calls":[{"function":{"name":"add","arguments":{"x":1}}},{"function":{"name":"mul","arguments":{"y":2}}}]},"done":false}` + "\n" + `{"message":{},"done":true,"done_reason":"stop"}` + "\n",
		noArgs:   `{"message":{"tool_calls":[{"function":{"name":"now"}}]},"done":true}` + "\n",
		length:   `{"message":{"content":"cut"},"done":true,"done_reason":"length"}` + "\n",
		strange:  `{"message":{"content":"x"},"done":true,"done_reason":"brand_new"}` + "\n",
		inStream: `{"message":{"content":"a"},"done":false}` + "\n" + `{"error":"an error was encountered while running the model: overloaded"}` + "\n",
		begun:    `{"message":{"content":"begun"},"done":false}` + "\n",
	},
}

// TestSuite runs the same scenarios over every codec.
func TestSuite(t *testing.T) {
	for api, p := range plays {
		stream := func(body string) providertest.Streamed {
			return providertest.Drain(context.Background(), codec(api, "v", &providertest.Player{Body: []byte(body)}), providertest.Request("v", "m"))
		}
		answer := func(t *testing.T, body string) chat.Message {
			t.Helper()
			s := stream(body)
			if s.Err != nil {
				t.Fatal(s.Err)
			}
			return s.Response.Message
		}
		t.Run(api+"/text and usage", func(t *testing.T) {
			m := answer(t, p.text)
			if m.PlainText() != "Hello ☕" || m.Stop != chat.StopEnd || m.Provider != "v" || m.Model != "m" || m.Role != chat.RoleAssistant {
				t.Errorf("%+v", m)
			}
			if m.Usage.TotalInput() != 16 || m.Usage.Output != 7 || api != "ollama" && m.Usage.Input != 10 {
				t.Errorf("%+v", m.Usage)
			}
		})
		t.Run(api+"/thinking", func(t *testing.T) {
			s := stream(p.thinking)
			if s.Err != nil || s.Thinking != "hmm" || s.Response.Message.PlainText() != "ok" || s.Response.Message.Parts[0].Type != chat.PartThinking {
				t.Errorf("%+v", s)
			}
		})
		t.Run(api+"/parallel calls", func(t *testing.T) {
			m := answer(t, p.parallel)
			c := m.Calls()
			if len(c) != 2 || c[0].Name != "add" || c[1].Name != "mul" || c[0].Input != `{"x":1}` || c[1].Input != `{"y":2}` || m.Stop != chat.StopTools || c[0].ID != "" {
				t.Errorf("%+v", m.Parts)
			}
		})
		t.Run(api+"/a call without arguments", func(t *testing.T) {
			m := answer(t, p.noArgs)
			c := m.Calls()
			if len(c) != 1 || c[0].Name != "now" || m.Stop != chat.StopTools {
				t.Fatalf("%+v", m)
			}
			if in, ok := c[0].ValidInput(); !ok || string(in) != "{}" {
				t.Errorf("%q", c[0].Input)
			}
		})
		for _, c := range []struct {
			name, body string
			want       chat.StopReason
		}{
			{"output limit", p.length, chat.StopOutputLimit}, {"refusal", p.refusal, chat.StopRefusal},
			{"content filter", p.filter, chat.StopContentFilter}, {"an unknown reason", p.strange, chat.StopUnknown},
		} {
			if c.body == "" {
				continue // the wire has no such stop
			}
			t.Run(api+"/"+c.name, func(t *testing.T) {
				if m := answer(t, c.body); m.Stop != c.want {
					t.Errorf("%s, want %s", m.Stop, c.want)
				}
			})
		}
		t.Run(api+"/an error in the stream", func(t *testing.T) {
			if s := stream(p.inStream); chat.ClassOf(s.Err) != chat.ClassTransient || s.Response != nil {
				t.Errorf("%+v", s)
			}
		})
		t.Run(api+"/comments and CRLF", func(t *testing.T) {
			if api == "ollama" {
				t.Skip("the wire has no comments")
			}
			if m := answer(t, ": hello\r\n\r\n"+strings.ReplaceAll(p.text, "\n", "\r\n")); m.PlainText() != "Hello ☕" {
				t.Errorf("%+v", m)
			}
		})
		t.Run(api+"/error classes", func(t *testing.T) {
			for status, want := range map[int]chat.Class{400: chat.ClassBadRequest, 401: chat.ClassAuth, 402: chat.ClassPayment, 403: chat.ClassPermission, 404: chat.ClassUnknownModel, 408: chat.ClassTransient, 429: chat.ClassRateLimit, 500: chat.ClassTransient, 503: chat.ClassTransient, 529: chat.ClassTransient} {
				pl := &providertest.Player{Status: status, Body: []byte(`{"error":{"message":"words"}}`), Header: http.Header{"Retry-After": {"7"}}}
				s := providertest.Drain(context.Background(), codec(api, "v", pl), providertest.Request("v", "m"))
				var e *chat.Error
				if !errors.As(s.Err, &e) || e.Class != want || e.Status != status || !e.HasRetryAfter || e.RetryAfter.Seconds() != 7 || e.Provider != "v" {
					t.Errorf("%d: %+v", status, s.Err)
				}
			}
		})
		t.Run(api+"/cancel in mid-stream", func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			pl := &providertest.Player{Body: []byte(p.begun + strings.Repeat(p.begun, 3))}
			var last error
			n := 0
			for _, err := range codec(api, "v", pl).Stream(ctx, providertest.Request("v", "m")) {
				n++
				cancel()
				last = err
			}
			if n != 2 || chat.ClassOf(last) != chat.ClassAborted {
				t.Errorf("%d events, %v", n, last)
			}
		})
		t.Run(api+"/leaving the range", func(t *testing.T) {
			for range codec(api, "v", &providertest.Player{Body: []byte(p.text)}).Stream(context.Background(), providertest.Request("v", "m")) {
				break
			}
		})
		t.Run(api+"/image in", func(t *testing.T) {
			pic := providertest.Picture(3000, 20)
			req := providertest.Request("v", "m")
			req.Messages = []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{chat.Text("Look"), {Type: chat.PartImage, Image: &pic}}}}
			pl := &providertest.Player{Body: []byte(p.text)}
			if s := providertest.Drain(context.Background(), codec(api, "v", pl), req); s.Err != nil {
				t.Fatal(s.Err)
			}
			wires := map[string]string{"chat": "openai-chat", "responses": "openai-responses"}
			wire := wires[api]
			if wire == "" {
				wire = api
			}
			for _, f := range providertest.Check(wire, "openai", pl.Bodies[0]) {
				t.Error(f)
			}
			if !strings.Contains(string(pl.Bodies[0]), "iVBOR") && !strings.Contains(string(pl.Bodies[0]), "/9j/") {
				t.Error("the picture is missing")
			}
		})
		t.Run(api+"/checking the key", func(t *testing.T) {
			good := &providertest.Player{Body: []byte(`{}`)}
			if err := codec(api, "v", good).ValidateAuth(context.Background()); err != nil || good.Requests[0].Method != http.MethodGet {
				t.Error(err)
			}
			if err := codec(api, "v", &providertest.Player{Status: 401}).ValidateAuth(context.Background()); chat.ClassOf(err) != chat.ClassAuth {
				t.Error(err)
			}
		})
	}
}

// A key is planted in everything that a server can echo; it must come out
// nowhere.
func TestAPlantedKeyComesOutNowhere(t *testing.T) {
	const key = "planted-key-0123456789"
	for api := range plays {
		for _, body := range []string{`{"error":{"message":"bad key ` + key + `","code":"` + key + `","type":"` + key + `"}}`, `<html><title>` + key + `</title>`, key, `{"error":"` + key + `"}`} {
			for _, status := range []int{200, 400, 401, 500} {
				pl := &providertest.Player{Status: status, Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}, "Location": {"http://" + key + "/"}}}
				ep := providertest.Endpoint("v", "http://vendor.test/v1", pl)
				ep.Credentials = providers.StaticCredentials{Token: key}
				s := providertest.Drain(context.Background(), makers[api](ep), providertest.Request("v", "m"))
				if s.Err == nil {
					t.Fatalf("%s: no error", api)
				}
				e := chat.AsError(s.Err)
				all := e.Message + strings.Join(e.Args, " ")
				for err := error(e); err != nil; err = errors.Unwrap(err) {
					all += err.Error()
				}
				if strings.Contains(all, key) {
					t.Errorf("%s %d: %s", api, status, all)
				}
				if strings.Contains(pl.Requests[0].URL.String(), key) {
					t.Errorf("%s: the key is in the address", api)
				}
			}
		}
	}
}
