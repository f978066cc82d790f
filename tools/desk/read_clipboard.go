package desk

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"

	"perch/chat"
	"perch/control"
	"perch/tools/outside"
)

//go:embed read_clipboard.md
var readClipboardText string

type readClipboard struct{ desktop Desktop }

// ReadClipboard returns the tool read_clipboard.
func ReadClipboard(d Desktop) chat.Tool { return readClipboard{d} }

type readClipboardInput struct {
	Source string `json:"source"`
}

// Definition describes the tool.
func (readClipboard) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "read_clipboard", Description: readClipboardText, Schema: json.RawMessage(`{
"type":"object",
"properties":{"source":{"type":"string","enum":["clipboard","selection"],"description":"default: clipboard"}},
"additionalProperties":false}`)}
}

// Needs asks for the clipboard, unless the user attached it.
func (readClipboard) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in readClipboardInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	detail := "Read the clipboard."
	if in.Source == "selection" {
		detail = "Read the selected text."
	}
	return []chat.Need{desktopNeed(env, SubjectRead, detail)}, nil
}

// Execute reads the clipboard or the selection.
func (t readClipboard) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in readClipboardInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	what, read := "clipboard", t.desktop.ReadClipboard
	if in.Source == "selection" {
		what, read = "selection", t.desktop.ReadSelection
	}
	clip, err := read(ctx)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("read the %s: %w", what, err)
	}
	return clipResult(what, clip, env.SpoolDir()), nil
}

// clipResult turns a clipboard's content into a result.
func clipResult(what string, clip control.Clip, spool string) chat.ToolResult {
	var r chat.ToolResult
	text := outside.Clean(clip.Text)
	switch {
	case text != "":
		r.Text = outside.Mark(what, outside.Cap(text, outside.MaxChars, spool, what))
	case len(clip.PNG) > 0:
		r.Text = fmt.Sprintf("The %s holds an image (%d bytes of PNG).", what, len(clip.PNG))
	default:
		r.Text = fmt.Sprintf("The %s is empty, or holds something that is neither text nor an image.", what)
	}
	if len(clip.PNG) > 0 {
		r.Images = []chat.Image{picture(clip.PNG, what)}
	}
	return r
}
