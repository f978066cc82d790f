package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"perch/chat"
)

//go:embed write_file.md
var writeFileText string

type writeFile struct{ files }

type writeFileInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Definition describes the tool.
func (writeFile) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "write_file", Description: writeFileText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"path":{"type":"string","minLength":1},
"content":{"type":"string"}},
"required":["path","content"],
"additionalProperties":false}`)}
}

// Needs writes one path; the question shows the difference.
func (t writeFile) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in writeFileInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	n, err := t.need(env, "write_file", chat.NeedWrite, in.Path)
	if err != nil {
		return nil, err
	}
	old := ""
	if c, err := load(n.Subject); err == nil && !n.Secret {
		// A call that cannot succeed fails before anybody is asked.
		if len(c.bytes) > 0 {
			if err := checkSeen(env, n.Subject, c.bytes); err != nil {
				return nil, err
			}
		}
		if c.text {
			old = strings.ReplaceAll(c.enc.Decode(c.bytes), "\r\n", "\n")
		}
	}
	n.Detail = Visible(diff(n.Subject, old, strings.ReplaceAll(in.Content, "\r\n", "\n")))
	return []chat.Need{n}, nil
}

// Execute writes the file.
func (t writeFile) Execute(_ context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in writeFileInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	path, err := t.resolve(env, "write_file", in.Path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	old, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.create(env, path, in.Content)
	case err != nil:
		return chat.ToolResult{}, err
	}
	c, err := load(path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if len(c.bytes) > 0 {
		if err := checkSeen(env, path, c.bytes); err != nil {
			return chat.ToolResult{}, err
		}
	}
	text := in.Content
	if c.text && allCRLF(c.enc.Decode(c.bytes)) {
		text = toCRLF(text)
	}
	b, err := c.enc.Encode(text)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if err := env.BeforeWrite(path); err != nil {
		return chat.ToolResult{}, fmt.Errorf("keep a copy of %s before it is changed: %w", path, err)
	}
	if err := replaceFile(path, b, old); err != nil {
		return chat.ToolResult{}, err
	}
	env.Remember(seenKey(path), digest(b))
	return chat.ToolResult{Text: fmt.Sprintf("Wrote %s (%s).", path, size(int64(len(b))))}, nil
}

func (t writeFile) create(env chat.Env, path, text string) (chat.ToolResult, error) {
	if err := env.BeforeWrite(path); err != nil {
		return chat.ToolResult{}, fmt.Errorf("note that %s is new: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return chat.ToolResult{}, fmt.Errorf("make the folder of %s: %w", path, err)
	}
	if err := replaceFile(path, []byte(text), nil); err != nil {
		return chat.ToolResult{}, err
	}
	env.Remember(seenKey(path), digest([]byte(text)))
	return chat.ToolResult{Text: fmt.Sprintf("Made %s (%s).", path, size(int64(len(text))))}, nil
}

// allCRLF reports whether every line of a text ends in CRLF.
func allCRLF(s string) bool {
	n := strings.Count(s, "\n")
	return n > 0 && n == strings.Count(s, "\r\n")
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
