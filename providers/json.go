package providers

import (
	"bytes"
	"encoding/json"
	"strings"
)

// marshal writes JSON without escaping what only matters inside HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalBody writes a request's body.
func MarshalBody(v any) ([]byte, error) { return marshal(v) }

// splitPointer splits a JSON pointer.
func splitPointer(s string) []string {
	parts := strings.Split(s, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

// FlexString is a text that some servers send as an object, a number or null:
// anything but a text is kept as its JSON.
type FlexString string

// UnmarshalJSON reads a text, or keeps the JSON of what is none; null is empty.
func (f *FlexString) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		*f = ""
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*f = FlexString(s)
	default:
		*f = FlexString(b)
	}
	return nil
}
