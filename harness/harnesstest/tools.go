package harnesstest

import (
	"context"
	"encoding/json"

	"perch/chat"
)

// Tool is a tool made of a function. Free says that it needs nothing.
type Tool struct {
	Name string
	Do   func(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error)
	Need []chat.Need
}

// Definition returns a definition that takes any object.
func (t Tool) Definition() chat.ToolDef {
	return chat.ToolDef{Name: t.Name, Description: "A tool for tests.", Schema: json.RawMessage(`{"type":"object"}`)}
}

// Execute calls Do.
func (t Tool) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	return t.Do(ctx, input, env)
}

// Needs returns Need.
func (t Tool) Needs(context.Context, json.RawMessage, chat.Env) ([]chat.Need, error) {
	return t.Need, nil
}

// Text returns a tool that always answers with a text.
func Text(name, text string) Tool {
	return Tool{Name: name, Do: func(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
		return chat.ToolResult{Text: text}, nil
	}}
}

// Words is an estimator that counts four bytes a token, as a round figure.
type Words struct{}

// Name is "words".
func (Words) Name() string { return "words" }

// Text counts four bytes a token.
func (Words) Text(s string) int { return (len(s) + 3) / 4 }

// Message counts all texts of a message.
func (w Words) Message(m *chat.Message) int {
	n := 4
	for i := range m.Parts {
		n += w.Text(m.Parts[i].Text)
		if c := m.Parts[i].Call; c != nil {
			n += w.Text(c.Name) + w.Text(c.Input)
		}
		if m.Parts[i].Image != nil {
			n += 1000
		}
	}
	if m.Result != nil {
		n += w.Text(m.Result.Text) + 1000*len(m.Result.Images)
	}
	return n
}

// Tools counts names, descriptions and schemas.
func (w Words) Tools(defs []chat.ToolDef) int {
	n := 0
	for _, d := range defs {
		n += w.Text(d.Name) + w.Text(d.Description) + w.Text(string(d.Schema))
	}
	return n
}
