package store

import (
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// parser reads a chat.Message from the JSON that encodeMessage writes, several
// times as fast as reflection does. Each method reports false where the text is
// not in that form (an unknown key, a null, base64 data, a fault): the caller
// then starts again with encoding/json, which decides what is right. A test
// holds both to the same result.
type parser struct {
	b     []byte // valid UTF-8
	i     int
	names map[string]string
}

func (p *parser) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// take skips blanks and the byte c, if it is next.
func (p *parser) take(c byte) bool {
	p.space()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

// end reports whether nothing but blanks is left.
func (p *parser) end() bool { p.space(); return p.i == len(p.b) }

// object calls field for each key, which must read the value. A repeated key is
// left to encoding/json: seen holds a bit for each key that field knows.
func (p *parser) object(field func(key []byte) (bit uint, ok bool)) bool {
	if !p.take('{') {
		return false
	}
	if p.take('}') {
		return true
	}
	var seen uint
	for {
		key, plain := p.rawString()
		if !plain || !p.take(':') {
			return false
		}
		bit, ok := field(key)
		if !ok || seen&(1<<bit) != 0 {
			return false
		}
		seen |= 1 << bit
		if p.take(',') {
			continue
		}
		return p.take('}')
	}
}

// array calls item for each element, which must read it.
func (p *parser) array(item func() bool) bool {
	if !p.take('[') {
		return false
	}
	if p.take(']') {
		return true
	}
	for {
		if !item() {
			return false
		}
		if p.take(',') {
			continue
		}
		return p.take(']')
	}
}

// plainByte is true for bytes that stand for themselves in a JSON string.
var plainByte = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// rawString returns the bytes of a string without escapes.
func (p *parser) rawString() ([]byte, bool) {
	if !p.take('"') {
		return nil, false
	}
	start := p.i
	for p.i < len(p.b) && plainByte[p.b[p.i]] {
		p.i++
	}
	if p.i == len(p.b) || p.b[p.i] != '"' {
		return nil, false
	}
	p.i++
	return p.b[start : p.i-1], true
}

// name reads a string that is likely to have been seen before.
func (p *parser) name(out *string) bool {
	at := p.i
	raw, ok := p.rawString()
	if !ok {
		p.i = at
		return p.str(out)
	}
	if s, ok := p.names[string(raw)]; ok {
		*out = s
		return true
	}
	*out = string(raw)
	p.names[*out] = *out
	return true
}

// str reads a string, which is copied.
func (p *parser) str(out *string) bool {
	if !p.take('"') {
		return false
	}
	start, b := p.i, p.b
	i := start
	for i < len(b) && plainByte[b[i]] {
		i++
	}
	if i == len(b) {
		return false
	}
	if b[i] == '"' {
		p.i = i + 1
		*out = string(b[start:i])
		return true
	}
	end := closingQuote(b, i)
	if end < 0 {
		return false
	}
	// Decoded text is never longer than its escaped form.
	buf := append(make([]byte, 0, decodedSize(b[start:end])), b[start:i]...)
	for i < end {
		if b[i] != '\\' {
			from := i
			for i < end && plainByte[b[i]] {
				i++
			}
			if i == from {
				return false // a control character
			}
			buf = append(buf, b[from:i]...)
			continue
		}
		var n int
		if buf, n = unescape(buf, b[i:end]); n == 0 {
			return false
		}
		i += n
	}
	p.i = end + 1
	*out = unsafe.String(unsafe.SliceData(buf), len(buf)) // buf is not kept elsewhere
	return true
}

// closingQuote finds the end of a string from i on, or -1.
func closingQuote(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	return -1
}

// decodedSize is an upper bound, close for escapes of two bytes.
func decodedSize(b []byte) int {
	n := len(b)
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' {
			n--
			i++
		}
	}
	return n
}

// unescape appends the character that the escape at the start of b stands for
// and returns the escape's length, 0 where it is left to encoding/json.
func unescape(buf, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return buf, 0
	}
	switch b[1] {
	case 'n':
		return append(buf, '\n'), 2
	case 't':
		return append(buf, '\t'), 2
	case '"', '\\', '/':
		return append(buf, b[1]), 2
	case 'r':
		return append(buf, '\r'), 2
	case 'b':
		return append(buf, '\b'), 2
	case 'f':
		return append(buf, '\f'), 2
	case 'u':
		r, ok := hex4(b[2:])
		if !ok {
			return buf, 0
		}
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(buf, r), 6
		}
		if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
			return buf, 0
		}
		low, ok := hex4(b[8:])
		if !ok {
			return buf, 0
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return buf, 0
		}
		return utf8.AppendRune(buf, r), 12
	}
	return buf, 0
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(v), err == nil && b[0] != '+'
}

// token returns the bytes of a number or word.
func (p *parser) token() []byte {
	p.space()
	start := p.i
	for p.i < len(p.b) {
		switch c := p.b[p.i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			p.i++
		default:
			return p.b[start:p.i]
		}
	}
	return p.b[start:]
}

func (p *parser) integer(out *int64) bool {
	t := p.token()
	digits := t
	if len(t) > 0 && t[0] == '-' {
		digits = t[1:]
	}
	// Go reads +1 and 01, JSON does not.
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && len(digits) > 1) {
		return false
	}
	v, err := strconv.ParseInt(string(t), 10, 64)
	*out = v
	return err == nil
}

func (p *parser) int(out *int) bool {
	var v int64
	ok := p.integer(&v)
	*out = int(v)
	return ok && int64(*out) == v
}

func (p *parser) bool(out *bool) bool {
	switch string(p.token()) {
	case "true":
		*out = true
	case "false":
		*out = false
	default:
		return false
	}
	return true
}

// float reads plain decimals; other forms are left to encoding/json.
func (p *parser) float(out *float64) bool {
	t := p.token()
	dot := false
	for k, c := range t {
		switch {
		case c >= '0' && c <= '9':
		case c == '.' && !dot && k > 0 && k < len(t)-1:
			dot = true
		default:
			return false
		}
	}
	if len(t) == 0 || (t[0] == '0' && len(t) > 1 && t[1] != '.') {
		return false
	}
	v, err := strconv.ParseFloat(string(t), 64)
	*out = v
	return err == nil
}

func (p *parser) time(out *time.Time) bool {
	p.space()
	start := p.i
	if _, ok := p.rawString(); !ok {
		return false
	}
	return out.UnmarshalJSON(p.b[start:p.i]) == nil
}
