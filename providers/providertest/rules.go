package providertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Rule set checks a request's body against what a vendor is known to refuse.
// The rules are written from the vendors' documents and from recorded refusals.

type object = map[string]any

type checker struct{ faults []string }

func (c *checker) faultf(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// Check returns the faults of a request. wire is one of the wire formats;
// vendor names a row of the table of Chat Completions.
func Check(wire, vendor string, body []byte) []string {
	c := &checker{}
	var req object
	if !utf8.Valid(body) {
		c.faultf("the body is no UTF-8")
	}
	if strings.Contains(string(body), `\u0000`) {
		c.faultf("the body holds NUL")
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return []string{"the body is no JSON: " + err.Error()}
	}
	switch wire {
	case "anthropic":
		c.anthropic(req)
	case "openai-responses":
		c.responses(req)
	case "openai-chat":
		c.chat(req, vendor)
	case "gemini":
		c.gemini(req)
	case "ollama":
		c.ollama(req)
	}
	return c.faults
}

func list(v any) []object {
	var out []object
	l, _ := v.([]any)
	for _, e := range l {
		if m, ok := e.(object); ok {
			out = append(out, m)
		}
	}
	return out
}

func str(v any) string { s, _ := v.(string); return s }

func (c *checker) text(where, s string) {
	if strings.TrimSpace(s) == "" {
		c.faultf("%s: empty text", where)
	}
}

func (c *checker) image(where, mime, data string) {
	if !strings.HasPrefix(mime, "image/") {
		c.faultf("%s: media type %q", where, mime)
	}
	if b, err := base64.StdEncoding.DecodeString(data); err != nil || len(b) == 0 {
		c.faultf("%s: image data is no base64", where)
	}
}

func (c *checker) dataURL(where, url string) {
	head, data, ok := strings.Cut(url, ";base64,")
	if !ok {
		c.faultf("%s: no data URL", where)
		return
	}
	c.image(where, strings.TrimPrefix(head, "data:"), data)
}

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (c *checker) id(where, id string, limit int) {
	if !plainID.MatchString(id) || len(id) > limit {
		c.faultf("%s: id %q", where, id)
	}
}

func (c *checker) anthropic(req object) {
	if n, _ := req["max_tokens"].(float64); n < 1 {
		c.faultf("max_tokens is missing")
	}
	msgs := list(req["messages"])
	var open []string // calls that the next message must answer
	marks := strings.Count(must(req["system"])+must(req["tools"])+must(req["messages"]), `"cache_control"`)
	if marks > 4 {
		c.faultf("%d cache breakpoints", marks)
	}
	for i, m := range msgs {
		role := str(m["role"])
		if want := []string{"user", "assistant"}[i%2]; role != want {
			c.faultf("message %d has role %s, want %s", i, role, want)
		}
		blocks := list(m["content"])
		if len(blocks) == 0 {
			c.faultf("message %d is empty", i)
		}
		answered, calls, other := []string{}, []string{}, false
		for j, b := range blocks {
			where := fmt.Sprintf("message %d block %d", i, j)
			switch t := str(b["type"]); t {
			case "text":
				other = true
				c.text(where, str(b["text"]))
				if role == "assistant" && strings.TrimRight(str(b["text"]), " \n\t") != str(b["text"]) {
					c.faultf("%s: trailing whitespace", where)
				}
			case "thinking":
				if str(b["signature"]) == "" || role != "assistant" {
					c.faultf("%s: thinking without signature", where)
				}
				if b["thinking"] == nil {
					c.faultf("%s: thinking without text member", where)
				}
			case "redacted_thinking":
				if str(b["data"]) == "" {
					c.faultf("%s: redacted thinking without data", where)
				}
			case "tool_use":
				c.id(where, str(b["id"]), 64)
				if _, ok := b["input"].(object); !ok {
					c.faultf("%s: input is no object", where)
				}
				calls = append(calls, str(b["id"]))
			case "tool_result":
				if other {
					c.faultf("%s: a result after other content", where)
				}
				c.text(where, str(b["content"]))
				answered = append(answered, str(b["tool_use_id"]))
			case "image":
				other = true
				s, _ := b["source"].(object)
				c.image(where, str(s["media_type"]), str(s["data"]))
			default:
				c.faultf("%s: type %q", where, t)
			}
		}
		if strings.Join(answered, ",") != strings.Join(open, ",") {
			c.faultf("message %d answers %v, want %v", i, answered, open)
		}
		open = calls
	}
	if len(msgs) == 0 || str(msgs[len(msgs)-1]["role"]) != "user" || len(open) > 0 {
		c.faultf("the last message must be a user's")
	}
}

func must(v any) string { b, _ := json.Marshal(v); return string(b) }

func (c *checker) responses(req object) {
	items := list(req["input"])
	open := map[string]bool{}
	for i, it := range items {
		where := fmt.Sprintf("item %d", i)
		switch t := str(it["type"]); t {
		case "message":
			if len(open) > 0 {
				c.faultf("%s: a message before all results", where)
			}
			kinds := map[string]string{"user": "input_text input_image", "assistant": "output_text"}[str(it["role"])]
			for _, p := range list(it["content"]) {
				if !strings.Contains(kinds, str(p["type"])) {
					c.faultf("%s: %s in a message of %s", where, p["type"], it["role"])
				}
				if str(p["type"]) == "input_image" {
					c.dataURL(where, str(p["image_url"]))
				} else {
					c.text(where, str(p["text"]))
				}
			}
		case "reasoning":
			if str(it["encrypted_content"]) == "" || it["summary"] == nil {
				c.faultf("%s: reasoning without content", where)
			}
			if i+1 == len(items) || str(items[i+1]["type"]) == "function_call_output" || str(items[i+1]["role"]) == "user" {
				c.faultf("%s: reasoning without its following item", where)
			}
		case "function_call":
			c.id(where, str(it["call_id"]), 64)
			if open[str(it["call_id"])] {
				c.faultf("%s: call id twice", where)
			}
			open[str(it["call_id"])] = true
			c.arguments(where, str(it["arguments"]))
		case "function_call_output":
			if !open[str(it["call_id"])] {
				c.faultf("%s: a result without its call", where)
			}
			delete(open, str(it["call_id"]))
			c.text(where, str(it["output"]))
		default:
			c.faultf("%s: type %q", where, t)
		}
	}
	if len(open) > 0 {
		c.faultf("calls without result: %v", open)
	}
	if req["store"] != false {
		c.faultf("store is not off")
	}
}

func (c *checker) arguments(where, s string) {
	var o object
	if json.Unmarshal([]byte(s), &o) != nil {
		c.faultf("%s: arguments are no object: %s", where, s)
	}
}

var nineAlnum = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

func (c *checker) chat(req object, vendor string) {
	msgs := list(req["messages"])
	strict := vendor == "mistral" || vendor == "llamacpp" || vendor == "vllm" || vendor == "lmstudio" || vendor == ""
	var open []string
	prev := ""
	for i, m := range msgs {
		where, role := fmt.Sprintf("message %d", i), str(m["role"])
		if role != "tool" && len(open) > 0 {
			c.faultf("%s: calls without result: %v", where, open)
			open = nil
		}
		if strict && role == prev && role != "tool" {
			c.faultf("%s: %s after %s", where, role, prev)
		}
		if vendor == "mistral" && role == "user" && prev == "tool" {
			c.faultf("%s: a user directly after a result", where)
		}
		switch role {
		case "system", "developer":
			if i != 0 {
				c.faultf("%s: %s not first", where, role)
			}
		case "user":
			c.userContent(where, m["content"])
		case "tool":
			c.text(where, str(content(m["content"])))
			if len(open) == 0 || open[0] != str(m["tool_call_id"]) {
				c.faultf("%s: answers %v, open %v", where, m["tool_call_id"], open)
			} else {
				open = open[1:]
			}
		case "assistant":
			calls := list(m["tool_calls"])
			if m["content"] == nil && len(calls) == 0 {
				c.faultf("%s: neither content nor calls", where)
			}
			if s, ok := m["content"].(string); ok {
				c.text(where, s)
			}
			if m["reasoning_content"] != nil && vendor == "openai" || m["reasoning_details"] != nil && vendor != "openrouter" && vendor != "vercel" {
				c.faultf("%s: thinking that the vendor does not know", where)
			}
			for _, k := range calls {
				id := str(k["id"])
				if vendor == "mistral" && !nineAlnum.MatchString(id) {
					c.faultf("%s: id %q", where, id)
				}
				c.id(where, id, 40)
				f, _ := k["function"].(object)
				c.arguments(where, str(f["arguments"]))
				open = append(open, id)
			}
		default:
			c.faultf("%s: role %q", where, role)
		}
		prev = role
	}
	if len(open) > 0 || prev == "assistant" {
		c.faultf("the history ends with an assistant")
	}
	if vendor == "mistral" && req["stream_options"] != nil {
		c.faultf("stream_options")
	}
}

// content joins blocks of text.
func content(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	for _, p := range list(v) {
		b.WriteString(str(p["text"]))
	}
	return b.String()
}

func (c *checker) userContent(where string, v any) {
	if s, ok := v.(string); ok {
		c.text(where, s)
		return
	}
	blocks := list(v)
	if len(blocks) == 0 {
		c.faultf("%s: no content", where)
	}
	for _, p := range blocks {
		switch str(p["type"]) {
		case "text":
			c.text(where, str(p["text"]))
		case "image_url":
			u, _ := p["image_url"].(object)
			c.dataURL(where, str(u["url"]))
		default:
			c.faultf("%s: type %v", where, p["type"])
		}
	}
}

func (c *checker) gemini(req object) {
	var open []string
	contents := list(req["contents"])
	for i, m := range contents {
		where, role := fmt.Sprintf("content %d", i), str(m["role"])
		parts := list(m["parts"])
		if len(parts) == 0 {
			c.faultf("%s: no parts", where)
		}
		var calls, results []string
		for _, p := range parts {
			if k, ok := p["functionCall"].(object); ok {
				if role != "model" {
					c.faultf("%s: a call by %s", where, role)
				}
				if _, ok := k["args"].(object); !ok {
					c.faultf("%s: args are no object", where)
				}
				calls = append(calls, str(k["name"]))
			}
			if k, ok := p["functionResponse"].(object); ok {
				if _, ok := k["response"].(object); !ok {
					c.faultf("%s: response is no object", where)
				}
				results = append(results, str(k["name"]))
			}
			if d, ok := p["inlineData"].(object); ok {
				c.image(where, str(d["mimeType"]), str(d["data"]))
			}
			if s, ok := p["text"].(string); ok && p["thoughtSignature"] == nil && p["thought"] == nil {
				c.text(where, s)
			}
		}
		if strings.Join(results, ",") != strings.Join(open, ",") {
			c.faultf("%s: answers %v, want %v", where, results, open)
		}
		if len(results) > 0 && len(results) != len(parts) {
			c.faultf("%s: results and other parts in one content", where)
		}
		open = calls
		if role != "user" && role != "model" {
			c.faultf("%s: role %q", where, role)
		}
		if role == "model" && i > 0 && str(contents[i-1]["role"]) == "model" {
			c.faultf("%s: two contents of the model", where)
		}
	}
	if len(open) > 0 || len(contents) == 0 || str(contents[0]["role"]) != "user" || str(contents[len(contents)-1]["role"]) != "user" {
		c.faultf("the contents must begin and end with a user")
	}
}

func (c *checker) ollama(req object) {
	if req["truncate"] != false {
		c.faultf("truncation is on")
	}
	if o, _ := req["options"].(object); o == nil || o["num_ctx"] == nil {
		c.faultf("no num_ctx")
	}
	open := 0
	for i, m := range list(req["messages"]) {
		where := fmt.Sprintf("message %d", i)
		role := str(m["role"])
		if role == "tool" {
			open--
			c.text(where, str(m["content"]))
			if str(m["tool_name"]) == "" {
				c.faultf("%s: a result without the tool's name", where)
			}
			continue
		}
		if open != 0 {
			c.faultf("%s: %d results too few", where, open)
		}
		calls := list(m["tool_calls"])
		open = len(calls)
		for _, k := range calls {
			f, _ := k["function"].(object)
			if _, ok := f["arguments"].(object); !ok {
				c.faultf("%s: arguments are no object", where)
			}
		}
		if len(calls) == 0 && str(m["content"]) == "" && m["images"] == nil {
			c.faultf("%s: empty", where)
		}
	}
	if open != 0 {
		c.faultf("calls without result")
	}
}
