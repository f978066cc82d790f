package extract

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// readText reads text in any common encoding.
func readText(_ context.Context, name string, b []byte) (Document, error) {
	s, enc, err := Decode(b)
	if err != nil {
		return Document{}, err
	}
	d := Document{Text: s, Encoding: enc}
	if markdownSuffixes[strings.ToLower(extOf(name))] {
		d.Headings = true
		d.Title = markdownTitle(s)
	}
	return d, nil
}

func extOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// markdownTitle is the first top heading near the start.
func markdownTitle(s string) string {
	n := 0
	for line := range strings.Lines(s) {
		if t, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			return t
		}
		if n++; n == 30 {
			break
		}
	}
	return ""
}

// sniffBytes is how much of a file is looked at when its encoding is guessed.
const sniffBytes = 64 << 10

// Decode turns the bytes of a text file into UTF-8 and names the encoding it
// found. In this order: byte order mark, the pattern of NUL bytes (UTF-16 and
// UTF-32 without a mark), valid UTF-8, a statistical guess. A binary file gives
// a *Skip.
func Decode(b []byte) (text, enc string, err error) {
	if e, name := byMark(b); e != nil {
		return decodeWith(e, name, b)
	}
	if e, name := byNULs(b); e != nil {
		return decodeWith(e, name, b)
	}
	if utf8.Valid(b) && !hasControls(b) {
		return string(b), "UTF-8", nil
	}
	if looksBinary(b) {
		return "", "", skipf("binary file")
	}
	if mostlyUTF8(b) {
		return strings.ToValidUTF8(string(b), "\uFFFD"), "UTF-8", nil
	}
	e, name := guess(b)
	if e == nil {
		return "", "", skipf("the text encoding is not known")
	}
	return decodeWith(e, name, b)
}

func byMark(b []byte) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(b, []byte{0xef, 0xbb, 0xbf}):
		return unicode.UTF8BOM, "UTF-8"
	case bytes.HasPrefix(b, []byte{0xff, 0xfe, 0, 0}):
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM), "UTF-32LE"
	case bytes.HasPrefix(b, []byte{0, 0, 0xfe, 0xff}):
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM), "UTF-32BE"
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "UTF-16LE"
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "UTF-16BE"
	}
	return nil, ""
}

// byNULs recognises UTF-16 and UTF-32 by where their zero bytes stand. Text of
// Latin script has one in every other place; text of others still has them at
// its spaces, digits and line ends.
func byNULs(b []byte) (encoding.Encoding, string) {
	s := b[:min(len(b), sniffBytes)&^3]
	if len(s) < 4 {
		return nil, ""
	}
	var zero [4]int
	for i, c := range s {
		if c == 0 {
			zero[i&3]++
		}
	}
	n := len(s) / 4
	even, odd := zero[0]+zero[2], zero[1]+zero[3]
	switch {
	case zero[2] > n*9/10 && zero[3] > n*9/10 && zero[0] < n/10:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "UTF-32LE"
	case zero[0] > n*9/10 && zero[1] > n*9/10 && zero[3] < n/10:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "UTF-32BE"
	case even+odd == 0:
		return nil, ""
	case even*20 < odd && plausible16(s, 0):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16LE"
	case odd*20 < even && plausible16(s, 1):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16BE"
	}
	return nil, ""
}

// plausible16 reports whether the bytes read as UTF-16 are text: hardly any
// controls, private or unpaired units. low is the place of the low byte.
func plausible16(s []byte, low int) bool {
	bad, n := 0, 0
	for i := 0; i+1 < len(s); i += 2 {
		u := uint16(s[i+low]) | uint16(s[i+1-low])<<8
		n++
		switch {
		case u < 0x20 && u != '\t' && u != '\n' && u != '\r' && u != '\f',
			u >= 0xe000 && u <= 0xf8ff, u >= 0xfff0:
			bad++
		}
	}
	return bad*50 <= n
}

func decodeWith(e encoding.Encoding, name string, b []byte) (string, string, error) {
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return "", "", skipf("not readable as %s: %v", name, err)
	}
	s := strings.TrimPrefix(string(out), "\ufeff")
	return strings.ToValidUTF8(s, "\uFFFD"), name, nil
}

// hasControls reports control characters that no text holds.
func hasControls(b []byte) bool {
	s := b[:min(len(b), sniffBytes)]
	n := 0
	for _, c := range s {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b && c != 0x08 || c == 0x7f {
			n++
		}
	}
	return n*100 > len(s)
}

// looksBinary reports NUL bytes, or many control characters, in the first part.
func looksBinary(b []byte) bool {
	s := b[:min(len(b), sniffBytes)]
	return bytes.IndexByte(s, 0) >= 0 || hasControls(s)
}

// mostlyUTF8 reports whether the text is UTF-8 with a few broken bytes, such as
// a log that was cut or mixed.
func mostlyUTF8(b []byte) bool {
	s := b[:min(len(b), sniffBytes)]
	good, bad := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		i += n
	}
	return good > 4*bad
}

// guess asks the statistical detector, and takes the first of its answers that
// can be decoded without losses.
func guess(b []byte) (encoding.Encoding, string) {
	results, err := chardet.NewTextDetector().DetectAll(b[:min(len(b), sniffBytes)])
	if err != nil {
		return nil, ""
	}
	for _, r := range results {
		name := strings.ToLower(r.Charset)
		switch name {
		case "gb-18030":
			name = "gb18030"
		case "iso-8859-1": // what Windows writes under that name
			name = "windows-1252"
		case "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be":
			continue // looked at before
		}
		e, err := htmlindex.Get(name)
		if err != nil {
			continue
		}
		out, err := e.NewDecoder().Bytes(b[:min(len(b), sniffBytes)])
		if err != nil || bytes.Count(out, []byte("\uFFFD")) > 1+len(out)/200 {
			continue
		}
		return e, r.Charset
	}
	return nil, ""
}
