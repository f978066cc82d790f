package desk

import (
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // formats that can be copied
	_ "image/jpeg" // formats that can be copied
	"image/png"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	_ "golang.org/x/image/webp" // formats that can be copied

	"perch/chat"
	"perch/control"
	"perch/tools/places"
)

//go:embed write_clipboard.md
var writeClipboardText string

const (
	// maxClipText is the most text that is put on the clipboard, in bytes. Larger
	// ones make other programs hang on paste.
	maxClipText = 16 << 20
	// maxImageFile and maxPixels bound an image file before it is decoded, so
	// that a small file of a huge picture cannot fill the memory.
	maxImageFile = 64 << 20
	maxPixels    = 64_000_000
)

type writeClipboard struct {
	desktop Desktop
	places  *places.Places
}

// WriteClipboard returns the tool write_clipboard. p knows the secret places; nil
// knows none.
func WriteClipboard(d Desktop, p *places.Places) chat.Tool { return writeClipboard{d, p} }

type writeClipboardInput struct {
	Text  *string `json:"text"`
	Image string  `json:"image"`
}

// Definition describes the tool.
func (writeClipboard) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "write_clipboard", Description: writeClipboardText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"text":{"type":"string","description":"the text to copy"},
"image":{"type":"string","description":"path of the image file to copy"}},
"additionalProperties":false}`)}
}

func (writeClipboard) input(input json.RawMessage) (writeClipboardInput, error) {
	var in writeClipboardInput
	if err := decode(input, &in); err != nil {
		return in, err
	}
	if (in.Text == nil) == (in.Image == "") {
		return in, errors.New(`give either "text" or "image", not both`)
	}
	if in.Text != nil && len(*in.Text) > maxClipText {
		return in, fmt.Errorf("the text has %d bytes; the clipboard takes at most %d. Write it to a file instead", len(*in.Text), maxClipText)
	}
	return in, nil
}

// Needs asks for the clipboard and, for a file outside the working folder, for
// reading it.
func (t writeClipboard) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	in, err := t.input(input)
	if err != nil {
		return nil, err
	}
	if in.Text != nil {
		return []chat.Need{desktopNeed(env, SubjectWrite, *in.Text)}, nil
	}
	path, own, err := t.resolve(env, in.Image)
	if err != nil {
		return nil, err
	}
	return []chat.Need{
		desktopNeed(env, SubjectWrite, "The image "+path),
		{Kind: chat.NeedRead, Subject: path, Detail: path, Prefix: filepath.Dir(path), Free: own, Secret: t.secret(path)},
	}, nil
}

// Execute copies the text or the image.
func (t writeClipboard) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	in, err := t.input(input)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if in.Text != nil {
		if err := t.desktop.WriteClipboard(ctx, control.Clip{Text: *in.Text}); err != nil {
			return chat.ToolResult{}, fmt.Errorf("write the clipboard: %w", err)
		}
		return chat.ToolResult{Text: fmt.Sprintf("%d characters are on the clipboard.", utf8.RuneCountInString(*in.Text))}, nil
	}
	path, own, err := t.resolve(env, in.Image)
	if err != nil {
		return chat.ToolResult{}, err
	}
	// The link may have changed since the question.
	if !own && !env.Granted(chat.NeedRead, path) {
		return chat.ToolResult{}, fmt.Errorf("%s may not be read: it lies outside the working folder and was not allowed", path)
	}
	data, size, err := readAsPNG(path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if err := t.desktop.WriteClipboard(ctx, control.Clip{PNG: data}); err != nil {
		return chat.ToolResult{}, fmt.Errorf("write the clipboard: %w", err)
	}
	return chat.ToolResult{Text: fmt.Sprintf("The image %s (%d × %d pixels) is on the clipboard.", filepath.Base(path), size.X, size.Y)}, nil
}

// resolve returns where a path really leads, and whether that lies in the working
// folder or the session's spool folder, and in no secret place.
func (t writeClipboard) resolve(env chat.Env, name string) (path string, own bool, err error) {
	if path, err = places.Resolve(env.Dir(), name); err != nil {
		return "", false, fmt.Errorf("open the image: %w", err)
	}
	if t.secret(path) {
		return path, false, nil
	}
	for _, dir := range []string{env.Dir(), env.SpoolDir()} {
		if dir == "" {
			continue
		}
		if dir, err := places.Resolve(dir, "."); err == nil && places.Inside(dir, path) {
			return path, true, nil
		}
	}
	return path, false, nil
}

func (t writeClipboard) secret(path string) bool { return t.places != nil && t.places.Secret(path) }

// readAsPNG reads an image file and returns it as PNG, unchanged where it is one.
func readAsPNG(path string) ([]byte, image.Point, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, image.Point{}, fmt.Errorf("open the image: %w", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, image.Point{}, fmt.Errorf("%s is not a file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxImageFile+1))
	if err != nil {
		return nil, image.Point{}, fmt.Errorf("read the image: %w", err)
	}
	if len(data) > maxImageFile {
		return nil, image.Point{}, fmt.Errorf("%s is larger than %d MB; make it smaller first", path, maxImageFile>>20)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, image.Point{}, fmt.Errorf("%s is no image that can be copied (PNG, JPEG, GIF or WebP): %w", path, err)
	}
	size := image.Pt(c.Width, c.Height)
	if c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return nil, size, fmt.Errorf("%s has %d × %d pixels; at most %d million can be copied", path, c.Width, c.Height, maxPixels/1_000_000)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, size, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if format == "png" {
		return data, size, nil
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, size, fmt.Errorf("turn %s into PNG: %w", path, err)
	}
	return out.Bytes(), size, nil
}
