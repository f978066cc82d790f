package desk

import (
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"image/png"
	"strings"

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

// maxPicture is the largest clipboard picture that is passed on, in bytes: a
// screen of 8 megapixels has some 10 MB.
const maxPicture = 32 << 20

// clipResult turns a clipboard's content into a result.
func clipResult(what string, clip control.Clip, spool string) chat.ToolResult {
	var r chat.ToolResult
	var notes []string
	if len(clip.PNG) > 0 {
		c, err := png.DecodeConfig(bytes.NewReader(clip.PNG))
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("The %s holds an image that cannot be read: %v.", what, err))
		case len(clip.PNG) > maxPicture || c.Width > maxPixels/max(c.Height, 1):
			notes = append(notes, fmt.Sprintf("The %s holds an image of %d × %d pixels, which is too large to pass on. Ask the user to copy a part of it.", what, c.Width, c.Height))
		default:
			notes = append(notes, fmt.Sprintf("The %s holds an image of %d × %d pixels.", what, c.Width, c.Height))
			r.Images = []chat.Image{picture(clip.PNG, what)}
		}
	}
	if text := outside.Clean(clip.Text); text != "" {
		notes = append(notes, outside.Mark(what, outside.Cap(text, outside.MaxChars, spool, what)))
	}
	if len(notes) == 0 {
		notes = append(notes, fmt.Sprintf("The %s is empty, or holds something that is neither text nor an image.", what))
	}
	r.Text = strings.Join(notes, "\n")
	return r
}
