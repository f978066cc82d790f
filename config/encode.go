package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// encodeValue writes a value in TOML on one line. Numbers that JSON gave without
// a fraction are integers, which TOML's floats take too.
func encodeValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return encodeString(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return encodeNumber(v.String())
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), nil
		}
		return encodeNumber(strconv.FormatFloat(v, 'g', -1, 64))
	case nil:
		return "", fmt.Errorf("it has no value")
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(r.Int(), 10), nil
	case reflect.String:
		return encodeString(r.String()), nil
	case reflect.Pointer:
		if r.IsNil() {
			return "", fmt.Errorf("it has no value")
		}
		return encodeValue(r.Elem().Interface())
	case reflect.Slice, reflect.Array:
		var items []string
		for i := range r.Len() {
			s, err := encodeValue(r.Index(i).Interface())
			if err != nil {
				return "", err
			}
			items = append(items, s)
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case reflect.Map:
		if r.Type().Key().Kind() != reflect.String {
			break
		}
		m := map[string]any{}
		for _, k := range r.MapKeys() {
			m[k.String()] = r.MapIndex(k).Interface()
		}
		return encodeTable(m)
	case reflect.Struct:
		data, err := toml.Marshal(v)
		if err != nil {
			return "", err
		}
		m := map[string]any{}
		if err := toml.Unmarshal(data, &m); err != nil {
			return "", err
		}
		return encodeTable(m)
	}
	return "", fmt.Errorf("a value of type %T cannot be a setting", v)
}

func encodeTable(m map[string]any) (string, error) {
	var items []string
	for _, k := range sortedKeys(m) {
		if m[k] == nil {
			continue // TOML has no null: absent
		}
		s, err := encodeValue(m[k])
		if err != nil {
			return "", err
		}
		items = append(items, encodeKey(k)+" = "+s)
	}
	if len(items) == 0 {
		return "{}", nil
	}
	return "{ " + strings.Join(items, ", ") + " }", nil
}

// encodeNumber gives a JSON number TOML's form.
func encodeNumber(s string) (string, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return "", fmt.Errorf("%s is no number that a setting can have", s)
	}
	return s, nil
}

// encodeString writes a basic string.
func encodeString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s { // invalid UTF-8 becomes U+FFFD: TOML is UTF-8
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// editInline changes a key inside an inline table; nil removes it.
func editInline(data []byte, e expr, rest []string, value any) ([]byte, error) {
	var doc struct {
		V any `toml:"v"`
	}
	if err := toml.Unmarshal([]byte("v = "+string(data[e.from:e.to])), &doc); err != nil {
		return nil, err
	}
	root, ok := doc.V.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no table", encodePath(e.path))
	}
	m := root
	for _, k := range rest[:len(rest)-1] {
		next, ok := m[k].(map[string]any)
		if !ok {
			if m[k] != nil {
				return nil, fmt.Errorf("%s is no table", k)
			}
			next = map[string]any{}
			m[k] = next
		}
		m = next
	}
	if value == nil {
		delete(m, rest[len(rest)-1])
	} else {
		m[rest[len(rest)-1]] = value
	}
	text, err := encodeTable(root)
	if err != nil {
		return nil, err
	}
	return splice(data, e.from, e.to, text), nil
}
