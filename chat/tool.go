package chat

import (
	"context"
	"encoding/json"
)

// ToolDef is what a model is told about a tool.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the input, an object
}

// NeedKind is a class of effect that a tool call can have.
type NeedKind string

// The kinds of need, as `--allow` names them. NeedOther covers what has none of
// these effects but is asked about all the same (generated images, tools of
// others).
const (
	NeedRead    NeedKind = "read"
	NeedWrite   NeedKind = "write"
	NeedExecute NeedKind = "execute"
	NeedNetwork NeedKind = "network"
	NeedDesktop NeedKind = "desktop"
	NeedOther   NeedKind = "other"
)

// Need is one thing that a tool call wants to do.
type Need struct {
	Kind NeedKind `json:"kind"`
	// Subject is what rules compare: an absolute path with links resolved, a
	// command, a host, or the name of a desktop thing ("screenshot",
	// "clipboard.read", "clipboard.write").
	Subject string `json:"subject"`
	// Detail is shown in the question, whole: the command, a diff, the address.
	Detail string `json:"detail,omitempty"`
	// Secret marks a place that is always asked about.
	Secret bool `json:"secret,omitempty"`
	// Uncertain marks an effect that cannot be known before it happens (a command
	// computed at run time): asked about whatever --allow or a rule says.
	Uncertain bool `json:"uncertain,omitempty"`
	// Free marks a need that is granted without asking (inside the working
	// folder, an address the user wrote).
	Free bool `json:"free,omitempty"`
	// Forbidden is a reason why this is never done; no permission overrides it.
	Forbidden string `json:"forbidden,omitempty"`
	// Prefix is the rule subject offered for "always" (a command prefix, a
	// folder, a host); empty means only the exact Subject.
	Prefix string `json:"prefix,omitempty"`
	// Once says that "once a session" is the widest answer offered.
	Once bool `json:"once,omitempty"`
}

// Env is what a tool may use of the run that called it.
type Env interface {
	// Session and Run are the ids of the session and of the run.
	Session() string
	Run() string
	// Dir is the working folder, absolute.
	Dir() string
	// SpoolDir is an existing 0700 folder for files that the harness writes for
	// this session; reading them needs no permission.
	SpoolDir() string
	// Environ is the allowlisted environment for child processes.
	Environ() []string
	// Progress reports what the tool is doing; it never blocks for long.
	Progress(text string)
	// Granted reports whether a need of this kind and subject was allowed for
	// this call (by a rule, the session, or the answer to its question).
	Granted(kind NeedKind, subject string) bool
	// Grants lists what was allowed of this kind, for confinement.
	Grants(kind NeedKind) []string
	// BeforeWrite keeps a copy of a file before the run first changes it, so
	// that the run can be reverted. It must be called before every change.
	BeforeWrite(path string) error
	// Remember and Recall keep small facts of a session between calls, such as
	// the hash under which a file was last read.
	Remember(key, value string)
	Recall(key string) (string, bool)
	// Addresses reports whether the user wrote this URL or a search of this run
	// returned it; AddAddress records one that a search returned.
	KnownAddress(url string) bool
	AddAddress(url string)
}

// Tool is the shape of every tool, whoever brings it. Needs may be implemented
// beside it (see [Needer]).
type Tool interface {
	Definition() ToolDef
	// Execute runs the call. A returned error is a failed tool: its text goes to
	// the model as an error result. Input has been checked against the schema.
	Execute(ctx context.Context, input json.RawMessage, env Env) (ToolResult, error)
}

// Needer is implemented by tools that know what a call needs. A tool that does
// not implement it is asked about.
type Needer interface {
	Needs(ctx context.Context, input json.RawMessage, env Env) ([]Need, error)
}
