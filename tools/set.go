package tools

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"perch/chat"
)

// toolName is what every vendor accepts as the name of a function.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Set holds tools by name.
type Set map[string]chat.Tool

// Add puts tools into the set. It refuses a name that vendors would refuse, one
// that is taken, and a schema that is no JSON object.
func (s Set) Add(tools ...chat.Tool) error {
	for _, t := range tools {
		d := t.Definition()
		if !toolName.MatchString(d.Name) {
			return fmt.Errorf("the tool name %q cannot be used: take 1 to 64 letters, digits, _ or -", d.Name)
		}
		if _, taken := s[d.Name]; taken {
			return fmt.Errorf("there are two tools named %q: rename one of them", d.Name)
		}
		if err := checkSchema(d.Schema); err != nil {
			return fmt.Errorf("the input schema of the tool %q: %w", d.Name, err)
		}
		s[d.Name] = t
	}
	return nil
}

// Get returns a tool by name.
func (s Set) Get(name string) (chat.Tool, bool) {
	t, ok := s[name]
	return t, ok
}

// Remove takes tools out of the set; unknown names are ignored.
func (s Set) Remove(names ...string) {
	for _, n := range names {
		delete(s, n)
	}
}

// Names are the names of all tools, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Tools are all tools, sorted by name.
func (s Set) Tools() []chat.Tool {
	out := make([]chat.Tool, 0, len(s))
	for _, n := range s.Names() {
		out = append(out, s[n])
	}
	return out
}

// Definitions are what a model is told of all tools, sorted by name, so that the
// same set gives the same bytes.
func (s Set) Definitions() []chat.ToolDef {
	out := make([]chat.ToolDef, 0, len(s))
	for _, t := range s.Tools() {
		out = append(out, t.Definition())
	}
	return out
}
