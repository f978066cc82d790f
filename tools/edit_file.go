package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"perch/chat"
)

//go:embed edit_file.md
var editFileText string

type editFile struct{ files }

type editFileInput struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

// Definition describes the tool.
func (editFile) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "edit_file", Description: editFileText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"path":{"type":"string","minLength":1},
"old":{"type":"string","minLength":1},
"new":{"type":"string"},
"all":{"type":"boolean"}},
"required":["path","old","new"],
"additionalProperties":false}`)}
}

// Needs writes one path; the question shows the difference. A call that cannot
// succeed fails here, before anybody is asked.
func (t editFile) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in editFileInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	n, err := t.need(env, "edit_file", chat.NeedWrite, in.Path)
	if err != nil || n.Secret {
		return []chat.Need{n}, err // nothing of a secret place is read before the answer
	}
	before, after, _, err := t.change(env, n.Subject, in)
	if err != nil {
		return nil, err
	}
	n.Detail = Visible(diff(n.Subject, strings.ReplaceAll(before, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")))
	return []chat.Need{n}, nil
}

// change computes an edit without doing it.
func (editFile) change(env chat.Env, path string, in editFileInput) (before, after string, c content, err error) {
	if c, err = load(path); err != nil {
		return "", "", c, err
	}
	if !c.text {
		return "", "", c, fmt.Errorf("%s is no text and cannot be edited", path)
	}
	if err := checkSeen(env, path, c.bytes); err != nil {
		return "", "", c, err
	}
	if !c.enc.Exact(c.bytes) {
		return "", "", c, fmt.Errorf("%s holds bytes that are not valid %s and would be damaged: change it with run_command", path, c.enc.Name)
	}
	before = c.enc.Decode(c.bytes)
	after, err = replace(before, in)
	if err != nil {
		return "", "", c, fmt.Errorf("%s: %w", path, err)
	}
	return before, after, c, nil
}

// replace does the replacement. The model was shown LF for CRLF, so its text is
// also looked for with CRLF.
func replace(text string, in editFileInput) (string, error) {
	old, repl := in.Old, in.New
	n := strings.Count(text, old)
	if n == 0 && strings.Contains(text, "\r\n") {
		old, repl = toCRLF(old), toCRLF(repl)
		n = strings.Count(text, old)
	} else if allCRLF(text) {
		repl = toCRLF(repl)
	}
	switch {
	case in.Old == in.New:
		return "", errors.New("old and new are the same")
	case n == 0:
		return "", errors.New("the old text does not occur" + hint(text, in.Old))
	case n > 1 && !in.All:
		return "", fmt.Errorf("the old text occurs %d times: take more lines around it, or set all", n)
	}
	return strings.ReplaceAll(text, old, repl), nil
}

// hint tells what is nearly there.
func hint(text, old string) string {
	squash := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if s := squash(old); s != "" && strings.Contains(squash(text), s) {
		return "; something like it does, with other spaces or line breaks: read the place again"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	for i, l := range strings.Split(text, "\n") {
		if first != "" && strings.TrimSpace(l) == strings.TrimSpace(first) {
			return fmt.Sprintf("; its first line stands on line %d, but what follows differs: read the place again", i+1)
		}
	}
	return ": read the file again"
}

// Execute changes the file.
func (t editFile) Execute(_ context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in editFileInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	path, err := t.resolve(env, "edit_file", in.Path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	before, after, c, err := t.change(env, path, in)
	if err != nil {
		return chat.ToolResult{}, err
	}
	b, err := c.enc.Encode(after)
	if err != nil {
		return chat.ToolResult{}, err
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if err := env.BeforeWrite(path); err != nil {
		return chat.ToolResult{}, fmt.Errorf("keep a copy of %s before it is changed: %w", path, err)
	}
	if err := replaceFile(path, b, fi); err != nil {
		return chat.ToolResult{}, err
	}
	env.Remember(seenKey(path), digest(b))
	n := strings.Count(before, in.Old)
	if n == 0 {
		n = strings.Count(before, toCRLF(in.Old))
	}
	return chat.ToolResult{Text: fmt.Sprintf("Changed %s: %d replaced.", path, n)}, nil
}
