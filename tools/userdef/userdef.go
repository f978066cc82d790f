// Package userdef makes tools of the TOML files that a user writes: a name, a
// description, an input schema and a command that gets the input as JSON on its
// standard input.
//
// A file with a mistake is a [Problem] with its line; all other files load. The
// command runs in the same executor as run_command.
package userdef

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"perch/chat"
	"perch/config"
	"perch/tools/exec"
)

// Problem says why a file gave no tool, or not the one that was meant.
type Problem struct {
	Path string
	Line int // from 1; 0 where no line can be named
	Text string
}

// String is the problem with its place.
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
	}
	return p.Path + ": " + p.Text
}

// Runner runs commands, as [exec.Executor] does.
type Runner interface {
	Run(ctx context.Context, c exec.Command) (*exec.Result, error)
}

// Options are what loaded tools work with.
type Options struct {
	Runner Runner
	// Settings are the per-tool settings by tool name; nil is none.
	Settings func() map[string]config.Tool
	// Foreign says that the files were written by others (a skill): what they say
	// about permission does not count.
	Foreign bool
	// Origin is named in questions: "user tool", "skill NAME".
	Origin string
}

// file is the form of a tool's file.
type file struct {
	Name        string            `toml:"name"`
	Description string            `toml:"description"`
	Command     any               `toml:"command"` // a program with arguments, or a shell line
	Schema      any               `toml:"schema"`  // a table, or JSON text
	Timeout     int               `toml:"timeout_seconds"`
	Network     bool              `toml:"network"`
	Env         map[string]string `toml:"env"`
	Read        []string          `toml:"read"`
	Write       []string          `toml:"write"`
	Allow       bool              `toml:"allow"`
}

// toolName is what every vendor accepts as a function's name.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// typeError matches the library's error about a value of the wrong type, which
// carries its line in its text only.
var typeError = regexp.MustCompile(`^toml: line (\d+) \(last key "([^"]*)"\): (.*)$`)

// maxFile is the largest file that is read, in bytes: a description of a tool is
// a page at most.
const maxFile = 256 << 10

// Load reads all tools of a folder, sorted by file name. A folder that does not
// exist has none.
func Load(dir string, o Options) ([]chat.Tool, []Problem) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{{Path: dir, Text: fmt.Sprintf("the folder of tools cannot be read: %v", err)}}
	}
	var out []chat.Tool
	var problems []Problem
	from := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".toml") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		t, problem := loadFile(path, o)
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		if first, taken := from[t.name]; taken {
			problems = append(problems, Problem{Path: path, Text: fmt.Sprintf("the tool %q stands in %s already; give this one another name", t.name, first)})
			continue
		}
		from[t.name] = e.Name()
		out = append(out, t)
	}
	return out, problems
}

// loadFile reads one tool.
func loadFile(path string, o Options) (*tool, *Problem) {
	bad := func(line int, format string, args ...any) (*tool, *Problem) {
		return nil, &Problem{Path: path, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	if fi, err := os.Stat(path); err != nil {
		return bad(0, "it cannot be read: %v", err)
	} else if !fi.Mode().IsRegular() || fi.Size() > maxFile {
		return bad(0, "it is no ordinary file of at most %d kB", maxFile>>10)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return bad(0, "it cannot be read: %v", err)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var f file
	meta, err := toml.Decode(string(data), &f)
	if err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return bad(pe.Position.Line, "%s", pe.Message)
		}
		if m := typeError.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1])
			return bad(n, "%s: %s", m[2], m[3])
		}
		return bad(0, "%v", err)
	}
	line := func(key string) int { return lineOf(data, key) }
	for _, k := range meta.Undecoded() {
		if k[0] != "schema" {
			return bad(line(k[0]), "the key %q is not known; known are name, description, command, schema, timeout_seconds, network, env, read, write and allow", k.String())
		}
	}
	t := &tool{file: f, name: f.Name, dir: filepath.Dir(path), o: o}
	switch {
	case f.Name == "":
		return bad(0, `it has no name; write name = "…" at its beginning`)
	case !toolName.MatchString(f.Name):
		return bad(line("name"), "the name %q cannot be used: take 1 to 64 letters, digits, _ or -", f.Name)
	case strings.TrimSpace(f.Description) == "":
		return bad(line("description"), "the tool %q has no description; the model needs one to know when to use it", f.Name)
	case f.Timeout < 0 || time.Duration(f.Timeout)*time.Second > exec.MaxTimeout:
		return bad(line("timeout_seconds"), "timeout_seconds must lie between 0 and %d", int(exec.MaxTimeout.Seconds()))
	}
	if t.argv, t.shell, err = command(f.Command); err != nil {
		return bad(line("command"), "%v", err)
	}
	if t.schema, err = schema(f.Schema); err != nil {
		return bad(line("schema"), "%v", err)
	}
	for k := range f.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return bad(line("env"), "%q is no name of a variable", k)
		}
	}
	return t, nil
}

// command reads the two forms of a command.
func command(v any) (argv []string, shell string, err error) {
	switch c := v.(type) {
	case nil:
		return nil, "", errors.New(`it has no command; write command = ["program", "argument"] or command = "a line for the shell"`)
	case string:
		if strings.TrimSpace(c) == "" {
			return nil, "", errors.New("the command is empty")
		}
		return nil, c, nil
	case []any:
		for _, a := range c {
			s, ok := a.(string)
			if !ok {
				return nil, "", fmt.Errorf("the command holds %v, which is no text; put it in quotation marks", a)
			}
			argv = append(argv, s)
		}
		if len(argv) == 0 || strings.TrimSpace(argv[0]) == "" {
			return nil, "", errors.New("the command is empty")
		}
		return argv, "", nil
	}
	return nil, "", fmt.Errorf("the command is neither a text nor a list of texts")
}

// emptySchema is the input of a tool that needs none.
const emptySchema = `{"type":"object","properties":{},"additionalProperties":false}`

// schema returns the input schema as JSON, an object.
func schema(v any) (json.RawMessage, error) {
	switch s := v.(type) {
	case nil:
		return json.RawMessage(emptySchema), nil
	case string:
		var m map[string]any
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			return nil, fmt.Errorf("the schema is no JSON object: %w", err)
		}
		return object(m)
	case map[string]any:
		return object(s)
	}
	return nil, errors.New("the schema is neither a table nor JSON text")
}

func object(m map[string]any) (json.RawMessage, error) {
	if t, ok := m["type"]; !ok {
		m["type"] = "object"
	} else if t != "object" {
		return nil, fmt.Errorf(`the schema's type is %v, but the input of a tool is an object; write type = "object"`, t)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("the schema holds something that JSON has not: %w", err)
	}
	return b, nil
}

// lineOf finds the line of a top-level key or table, 0 for none.
func lineOf(data []byte, key string) int {
	re := regexp.MustCompile(`(?m)^[ \t]*(\[+[ \t]*)?"?` + regexp.QuoteMeta(key) + `"?[ \t]*[=.\]]`)
	at := re.FindIndex(data)
	if at == nil {
		return 0
	}
	return bytes.Count(data[:at[0]], []byte("\n")) + 1
}

// sorted returns variables as NAME=value in a stable order.
func sorted(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}
