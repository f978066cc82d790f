package userdef

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"perch/chat"
	"perch/tools/exec"
	"perch/tools/outside"
)

// tool is one file's tool.
type tool struct {
	file   file
	name   string
	argv   []string
	shell  string
	schema json.RawMessage
	dir    string // of the file
	o      Options
}

// Definition describes the tool.
func (t *tool) Definition() chat.ToolDef {
	return chat.ToolDef{Name: t.name, Description: strings.TrimSpace(t.file.Description), Schema: t.schema}
}

// allowed reports whether the tool runs without a question.
func (t *tool) allowed() bool {
	if t.o.Settings != nil && t.o.Settings()[t.name].Allow {
		return true
	}
	return t.file.Allow && !t.o.Foreign
}

// Needs asks about the call with its command and its whole input, unless the
// tool's entry allows it.
func (t *tool) Needs(_ context.Context, input json.RawMessage, _ chat.Env) ([]chat.Need, error) {
	origin := t.o.Origin
	if origin == "" {
		origin = "user tool"
	}
	detail := fmt.Sprintf("%s %s: %s\ninput: %s", origin, t.name, t.commandLine(), input)
	if t.file.Network {
		detail += "\nmay use the network"
	}
	for _, p := range t.file.Write {
		detail += "\nmay write " + p
	}
	for _, p := range t.file.Read {
		detail += "\nmay read " + p
	}
	return []chat.Need{{Kind: chat.NeedOther, Subject: t.name, Detail: detail, Prefix: t.name, Free: t.allowed()}}, nil
}

// commandLine shows what runs, whole.
func (t *tool) commandLine() string {
	if t.shell != "" {
		return t.shell
	}
	parts := make([]string, len(t.argv))
	for i, a := range t.argv {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$&|;<>()*?") {
			a = fmt.Sprintf("%q", a)
		}
		parts[i] = a
	}
	return strings.Join(parts, " ")
}

// Execute runs the command with the input on its standard input.
func (t *tool) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	c := exec.Command{
		Session: env.Session(), Dir: env.Dir(), Env: env.Environ(), SpoolDir: env.SpoolDir(),
		Set: append(sorted(t.file.Env), "PERCH_TOOL_DIR="+t.dir), Stdin: append(append([]byte(nil), input...), '\n'),
		Shell: t.shell, Timeout: time.Duration(t.file.Timeout) * time.Second, Network: t.file.Network,
		// A script beside the file must be readable although Perch's own folders are
		// closed to commands.
		Read: append([]string{t.dir}, t.file.Read...), Write: t.file.Write, Progress: env.Progress,
	}
	if t.shell == "" {
		c.Argv = append([]string(nil), t.argv...)
		if p := c.Argv[0]; strings.HasPrefix(p, "./") || strings.HasPrefix(p, `.\`) {
			c.Argv[0] = filepath.Join(t.dir, filepath.FromSlash(p))
		}
	}
	res, err := t.o.Runner.Run(ctx, c)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("start the tool %s: %w", t.name, err)
	}
	return t.result(res)
}

// result turns what the command printed into a result.
func (t *tool) result(res *exec.Result) (chat.ToolResult, error) {
	var notes []string
	text := strings.TrimRight(outside.Clean(res.Output), "\n")
	if res.Binary {
		notes = append(notes, "its output is no text")
	}
	if res.Spool != "" {
		notes = append(notes, "its whole output is in "+res.Spool)
	}
	if len(res.Left) > 0 {
		notes = append(notes, "it left processes behind, which were ended: "+strings.Join(res.Left, ", "))
	}
	failed := ""
	switch {
	case res.Aborted:
		return chat.ToolResult{}, context.Canceled
	case res.TimedOut:
		failed = fmt.Sprintf("ran longer than its time limit (%s) and was ended", res.Duration.Round(time.Second))
	case res.Signal != "":
		failed = "was ended by " + res.Signal
	case res.ExitCode != 0:
		failed = fmt.Sprintf("ended with exit code %d", res.ExitCode)
	}
	if failed != "" {
		s := fmt.Sprintf("the tool %s %s", t.name, failed)
		if len(notes) > 0 {
			s += "; " + strings.Join(notes, "; ")
		}
		if !res.Confinement.Active && res.Confinement.Why != "" {
			s += "; it was not confined: " + res.Confinement.Why
		}
		if text != "" {
			s += "\n" + outside.Mark(t.name, text)
		}
		if res.TimedOut {
			return chat.ToolResult{}, fmt.Errorf("%s%w", s, timeout{})
		}
		return chat.ToolResult{}, errors.New(s)
	}
	if text == "" && !res.Binary {
		text = "(no output)"
	}
	out := outside.Mark(t.name, text)
	if len(notes) > 0 {
		out += "\n[" + strings.Join(notes, "; ") + "]"
	}
	// What came over the network was written by strangers.
	return chat.ToolResult{Text: out, Untrusted: t.file.Network}, nil
}

// timeout marks an error as one of time without a word of its own.
type timeout struct{}

func (timeout) Error() string        { return "" }
func (timeout) Is(target error) bool { return target == context.DeadlineExceeded }
