package harness

import (
	"slices"
	"strings"

	"perch/chat"
)

// sortedDefs are the definitions of tools in a stable order, by name.
func sortedDefs(tools map[string]chat.Tool) []chat.ToolDef {
	defs := make([]chat.ToolDef, 0, len(tools))
	for _, t := range tools {
		defs = append(defs, t.Definition())
	}
	slices.SortFunc(defs, func(a, b chat.ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// leaveOutOrder lists names in the order in which they are left out: those that
// are not built in first, then the built-in ones as stated.
func leaveOutOrder(defs []chat.ToolDef) []string {
	var out []string
	for i := len(defs) - 1; i >= 0; i-- {
		if !slices.Contains(toolsLeftOut, defs[i].Name) {
			out = append(out, defs[i].Name)
		}
	}
	for _, n := range toolsLeftOut {
		if slices.ContainsFunc(defs, func(d chat.ToolDef) bool { return d.Name == n }) {
			out = append(out, n)
		}
	}
	return out
}

func without(defs []chat.ToolDef, name string) []chat.ToolDef {
	return slices.DeleteFunc(slices.Clone(defs), func(d chat.ToolDef) bool { return d.Name == name })
}
