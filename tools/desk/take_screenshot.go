package desk

import (
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"image/png"

	"perch/chat"
	"perch/control"
)

//go:embed take_screenshot.md
var takeScreenshotText string

type takeScreenshot struct{ desktop Desktop }

// TakeScreenshot returns the tool take_screenshot.
func TakeScreenshot(d Desktop) chat.Tool { return takeScreenshot{d} }

type takeScreenshotInput struct {
	What   string `json:"what"`
	X      int    `json:"x"`
	Y      int    `json:"y"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// Definition describes the tool.
func (takeScreenshot) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "take_screenshot", Description: takeScreenshotText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"what":{"type":"string","enum":["screen","window","region"],"description":"default: screen"},
"x":{"type":"integer"},"y":{"type":"integer"},
"width":{"type":"integer","minimum":1},"height":{"type":"integer","minimum":1}},
"additionalProperties":false}`)}
}

// shot is the picture that a call asks for.
func shot(input json.RawMessage) (control.Shot, error) {
	var in takeScreenshotInput
	if err := decode(input, &in); err != nil {
		return control.Shot{}, err
	}
	s := control.Shot{What: in.What}
	if s.What == "" {
		s.What = "screen"
	}
	if s.What == "region" {
		if in.Width < 1 || in.Height < 1 {
			return s, errors.New(`a region needs "x", "y", "width" and "height" in pixels`)
		}
		s.Rect = [4]int{in.X, in.Y, in.Width, in.Height}
	}
	return s, nil
}

// Needs asks for the screen, unless the user attached it.
func (takeScreenshot) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	s, err := shot(input)
	if err != nil {
		return nil, err
	}
	detail := "Take a picture of the whole screen."
	switch s.What {
	case "window":
		detail = "Take a picture of the window in use."
	case "region":
		detail = fmt.Sprintf("Take a picture of %d × %d pixels of the screen at %d, %d.", s.Rect[2], s.Rect[3], s.Rect[0], s.Rect[1])
	}
	return []chat.Need{desktopNeed(env, SubjectScreenshot, detail)}, nil
}

// Execute takes the picture.
func (t takeScreenshot) Execute(ctx context.Context, input json.RawMessage, _ chat.Env) (chat.ToolResult, error) {
	s, err := shot(input)
	if err != nil {
		return chat.ToolResult{}, err
	}
	data, err := t.desktop.Screenshot(ctx, s)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("take a screenshot: %w", err)
	}
	c, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("take a screenshot: what the desktop returned is no PNG: %w", err)
	}
	return chat.ToolResult{
		Text:   fmt.Sprintf("A picture of the %s, %d × %d pixels.", s.What, c.Width, c.Height),
		Images: []chat.Image{picture(data, "screenshot of the "+s.What)},
	}, nil
}
