package desk

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the description
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"perch/chat"
)

//go:embed generate_image.md
var generateImageText string

// defaultSize is a size that every image model knows, in pixels.
const defaultSize = "1024x1024"

// Generator makes images. size is "WIDTHxHEIGHT" in pixels; the result is PNG,
// JPEG or WebP.
type Generator interface {
	Generate(ctx context.Context, prompt, size string) ([]byte, error)
}

type generateImage struct{ gen Generator }

// GenerateImage returns the tool generate_image.
func GenerateImage(g Generator) chat.Tool { return generateImage{g} }

type generateImageInput struct {
	Prompt string `json:"prompt"`
	Size   string `json:"size"`
}

// Definition describes the tool.
func (generateImage) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "generate_image", Description: generateImageText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"prompt":{"type":"string","minLength":1},
"size":{"type":"string","pattern":"^[1-9][0-9]{1,3}x[1-9][0-9]{1,3}$","description":"default: 1024x1024"}},
"required":["prompt"],
"additionalProperties":false}`)}
}

// Needs asks once a session.
func (generateImage) Needs(_ context.Context, input json.RawMessage, _ chat.Env) ([]chat.Need, error) {
	var in generateImageInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	return []chat.Need{{Kind: chat.NeedOther, Subject: "generate_image", Detail: in.Prompt, Once: true}}, nil
}

// Execute makes the image and keeps it as a file of the session.
func (t generateImage) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in generateImageInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return chat.ToolResult{}, errors.New("the prompt is empty; say what the image shall show")
	}
	if in.Size == "" {
		in.Size = defaultSize
	}
	env.Progress("making the image")
	data, err := t.gen.Generate(ctx, in.Prompt, in.Size)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("make the image: %w", err)
	}
	mime := http.DetectContentType(data)
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("make the image: what the model returned is %s and no image: %w", mime, err)
	}
	r := chat.ToolResult{
		Text:   fmt.Sprintf("The image has %d × %d pixels and is shown to the user.", c.Width, c.Height),
		Images: []chat.Image{{MIME: mime, Name: "generated", Size: len(data), Data: data}},
	}
	if dir := env.SpoolDir(); dir != "" {
		sum := sha256.Sum256(data)
		path := filepath.Join(dir, "image-"+hex.EncodeToString(sum[:6])+"."+strings.TrimPrefix(mime, "image/"))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			r.Text += " It could not be kept as a file: " + err.Error() + "."
		} else {
			r.Text += " It is kept as " + path + "."
		}
	}
	return r, nil
}
