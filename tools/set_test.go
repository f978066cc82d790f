package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"perch/chat"
)

// namedTool is a tool that does nothing.
type namedTool struct{ name, schema string }

func (n namedTool) Definition() chat.ToolDef {
	return chat.ToolDef{Name: n.name, Description: n.name, Schema: json.RawMessage(n.schema)}
}

func (namedTool) Execute(context.Context, json.RawMessage, chat.Env) (chat.ToolResult, error) {
	return chat.ToolResult{Text: "done"}, nil
}

func TestSetRefusesWhatNoModelCouldUse(t *testing.T) {
	s := Set{}
	if err := s.Add(namedTool{"b", `{"type":"object"}`}, namedTool{"a", `{}`}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool namedTool }{
		{namedTool{"a", `{}`}}, {namedTool{"", `{}`}}, {namedTool{"has space", `{}`}},
		{namedTool{strings.Repeat("x", 65), `{}`}}, {namedTool{"c", `[]`}}, {namedTool{"c", `{"type":"string"}`}},
	} {
		if s.Add(c.tool) == nil {
			t.Errorf("%+v was accepted", c.tool)
		}
	}
	if got := strings.Join(s.Names(), " "); got != "a b" {
		t.Errorf("names %q", got)
	}
	defs := s.Definitions()
	if len(defs) != 2 || defs[0].Name != "a" || defs[1].Name != "b" {
		t.Errorf("definitions %v", defs)
	}
	s.Remove("a", "nothing")
	if _, ok := s.Get("a"); ok {
		t.Error("a removed tool is still there")
	}
}

func TestValidateNamesTheField(t *testing.T) {
	def := chat.ToolDef{Name: "t", Schema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object",
"properties":{"path":{"type":"string","minLength":1},"n":{"type":"integer","minimum":1},
"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"}},"required":["old"]}},
"how":{"enum":["a","b"]}},
"required":["path"],"additionalProperties":false}`)}
	for _, c := range []struct{ input, want string }{
		{`{"path":"x"}`, ""},
		{`{"path":"x","n":3,"edits":[{"old":"o"}],"how":"a"}`, ""},
		{`{}`, `required but missing: "path"`},
		{`{"path":"x","file":"y","dir":"z"}`, `unknown: "dir", "file"; known are "edits", "how", "n", "path"`},
		{`{"path":7}`, `field "path"`},
		{`{"path":""}`, `field "path"`},
		{`{"path":"x","n":1.5}`, `field "n"`},
		{`{"path":"x","n":0}`, `field "n"`},
		{`{"path":"x","edits":[{}]}`, `field "edits[]": required but missing: "old"`},
		{`{"path":"x","edits":[{"old":1}]}`, `field "edits[].old"`},
		{`{"path":"x","how":"c"}`, `field "how"`},
		{`{"path":` + `"x"`, "not valid JSON"},
		{`[]`, "must be a JSON object"},
	} {
		err := Validate(def, []byte(c.input))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.input, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.input, err, c.want)
		}
	}
	if err := Validate(chat.ToolDef{Schema: json.RawMessage(`{"properties":{"x":{"pattern":"(?<!a)b"}}}`)}, []byte(`{"x":"b"}`)); err != nil {
		t.Errorf("a schema that cannot be compiled refuses every call: %v", err)
	}
}
