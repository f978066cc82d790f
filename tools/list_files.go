package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"perch/chat"
	"perch/tools/outside"
)

//go:embed list_files.md
var listFilesText string

// maxListed is how many entries one call lists: about what the cap of characters
// holds.
const maxListed = 1000

type listFiles struct{ files }

type listFilesInput struct {
	Path  string `json:"path"`
	Depth *int   `json:"depth"`
	Glob  string `json:"glob"`
	All   bool   `json:"all"`
}

// Definition describes the tool.
func (listFiles) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "list_files", Description: listFilesText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"path":{"type":"string","description":"default: the working folder"},
"depth":{"type":"integer","minimum":0},
"glob":{"type":"string"},
"all":{"type":"boolean"}},
"additionalProperties":false}`)}
}

func (in *listFilesInput) defaults() {
	if in.Path == "" {
		in.Path = "."
	}
	if in.Depth == nil {
		one := 1
		if in.Glob != "" {
			one = 0 // a pattern is looked for everywhere
		}
		in.Depth = &one
	}
}

// Needs reads one folder.
func (t listFiles) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in listFilesInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	in.defaults()
	n, err := t.need(env, "list_files", chat.NeedRead, in.Path)
	return []chat.Need{n}, err
}

// Execute lists the folder.
func (t listFiles) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in listFilesInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	in.defaults()
	dir, err := t.resolve(env, "list_files", in.Path)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		return chat.ToolResult{}, fmt.Errorf("%s is a file (%s): use read_file", dir, size(fi.Size()))
	} else if os.IsNotExist(err) && dir == workingFolder(env) {
		return chat.ToolResult{Text: "The working folder does not exist yet; it is made when something is written."}, nil
	}
	w := walker{secret: t.places, all: in.All || *in.Depth == 1, depth: *in.Depth}
	var b strings.Builder
	n, more := 0, false
	err = w.walk(ctx, dir, func(f found) bool {
		if in.Glob != "" && (f.dir || !matchGlob(in.Glob, f.rel)) {
			return true
		}
		if n == maxListed || b.Len() > outside.MaxChars {
			more = true
			return false
		}
		n++
		b.WriteString(entryLine(f))
		return true
	})
	if err != nil {
		return chat.ToolResult{}, err
	}
	text := outside.Clean(b.String())
	switch {
	case more:
		text += fmt.Sprintf("[only the first %d are shown: give a deeper path or a glob]", n)
	case n == 0 && in.Glob != "":
		text += "[nothing matches]"
	case n == 0:
		text += "[empty]"
	}
	if w.skipped > 0 {
		text += fmt.Sprintf("\n[%d secret places are not shown]", w.skipped)
	}
	return chat.ToolResult{Text: outside.Mark("folder "+dir, text)}, nil
}

// entryLine shows one entry.
func entryLine(f found) string {
	switch {
	case f.dir:
		return f.rel + "/\n"
	case f.info.Type()&fs.ModeSymlink != 0:
		to, _ := os.Readlink(f.path)
		return f.rel + " -> " + to + "\n"
	case !f.info.Type().IsRegular():
		return f.rel + " (" + f.info.Type().String() + ")\n"
	}
	fi, err := f.info.Info()
	if err != nil {
		return f.rel + "\n"
	}
	return fmt.Sprintf("%s  %s\n", f.rel, size(fi.Size()))
}
