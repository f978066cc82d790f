// Package charset finds out in which encoding text was written, decodes it, and
// writes changed text back in the same encoding.
//
// The order of the checks is: byte order mark, the pattern of NULs that UTF-16
// leaves, valid UTF-8, then statistics. It never claims an encoding that would
// not give the same bytes back: [Encoding.Exact] says whether a decoded text can
// be written back without loss.
package charset

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Sample is how many bytes are looked at; statistics need some hundred, and a
// file whose head is plain ASCII may turn later.
const Sample = 64 << 10

// Encoding is how a text is written in bytes.
type Encoding struct {
	// Name is "utf-8", "utf-16le", "gb18030"…
	Name string
	// BOM says that the text begins with a byte order mark, which is written back.
	BOM bool

	enc encoding.Encoding // nil for UTF-8
}

// UTF8 is plain UTF-8.
var UTF8 = Encoding{Name: "utf-8"}

var (
	bom8  = []byte{0xEF, 0xBB, 0xBF}
	bomLE = []byte{0xFF, 0xFE}
	bomBE = []byte{0xFE, 0xFF}

	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
)

// guesses are the encodings that statistics may find, by chardet's names.
var guesses = map[string]Encoding{
	"GB-18030":     {Name: "gb18030", enc: simplifiedchinese.GB18030},
	"Big5":         {Name: "big5", enc: traditionalchinese.Big5},
	"Shift_JIS":    {Name: "shift_jis", enc: japanese.ShiftJIS},
	"EUC-JP":       {Name: "euc-jp", enc: japanese.EUCJP},
	"ISO-2022-JP":  {Name: "iso-2022-jp", enc: japanese.ISO2022JP},
	"EUC-KR":       {Name: "euc-kr", enc: korean.EUCKR},
	"KOI8-R":       {Name: "koi8-r", enc: charmap.KOI8R},
	"windows-1250": {Name: "windows-1250", enc: charmap.Windows1250},
	"windows-1251": {Name: "windows-1251", enc: charmap.Windows1251},
	"windows-1252": {Name: "windows-1252", enc: charmap.Windows1252},
	"windows-1253": {Name: "windows-1253", enc: charmap.Windows1253},
	"windows-1254": {Name: "windows-1254", enc: charmap.Windows1254},
	"windows-1255": {Name: "windows-1255", enc: charmap.Windows1255},
	"windows-1256": {Name: "windows-1256", enc: charmap.Windows1256},
	"ISO-8859-1":   {Name: "windows-1252", enc: charmap.Windows1252},
	"ISO-8859-2":   {Name: "iso-8859-2", enc: charmap.ISO8859_2},
	"ISO-8859-5":   {Name: "iso-8859-5", enc: charmap.ISO8859_5},
	"ISO-8859-6":   {Name: "iso-8859-6", enc: charmap.ISO8859_6},
	"ISO-8859-7":   {Name: "iso-8859-7", enc: charmap.ISO8859_7},
	"ISO-8859-8":   {Name: "iso-8859-8", enc: charmap.ISO8859_8},
	"ISO-8859-9":   {Name: "windows-1254", enc: charmap.Windows1254},
}

// Detect looks at the first bytes of a text. whole says that nothing follows. It
// returns false for what is no text.
func Detect(b []byte, whole bool) (Encoding, bool) {
	if len(b) > Sample {
		b, whole = b[:Sample], false
	}
	switch {
	case bytes.HasPrefix(b, bom8):
		return Encoding{Name: "utf-8", BOM: true}, true
	case bytes.HasPrefix(b, bomLE) && !bytes.HasPrefix(b, []byte{0xFF, 0xFE, 0, 0}):
		return Encoding{Name: "utf-16le", BOM: true, enc: utf16LE}, true
	case bytes.HasPrefix(b, bomBE):
		return Encoding{Name: "utf-16be", BOM: true, enc: utf16BE}, true
	}
	if e, ok := nulPattern(b); ok {
		return e, true
	}
	if Binary(b) {
		return Encoding{}, false
	}
	if validUTF8(b, whole) {
		return UTF8, true
	}
	return guess(b)
}

// Binary reports whether the bytes cannot be text in an encoding without NULs:
// they hold a NUL, or more than a tenth of them are control characters that no
// text has.
func Binary(b []byte) bool {
	control := 0
	for _, c := range b {
		switch {
		case c == 0:
			return true
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b && c != '\b':
			control++
		}
	}
	return control*10 > len(b)
}

// nulPattern recognises UTF-16 without a mark: NULs stand on one side of each
// pair only, and often.
func nulPattern(b []byte) (Encoding, bool) {
	if len(b) < 4 {
		return Encoding{}, false
	}
	var even, odd int
	for i, c := range b {
		if c == 0 {
			if i%2 == 0 {
				even++
			} else {
				odd++
			}
		}
	}
	pairs := len(b) / 2
	switch {
	case even == 0 && odd*4 >= pairs && odd > 0:
		return plausible16(Encoding{Name: "utf-16le", enc: utf16LE}, b)
	case odd == 0 && even*4 >= pairs && even > 0:
		return plausible16(Encoding{Name: "utf-16be", enc: utf16BE}, b)
	}
	return Encoding{}, false
}

func plausible16(e Encoding, b []byte) (Encoding, bool) {
	s := e.Decode(b[:len(b)&^1])
	return e, !Binary([]byte(s))
}

func validUTF8(b []byte, whole bool) bool {
	if utf8.Valid(b) {
		return true
	}
	if whole {
		return false
	}
	// A sample may end inside a character.
	for i := 1; i < utf8.UTFMax && i < len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			return c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) && utf8.Valid(b[:len(b)-i])
		}
	}
	return false
}

// minConfidence is below what chardet says of a text it does not know; the East
// Asian samples tried were all above 90 of 100.
const minConfidence = 20

// maxReplaced is the share of characters of a decoding that may be undecodable
// before it is another encoding or no text: one in fifty.
const maxReplaced = 50

// guess asks statistics, and takes the best guess that decodes.
func guess(b []byte) (Encoding, bool) {
	all, err := chardet.NewTextDetector().DetectAll(b)
	if err != nil {
		return Encoding{}, false
	}
	for _, g := range all {
		e, ok := guesses[g.Charset]
		if !ok || g.Confidence < minConfidence {
			continue
		}
		s := e.Decode(b)
		if n := strings.Count(s, "\uFFFD"); n*maxReplaced <= utf8.RuneCountInString(s) {
			return e, true
		}
	}
	return Encoding{}, false
}

// Decode returns the text without its byte order mark. What cannot be decoded
// becomes U+FFFD.
func (e Encoding) Decode(b []byte) string {
	b = e.cutBOM(b)
	if e.enc == nil {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	out, err := e.enc.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return string(out)
}

func (e Encoding) cutBOM(b []byte) []byte {
	if !e.BOM {
		return b
	}
	return bytes.TrimPrefix(b, e.mark())
}

func (e Encoding) mark() []byte {
	switch {
	case !e.BOM:
		return nil
	case e.Name == "utf-16le":
		return bomLE
	case e.Name == "utf-16be":
		return bomBE
	}
	return bom8
}

// Encode returns the bytes of a text with its byte order mark. It fails on a
// character that the encoding does not have, and names it.
func (e Encoding) Encode(s string) ([]byte, error) {
	if e.enc == nil {
		return append(bytes.Clone(e.mark()), s...), nil
	}
	out, err := e.enc.NewEncoder().Bytes([]byte(s))
	if err == nil {
		return append(bytes.Clone(e.mark()), out...), nil
	}
	for _, r := range s {
		if _, err := e.enc.NewEncoder().String(string(r)); err != nil {
			return nil, fmt.Errorf("the file is written in %s, which has no %q: leave that character out, or convert the file first", e.Name, string(r))
		}
	}
	return nil, fmt.Errorf("encode as %s: %w", e.Name, err)
}

// Exact reports whether b comes back byte for byte from [Encoding.Decode] and
// [Encoding.Encode].
func (e Encoding) Exact(b []byte) bool {
	out, err := e.Encode(e.Decode(b))
	return err == nil && bytes.Equal(out, b)
}

// Reader decodes a stream.
func (e Encoding) Reader(r io.Reader) io.Reader {
	if n := len(e.mark()); n > 0 {
		io.CopyN(io.Discard, r, int64(n)) // a shorter stream ends here, too
	}
	if e.enc == nil {
		return r
	}
	return transform.NewReader(r, e.enc.NewDecoder())
}

// Repair makes readable text of any bytes, as programs print them: it detects
// the encoding of what is not UTF-8, and replaces what stays undecodable.
func Repair(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	if e, ok := Detect(b, true); ok {
		return e.Decode(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
