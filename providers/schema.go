package providers

import (
	"bytes"
	"encoding/json"
)

// emptySchema is what a tool without input gets.
const emptySchema = `{"type":"object","properties":{}}`

// SchemaRules say which parts of JSON Schema a vendor refuses.
type SchemaRules struct {
	// Drop are keywords that are left out wherever they stand for a rule.
	Drop []string
	// Inline replaces $ref by what it refers to, for vendors without references.
	Inline bool
	// SingleType turns type lists into one type plus nullable.
	SingleType bool
	// ConstAsEnum writes a const as an enum of one.
	ConstAsEnum bool
	// StringEnums leaves out enums that hold anything but texts.
	StringEnums bool
}

// maxInline bounds the depth of references that are put in place: schemas may
// refer to themselves.
const maxInline = 6

// Apply returns the schema by the rules, with its keys sorted, so that the same
// tools give the same bytes. What is no object schema becomes an empty one.
func (r SchemaRules) Apply(raw json.RawMessage) json.RawMessage {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return json.RawMessage(emptySchema)
	}
	root, ok := v.(map[string]any)
	if !ok {
		return json.RawMessage(emptySchema)
	}
	w := schemaWalk{r, root}
	out := w.schema(root, 0)
	m, _ := out.(map[string]any)
	if m["type"] == nil {
		m["type"] = "object"
	}
	if m["properties"] == nil {
		m["properties"] = map[string]any{}
	}
	b, err := marshal(m)
	if err != nil {
		return json.RawMessage(emptySchema)
	}
	return b
}

type schemaWalk struct {
	SchemaRules
	root map[string]any
}

// schema rewrites one schema. Names of properties are no keywords.
func (w schemaWalk) schema(v any, depth int) any {
	m, ok := v.(map[string]any)
	if !ok {
		if w.Inline { // true and false are schemas of their own
			return map[string]any{}
		}
		return v
	}
	if ref, ok := m["$ref"].(string); ok && w.Inline {
		to, found := w.find(ref)
		if !found || depth >= maxInline {
			return map[string]any{"type": "object"}
		}
		return w.schema(to, depth+1)
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		if w.dropped(k) || w.Inline && (k == "$defs" || k == "definitions") {
			continue
		}
		switch k {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			props, _ := v.(map[string]any)
			in := make(map[string]any, len(props))
			for name, s := range props {
				in[name] = w.schema(s, depth)
			}
			out[k] = in
		case "items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames":
			if _, isList := v.([]any); isList {
				out[k] = w.list(v, depth)
				break
			}
			if b, isBool := v.(bool); isBool && k == "additionalProperties" {
				out[k] = b
				break
			}
			out[k] = w.schema(v, depth)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			out[k] = w.list(v, depth)
		default:
			out[k] = v
		}
	}
	w.types(out)
	return out
}

func (w schemaWalk) list(v any, depth int) any {
	in, _ := v.([]any)
	out := make([]any, 0, len(in))
	for _, s := range in {
		out = append(out, w.schema(s, depth))
	}
	return out
}

func (w schemaWalk) types(m map[string]any) {
	if c, ok := m["const"]; ok && w.ConstAsEnum {
		delete(m, "const")
		m["enum"] = []any{c}
	}
	if e, ok := m["enum"].([]any); ok && w.StringEnums {
		for _, v := range e {
			if _, ok := v.(string); !ok {
				delete(m, "enum")
				break
			}
		}
	}
	list, ok := m["type"].([]any)
	if !ok || !w.SingleType {
		return
	}
	var kinds []any
	for _, t := range list {
		if t == "null" {
			m["nullable"] = true
		} else {
			kinds = append(kinds, t)
		}
	}
	switch len(kinds) {
	case 0:
		delete(m, "type")
	case 1:
		m["type"] = kinds[0]
	default:
		delete(m, "type")
		var any []any
		for _, t := range kinds {
			any = append(any, map[string]interface{}{"type": t})
		}
		m["anyOf"] = any
	}
}

func (w schemaWalk) dropped(k string) bool {
	for _, d := range w.Drop {
		if d == k {
			return true
		}
	}
	return false
}

// find follows a reference inside the document.
func (w schemaWalk) find(ref string) (any, bool) {
	if ref == "#" {
		return w.root, true
	}
	const at = "#/"
	if len(ref) <= len(at) || ref[:len(at)] != at {
		return nil, false
	}
	var v any = w.root
	for _, name := range splitPointer(ref[len(at):]) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}
