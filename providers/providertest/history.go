package providertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/color"
	"image/png"

	"perch/chat"
	"perch/providers"
)

// Maker is a model that made a history, and how its thinking and its call ids
// look.
type Maker struct {
	Name, Provider, Model string
	Thinking              chat.Part
	CallID                func(n int) string
}

// Makers are one of each kind of vendor.
func Makers() []Maker {
	ids := func(list ...string) func(int) string { return func(n int) string { return list[n%len(list)] } }
	same := func(s string) func(int) string { return func(int) string { return s } }
	think := func(sig, enc, id string) chat.Part {
		return chat.Part{Type: chat.PartThinking, Text: "I should look.", Signature: sig, Encrypted: enc, VendorID: id}
	}
	return []Maker{
		{"anthropic", "anthropic", "claude-sonnet-4-6", think("c2lnbmF0dXJl", "", ""), ids("toolu_01A", "toolu_01B", "toolu_01C")},
		{"openai-responses", "openai", "gpt-5", think("", "gAAAAAenc", "rs_123"), ids("call_zgUaIBRPTwxxOusyyKw5NVMH", "call_b", "call_c")},
		{"openrouter", "openrouter", "anthropic/claude-4.5", think("sig", "", "reasoning.text\x1fanthropic-claude-v1\x1f"), ids("tool_0_very_long_id_that_goes_on_and_on_and_on_beyond_forty", "tool.1:colon", "tool 2")},
		{"mistral", "mistral", "magistral-medium", think("", "", ""), ids("abc123XYZ", "def456UVW", "ghi789RST")},
		{"gemini", "gemini", "gemini-3-pro", think("", "", ""), same("")},
		{"ollama", "ollama", "qwen3:8b", think("", "", ""), same("")},
		{"deepseek", "deepseek", "deepseek-reasoner", think("", "", ""), same("call_0")},
	}
}

// Picture is a small PNG.
func Picture(w, h int) chat.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			img.Set(x, y, color.RGBA{uint8(x), uint8(y), 128, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img)
	sum := sha256.Sum256(b.Bytes())
	return chat.Image{Hash: hex.EncodeToString(sum[:]), MIME: "image/png", Width: w, Height: h, Size: b.Len(), Data: b.Bytes()}
}

// History is a conversation with everything in it: text, images, thinking,
// parallel calls with a failed and an image result, an interrupted call, broken
// arguments, an interrupted answer, two user messages in a row, and bytes that
// no vendor takes.
func History(m Maker) []chat.Message {
	n := 0
	call := func(name, input string) chat.Part {
		id := "h" + string(rune('a'+n))
		p := chat.Part{Type: chat.PartCall, Call: &chat.ToolCall{ID: "call-" + id + "/2026", VendorID: m.CallID(n), Name: name, Input: input}}
		if m.Name == "gemini" {
			p.Signature = "Z2VtaW5p"
		}
		n++
		return p
	}
	made := func(id string, parts ...chat.Part) chat.Message {
		return chat.Message{ID: id, Role: chat.RoleAssistant, Parts: parts, Provider: m.Provider, Model: m.Model}
	}
	result := func(c chat.Part, text string, bad bool, images ...chat.Image) chat.Message {
		return chat.Message{ID: "r" + c.Call.ID, Role: chat.RoleTool, Result: &chat.ToolResult{CallID: c.Call.ID, Name: c.Call.Name, Text: text, IsError: bad, Images: images}}
	}
	pic := Picture(4, 3)
	shot := Picture(5, 2)
	a, b := call("read_file", `{"path": "a.txt"}`), call("take_screenshot", "")
	broken, open := call("run_command", `{"command": "ec`), call("bad name!", `{"x":"\ud800 lone"}`)
	return []chat.Message{
		{ID: "u1", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("What is this?"), {Type: chat.PartImage, Image: &pic}}},
		made("a1", m.Thinking, chat.Text("Let me look. \n"), a, b),
		result(a, "line one\x00\nbroken \xff bytes \xed\xa0\x80", false),
		result(b, "", true, shot),
		made("a2", chat.Text("It is a picture."), chat.Text("  ")),
		chat.UserText("And now?"),
		chat.UserText("Quickly please."),
		made("a3", m.Thinking, broken),
		result(broken, "The arguments are no JSON.", true),
		made("a4", open),
		{ID: "a5", Role: chat.RoleAssistant, Parts: []chat.Part{{Type: chat.PartThinking, Text: "half a"}, chat.Text("Half an ans")}, Provider: m.Provider, Model: m.Model, Interrupted: true},
		made("a6", m.Thinking),
		chat.UserText("Go ahead."),
	}
}

// Tools are definitions with schema keywords that some vendors refuse.
func Tools() []chat.ToolDef {
	return []chat.ToolDef{
		{Name: "read_file", Description: "Reads a file.", Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string"},"lines":{"type":["integer","null"],"exclusiveMinimum":0},"default":{"$ref":"#/$defs/mode"}},"$defs":{"mode":{"const":"text"}},"required":["path"],"additionalProperties":false}`)},
		{Name: "take_screenshot", Description: "Takes a picture.", Schema: json.RawMessage(`{"type":"object"}`)},
	}
}

// HistoryRequest asks a target to go on with a maker's history.
func HistoryRequest(m Maker, provider, model string) providers.Request {
	r := Request(provider, model)
	r.Messages, r.Tools = History(m), Tools()
	return r
}
