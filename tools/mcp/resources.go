package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"perch/chat"
)

// maxResources is how many resources of one server are listed.
const maxResources = 200

// Resource is something of a server that can be attached to a question.
type Resource struct {
	Connector   string
	URI         string
	Name        string
	Description string
	MIME        string
	Size        int64 // bytes; 0 unknown
	// Template says that URI is a pattern with {names} to fill in.
	Template bool
}

// Resources lists what all connected servers offer to attach. A server that does
// not answer is left out.
func (m *Manager) Resources(ctx context.Context) []Resource {
	var out []Resource
	for _, s := range m.sync() {
		s.mu.Lock()
		st := s.state
		s.mu.Unlock()
		if st != ready {
			continue
		}
		if list, err := s.resources(ctx); err == nil {
			out = append(out, list...)
		}
	}
	return out
}

// ReadResource reads one resource as a result that can be attached.
func (m *Manager) ReadResource(ctx context.Context, connector, uri string, env chat.Env) (chat.ToolResult, error) {
	s, err := m.get(connector)
	if err != nil {
		return chat.ToolResult{}, err
	}
	return s.readResource(ctx, uri, env)
}

// resources lists the resources and templates of a server.
func (s *server) resources(ctx context.Context) ([]Resource, error) {
	var out []Resource
	err := s.call(ctx, func(ctx context.Context, session *sdk.ClientSession) error {
		out = nil
		for r, err := range session.Resources(ctx, nil) {
			if err != nil {
				return err
			}
			if out = append(out, Resource{s.name, r.URI, title(r.Title, r.Name), r.Description, r.MIMEType, r.Size, false}); len(out) >= maxResources {
				return nil
			}
		}
		for r, err := range session.ResourceTemplates(ctx, nil) {
			if err != nil {
				return nil // many servers have resources and know no templates
			}
			if out = append(out, Resource{s.name, r.URITemplate, title(r.Title, r.Name), r.Description, r.MIMEType, 0, true}); len(out) >= maxResources {
				return nil
			}
		}
		return nil
	})
	return out, err
}

func title(title, name string) string {
	if title != "" {
		return title
	}
	return name
}

// readResource reads one resource.
func (s *server) readResource(ctx context.Context, uri string, env chat.Env) (chat.ToolResult, error) {
	var res *sdk.ReadResourceResult
	err := s.call(ctx, func(ctx context.Context, session *sdk.ClientSession) error {
		var err error
		res, err = session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		return err
	})
	if err != nil {
		return chat.ToolResult{}, err
	}
	b := builder{env: env, server: s.name}
	for _, c := range res.Contents {
		if c != nil {
			b.resource(c)
		}
	}
	return b.result(), nil
}

// resourceTools are the tools with which a model finds and reads resources.
func (s *server) resourceTools(taken map[string]bool) []chat.Tool {
	var out []chat.Tool
	if name := offeredName(s.name, "list_resources", taken); name != "" {
		out = append(out, &resourceTool{s: s, def: chat.ToolDef{
			Name:        name,
			Description: fmt.Sprintf("List the resources of the connector %s: documents and data that it offers to read, with their addresses.", s.name),
			Schema:      json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		}})
	}
	if name := offeredName(s.name, "read_resource", taken); name != "" {
		out = append(out, &resourceTool{s: s, read: true, def: chat.ToolDef{
			Name:        name,
			Description: fmt.Sprintf("Read one resource of the connector %s by its address, as its list names it.", s.name),
			Schema:      json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","minLength":1}},"required":["uri"],"additionalProperties":false}`),
		}})
	}
	return out
}

// resourceTool lists or reads resources.
type resourceTool struct {
	s    *server
	read bool
	def  chat.ToolDef
}

// Definition describes the tool.
func (t *resourceTool) Definition() chat.ToolDef { return t.def }

// Needs asks as for any tool of the connector.
func (t *resourceTool) Needs(_ context.Context, input json.RawMessage, _ chat.Env) ([]chat.Need, error) {
	what := "list its resources"
	if t.read {
		what = "read a resource"
	}
	return t.s.needs(t.def.Name, what, input), nil
}

// Execute lists or reads.
func (t *resourceTool) Execute(ctx context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	if t.read {
		var in struct {
			URI string `json:"uri"`
		}
		if err := json.Unmarshal(input, &in); err != nil || in.URI == "" {
			return chat.ToolResult{}, errors.New(`give the resource's address as "uri"`)
		}
		return t.s.readResource(ctx, in.URI, env)
	}
	list, err := t.s.resources(ctx)
	if err != nil {
		return chat.ToolResult{}, err
	}
	b := builder{env: env, server: t.s.name}
	for _, r := range list {
		l := "- " + r.URI + " · " + r.Name
		if r.Template {
			l += " (a pattern: fill in the {names})"
		}
		if d := strings.Join(strings.Fields(r.Description), " "); d != "" {
			l += ": " + shorten(d)
		}
		b.line(l)
	}
	if len(list) == 0 {
		b.line("It has no resources now.")
	}
	return b.result(), nil
}
