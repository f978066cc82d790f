package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"perch/chat"
	"perch/tools/exec"
	"perch/tools/guard"
)

//go:embed run_command.md
var runCommandText string

type runCommand struct{ exec *exec.Executor }

// RunCommand returns the tool run_command.
func RunCommand(e *exec.Executor) chat.Tool { return runCommand{e} }

type runCommandInput struct {
	Command    string `json:"command"`
	Timeout    int    `json:"timeout_seconds"`
	Network    bool   `json:"network"`
	Background bool   `json:"background"`
	Stop       string `json:"stop"`
}

// Definition describes the tool.
func (runCommand) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "run_command", Description: runCommandText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"command":{"type":"string","minLength":1},
"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600},
"network":{"type":"boolean"},
"background":{"type":"boolean"},
"stop":{"type":"string","description":"id of a background command"}},
"additionalProperties":false}`)}
}

// Needs executes one command. What is surely destructive is forbidden, what
// cannot be known is uncertain, and so is every command where the kernel cannot
// confine it.
func (t runCommand) Needs(_ context.Context, input json.RawMessage, env chat.Env) ([]chat.Need, error) {
	var in runCommandInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	if in.Stop != "" {
		return nil, nil // it ends what this session started
	}
	if strings.TrimSpace(in.Command) == "" {
		return nil, errors.New("the arguments have neither command nor stop")
	}
	v := guard.Check(in.Command, workingFolder(env))
	if slices.Contains(t.exec.Settings().AllowDestructive, strings.TrimSpace(in.Command)) {
		v.Forbidden = "" // the user's own entry in config.toml
	}
	n := chat.Need{
		Kind: chat.NeedExecute, Subject: in.Command, Detail: detail(in), Prefix: v.Prefix,
		Forbidden: v.Forbidden, Uncertain: v.Uncertain != "",
	}
	if v.Uncertain != "" {
		n.Detail += "\n(asked every time: " + v.Uncertain + ")"
	}
	if why := t.exec.Unconfined(); why != "" {
		n.Detail += "\n(not confined: " + why + ")"
		// Somebody who switched the confinement off has decided; a kernel without it
		// has not.
		n.Uncertain = n.Uncertain || !t.exec.Settings().Off
	}
	needs := []chat.Need{n}
	if in.Network {
		needs = append(needs, chat.Need{
			Kind: chat.NeedNetwork, Subject: in.Command, Prefix: v.Prefix, Uncertain: v.Uncertain != "",
			Detail: "with access to the network",
		})
	}
	return needs, nil
}

// detail shows the command whole.
func detail(in runCommandInput) string {
	d := Visible(in.Command)
	if in.Background {
		d += "\n(in the background, until the session ends)"
	}
	return d
}

// Execute runs the command.
func (t runCommand) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in runCommandInput
	if err := decode(input, &in); err != nil {
		return chat.ToolResult{}, err
	}
	if in.Stop != "" {
		if err := t.exec.StopJob(env.Session(), in.Stop); err != nil {
			return chat.ToolResult{}, err
		}
		return chat.ToolResult{Text: "Stopped " + in.Stop + "."}, nil
	}
	dir := workingFolder(env)
	// Made before it is kept, so that what the command makes in it counts as made.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return chat.ToolResult{}, fmt.Errorf("make the working folder: %w", err)
	}
	notes, err := keepFolder(env, dir)
	if err != nil {
		return chat.ToolResult{}, err
	}
	c := exec.Command{
		Session: env.Session(), Shell: in.Command, Dir: dir, Env: env.Environ(), SpoolDir: env.SpoolDir(),
		Timeout: time.Duration(in.Timeout) * time.Second, Network: in.Network,
		Read: env.Grants(chat.NeedRead), Write: env.Grants(chat.NeedWrite), Progress: env.Progress,
	}
	if in.Background {
		return t.background(ctx, c, notes)
	}
	res, err := t.exec.Run(ctx, c)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if more, err := keepFolder(env, dir); err == nil && len(notes) == 0 {
		notes = more // what the command made is known now
	}
	if res.TimedOut {
		return chat.ToolResult{}, timedOut{report(res, notes)}
	}
	text := report(res, notes)
	if res.Aborted {
		return chat.ToolResult{Text: text}, context.Cause(ctx)
	}
	return chat.ToolResult{Text: text, IsError: res.ExitCode != 0, Failure: failureOf(res)}, nil
}

func failureOf(res *exec.Result) chat.FailureKind {
	if res.ExitCode != 0 {
		return chat.FailTool
	}
	return ""
}

// timedOut is a command that took too long; it counts as a timeout.
type timedOut struct{ text string }

func (e timedOut) Error() string { return e.text }
func (timedOut) Unwrap() error   { return context.DeadlineExceeded }

func (t runCommand) background(ctx context.Context, c exec.Command, notes []string) (chat.ToolResult, error) {
	job, res, err := t.exec.Start(ctx, c)
	if err != nil {
		return chat.ToolResult{}, err
	}
	if job == nil {
		text := "The background command ended at once.\n" + report(res, notes)
		return chat.ToolResult{Text: text, IsError: res.ExitCode != 0, Failure: failureOf(res)}, nil
	}
	text := fmt.Sprintf("Runs in the background as %s until the session ends; its output goes to %s.\n[%s]", job.ID, job.Spool, strings.Join(append(notes, job.Confinement.String()), "; "))
	return chat.ToolResult{Text: text}, nil
}

// report is what a model is told of a command.
func report(res *exec.Result, notes []string) string {
	var b strings.Builder
	switch {
	case res.Binary:
		fmt.Fprintf(&b, "(%d bytes of output that is no text", res.Bytes)
		if res.Spool != "" {
			fmt.Fprintf(&b, ", in %s", res.Spool)
		}
		b.WriteString(")\n")
	case strings.TrimSpace(res.Output) == "":
		b.WriteString("(no output)\n")
	default:
		b.WriteString(res.Output)
		if !strings.HasSuffix(res.Output, "\n") {
			b.WriteByte('\n')
		}
	}
	var facts []string
	switch {
	case res.TimedOut:
		facts = append(facts, fmt.Sprintf("ended after its time limit of %s; for something that runs on, set background", res.Duration.Round(time.Second)))
	case res.Aborted:
		facts = append(facts, "stopped by the user")
	case res.Signal != "":
		facts = append(facts, "ended by "+res.Signal)
	default:
		facts = append(facts, fmt.Sprintf("exit code %d", res.ExitCode))
	}
	if len(res.Left) > 0 {
		facts = append(facts, "it left processes behind, which were ended: "+strings.Join(res.Left, ", "))
	}
	if len(res.Stuck) > 0 {
		facts = append(facts, "these could not be ended: "+strings.Join(res.Stuck, ", "))
	}
	facts = append(append(facts, notes...), res.Confinement.String())
	if res.Confinement.Active && res.Confinement.Why != "" {
		facts = append(facts, res.Confinement.Why)
	}
	fmt.Fprintf(&b, "[%s]", strings.Join(facts, "; "))
	return b.String()
}

// keepFolder keeps copies of the working folder's files before a command may
// change them, and afterwards notes what it made. Where the folder is too large
// for that, the result says that the command cannot be reverted.
func keepFolder(env chat.Env, dir string) (notes []string, err error) {
	err = env.BeforeWrite(dir)
	var large interface{ NotKept() string }
	switch {
	case errors.As(err, &large):
		return []string{"what it changes cannot be reverted: " + large.NotKept()}, nil
	case err != nil:
		return nil, fmt.Errorf("keep copies before the command: %w", err)
	}
	return nil, nil
}
