package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"perch/chat"
)

// maxCompiled bounds the cache of compiled schemas. A set has some dozens of
// tools; a connector that changes its schemas all the time must not fill memory.
const maxCompiled = 512

// compiled caches schemas by their text: definitions are fixed during a run and
// compiling one costs more than a check.
var compiled = struct {
	sync.Mutex
	m map[string]*jsonschema.Resolved
}{m: map[string]*jsonschema.Resolved{}}

// Validate checks a call's input against the tool's schema. Its error names the
// field and what is wrong with it. A schema that this library cannot compile (a
// connector may use another draft) checks nothing but that the input is an
// object: the connector checks its own input.
func Validate(def chat.ToolDef, input []byte) error {
	var v any
	d := json.NewDecoder(bytes.NewReader(input))
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("the input is not valid JSON: %w", err)
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return errors.New("the input must be a JSON object")
	}
	s, err := compile(def.Schema)
	if err != nil {
		return nil
	}
	if err := s.Validate(obj); err != nil {
		return explain(s.Schema(), err)
	}
	return nil
}

func checkSchema(schema json.RawMessage) error {
	var o map[string]any
	if err := json.Unmarshal(schema, &o); err != nil {
		return fmt.Errorf("it is no JSON object: %w", err)
	}
	if t, ok := o["type"]; ok && t != "object" {
		return fmt.Errorf("its type is %v, but the input of a tool is an object", t)
	}
	return nil
}

// compile returns the resolved schema; a failure is cached as nil.
func compile(schema json.RawMessage) (*jsonschema.Resolved, error) {
	key := string(schema)
	compiled.Lock()
	defer compiled.Unlock()
	if r, ok := compiled.m[key]; ok {
		if r == nil {
			return nil, errors.New("schema cannot be compiled")
		}
		return r, nil
	}
	if len(compiled.m) >= maxCompiled {
		clear(compiled.m)
	}
	var s jsonschema.Schema
	err := json.Unmarshal(schema, &s)
	var r *jsonschema.Resolved
	if err == nil {
		// The library refuses drafts that it does not know by their address; what
		// tools use of them is the same in all.
		s.Schema = ""
		r, err = s.Resolve(nil)
	}
	compiled.m[key] = r
	return r, err
}

// schemaPath matches the pointer to the innermost part of the schema that the
// library names.
var (
	schemaPath = regexp.MustCompile(`validating (?:root|(/\S*)): `)
	quoted     = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// explain turns the library's error into a sentence that names the field.
func explain(s *jsonschema.Schema, err error) error {
	text := err.Error()
	field := ""
	if all := schemaPath.FindAllStringSubmatchIndex(text, -1); len(all) > 0 {
		last := all[len(all)-1]
		if last[2] >= 0 {
			field = fieldName(text[last[2]:last[3]])
		}
		text = text[last[1]:]
	}
	at := ""
	if field != "" {
		at = fmt.Sprintf("field %q: ", field)
	}
	switch {
	case strings.HasPrefix(text, "required: missing properties: "):
		return fmt.Errorf("%srequired but missing: %s", at, strings.Join(names(text), ", "))
	case strings.HasPrefix(text, "unexpected additional properties "):
		hint := ""
		if field == "" {
			hint = "; known are " + strings.Join(known(s), ", ")
		}
		return fmt.Errorf("%sunknown: %s%s", at, strings.Join(names(text), ", "), hint)
	}
	if len(text) > maxExplain {
		text = strings.ToValidUTF8(text[:maxExplain], "") + "…"
	}
	return errors.New(at + text)
}

// maxExplain bounds an explanation in bytes: the library quotes the whole value.
const maxExplain = 400

func names(text string) []string {
	var out []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		out = append(out, fmt.Sprintf("%q", m[1]))
	}
	slices.Sort(out)
	return out
}

func known(s *jsonschema.Schema) []string {
	var out []string
	for n := range s.Properties {
		out = append(out, fmt.Sprintf("%q", n))
	}
	slices.Sort(out)
	return out
}

// fieldName turns a pointer into the schema (/properties/edits/items/properties/old)
// into the name of the field (edits[].old).
func fieldName(pointer string) string {
	var b strings.Builder
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := 0; i < len(parts); i++ {
		switch parts[i] {
		case "properties":
			if i+1 < len(parts) {
				i++
				if b.Len() > 0 {
					b.WriteByte('.')
				}
				b.WriteString(strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i]))
			}
		case "items":
			b.WriteString("[]")
		}
	}
	return b.String()
}
