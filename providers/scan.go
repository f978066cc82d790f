package providers

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// The functions here read the few members of an event that matter without
// reflection. They serve the shapes that make up nearly all of a stream; what
// they do not recognise is left to encoding/json, which also judges what is
// wrong.

// Members calls f for each member of a JSON object, with the raw value, until f
// returns false. It returns false where b is no object of the plain kind.
func Members(b []byte, f func(key, val []byte) bool) bool {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = blank(b, i+1)
	if i < len(b) && b[i] == '}' {
		return blank(b, i+1) == len(b)
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return false
		}
		end, ok := skip(b, i)
		if !ok {
			return false
		}
		key := b[i+1 : end-1]
		if i = blank(b, end); i >= len(b) || b[i] != ':' {
			return false
		}
		i = blank(b, i+1)
		if end, ok = skip(b, i); !ok {
			return false
		}
		if !f(key, b[i:end]) {
			return false
		}
		if i = blank(b, end); i >= len(b) {
			return false
		}
		switch b[i] {
		case ',':
			i = blank(b, i+1)
		case '}':
			return blank(b, i+1) == len(b)
		default:
			return false
		}
	}
}

// Only returns the only element of a JSON array.
func Only(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '[' {
		return nil, false
	}
	i := blank(b, 1)
	end, ok := skip(b, i)
	if !ok || blank(b, end) != len(b)-1 || b[len(b)-1] != ']' {
		return nil, false
	}
	return b[i:end], true
}

// Str reads a JSON string.
func Str(b []byte) (string, bool) {
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	in := b[1 : len(b)-1]
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		for _, c := range in {
			if c < 0x20 {
				return "", false
			}
		}
		return string(in), true
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, err == nil
}

// Int reads a JSON integer.
func Int(b []byte) (int, bool) {
	if len(b) == 1 && b[0] >= '0' && b[0] <= '9' {
		return int(b[0] - '0'), true
	}
	n, err := strconv.Atoi(string(b))
	return n, err == nil
}

// Null reports whether a value is null, or an empty text or list.
func Null(b []byte) bool {
	switch string(b) {
	case "null", `""`, "[]":
		return true
	}
	return false
}

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value at i. Brackets must balance; what is inside
// is not judged.
func skip(b []byte, i int) (int, bool) {
	if i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"':
		for i++; i < len(b); i++ {
			switch b[i] {
			case '"':
				return i + 1, true
			case '\\':
				i++
			}
		}
		return i, false
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				end, ok := skip(b, i)
				if !ok {
					return i, false
				}
				i = end
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, true
				}
			}
			i++
		}
		return i, false
	}
	from := i
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] >= 'a' && b[i] <= 'z' || b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i] == 'E') {
		i++
	}
	return i, i > from && plainLiteral(b[from:i])
}

func plainLiteral(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return b[0] == '-' || b[0] >= '0' && b[0] <= '9'
}
