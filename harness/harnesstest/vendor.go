package harnesstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// VendorRequest is what a [Vendor] was asked, as far as tests look at it.
type VendorRequest struct {
	Model    string          `json:"model"`
	Messages []VendorMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	MaxTokens int `json:"max_tokens"`
	// Raw is the whole body.
	Raw []byte `json:"-"`
}

// VendorMessage is one message on the wire. Content is a string or a list.
type VendorMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Text is the content where it is one string, or the texts of a list joined.
func (m VendorMessage) Text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// Vendor is a real HTTP server on loopback that speaks the Chat Completions
// stream, slowly where a step says so.
type Vendor struct {
	// URL is its base_url, with /v1.
	URL string

	srv    *httptest.Server
	answer func(n int, req VendorRequest) Step

	mu       sync.Mutex
	requests []VendorRequest
}

// NewVendor starts a vendor that answers request n (from 0) with answer. Close
// ends it.
func NewVendor(answer func(n int, req VendorRequest) Step) *Vendor {
	v := &Vendor{answer: answer}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", v.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"object":"list","data":[{"id":"tiny","object":"model"}]}`)
	})
	v.srv = httptest.NewServer(mux)
	v.URL = v.srv.URL + "/v1"
	return v
}

// Close ends the vendor and its connections.
func (v *Vendor) Close() {
	v.srv.CloseClientConnections()
	v.srv.Close()
}

// Requests returns what was asked so far.
func (v *Vendor) Requests() []VendorRequest {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]VendorRequest(nil), v.requests...)
}

func (v *Vendor) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req VendorRequest
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, `{"error":{"message":"the body is no JSON","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	req.Raw = body
	if why := Pairing(req.Messages); why != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": why, "type": "invalid_request_error"}})
		return
	}
	v.mu.Lock()
	n := len(v.requests)
	v.requests = append(v.requests, req)
	v.mu.Unlock()
	step := v.answer(n, req)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta map[string]any, finish any) bool {
		b, err := json.Marshal(map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": req.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
			return false
		}
		w.(http.Flusher).Flush()
		return r.Context().Err() == nil
	}
	for _, t := range step.Text {
		if !pause(r, step.Pause) || !send(map[string]any{"content": t}, nil) {
			return
		}
	}
	if step.Err != nil {
		panic(http.ErrAbortHandler) // cut off in mid-stream
	}
	finish := "stop"
	for i, c := range step.Calls {
		finish = "tool_calls"
		id := c.VendorID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", n, i)
		}
		if !send(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": id, "type": "function", "function": map[string]string{"name": c.Name, "arguments": c.Input},
		}}}, nil) {
			return
		}
	}
	if step.Stop == "output_limit" {
		finish = "length"
	}
	if !send(map[string]any{}, finish) {
		return
	}
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", len(body)/4, 10)
	w.(http.Flusher).Flush()
}

func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Pairing checks what the real vendor refuses: every call is followed by its
// result and every result follows its call. It returns "" or what is wrong.
func Pairing(msgs []VendorMessage) string {
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		if m.Role == "tool" {
			return fmt.Sprintf("messages.[%d]: role 'tool' must be a response to a preceding message with 'tool_calls'", i)
		}
		open := map[string]bool{}
		for _, c := range m.ToolCalls {
			if open[c.ID] {
				return fmt.Sprintf("messages.[%d]: duplicate tool call id %s", i, c.ID)
			}
			open[c.ID] = true
		}
		for len(open) > 0 {
			i++
			if i >= len(msgs) || msgs[i].Role != "tool" || !open[msgs[i].ToolCallID] {
				return fmt.Sprintf("messages.[%d]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'", i)
			}
			delete(open, msgs[i].ToolCallID)
		}
	}
	return ""
}
