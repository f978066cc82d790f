package scan

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Encodings that hide a text: runs long enough to hold an order.
var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	base64Gap = regexp.MustCompile(`(?:[A-Za-z0-9+/]{4,}[ \t\r\n]+){3,}[A-Za-z0-9+/]+={0,2}`)
	hexRun    = regexp.MustCompile(`(?:[0-9a-fA-F]{2}[\s:,]?){12,}`)
	escapeRun = regexp.MustCompile(`(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[0-7]{3})`)
	binaryRun = regexp.MustCompile(`(?:[01]{8}\s?){8,}`)
	decimal   = regexp.MustCompile(`(?:\b\d{2,3}[\s,]+){11,}\d{2,3}\b`)
)

// maxDecoded bounds how many runs are decoded, so that the time stays linear in
// small steps.
const maxDecoded = 32

// decoded are the texts that a text holds in encoded form.
func decoded(s string) []string {
	var out []string
	add := func(b []byte) {
		if len(out) < maxDecoded && readable(b) {
			out = append(out, string(b))
		}
	}
	if strings.ContainsAny(s, "&") && strings.Contains(s, ";") {
		if d := html.UnescapeString(s); d != s {
			out = append(out, d)
		}
	}
	if strings.Count(s, "%") > 3 {
		if d, err := url.PathUnescape(s); err == nil && d != s {
			out = append(out, d)
		}
	}
	if strings.Contains(s, `\`) {
		if d := escapeRun.ReplaceAllStringFunc(s, unescape); d != s {
			out = append(out, d)
		}
	}
	for _, m := range base64Run.FindAllString(s, maxDecoded) {
		add(fromBase64(m))
	}
	for _, m := range base64Gap.FindAllString(s, maxDecoded) {
		add(fromBase64(strings.Join(strings.Fields(m), "")))
	}
	for _, m := range hexRun.FindAllString(s, maxDecoded) {
		if b, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "", ",", "", "\n", "").Replace(m)); err == nil {
			add(b)
		}
	}
	for _, m := range binaryRun.FindAllString(s, maxDecoded) {
		add(numbers(strings.Join(strings.Fields(m), ""), 2))
	}
	for _, m := range decimal.FindAllString(s, maxDecoded) {
		var b []byte
		for _, f := range strings.FieldsFunc(m, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
			n, _ := strconv.Atoi(f)
			b = append(b, byte(min(n, 255)))
		}
		add(b)
	}
	low := strings.ToLower(s)
	if containsAny(low, "vafgehpgvba", "ceriv", "vtaber", "flfgrz", "qvfertneq", "sbetrg") {
		out = append(out, strings.Map(rot13, s))
	}
	if containsAny(low, "snoitcurtsni", "erongi", "suoiverp", "tpmorp", "dragersid") {
		out = append(out, reversed(s))
	}
	return out
}

func containsAny(s string, all ...string) bool {
	for _, a := range all {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}

func fromBase64(s string) []byte {
	s = strings.TrimRight(s, "=")
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

func numbers(bits string, base int) []byte {
	var b []byte
	for i := 0; i+8 <= len(bits); i += 8 {
		n, err := strconv.ParseUint(bits[i:i+8], base, 8)
		if err != nil {
			return nil
		}
		b = append(b, byte(n))
	}
	return b
}

func unescape(s string) string {
	base, digits := 16, s[2:]
	if s[1] != 'x' && s[1] != 'u' {
		base, digits = 8, s[1:]
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return s
	}
	return string(rune(n))
}

// readable reports whether bytes are text and not chance.
func readable(b []byte) bool {
	if len(b) < 8 || !utf8.Valid(b) {
		return false
	}
	good, all := 0, 0
	for _, r := range string(b) {
		all++
		if unicode.IsLetter(r) || r == ' ' || r >= ' ' && r < 0x7f || r == '\n' {
			good++
		}
	}
	return good*10 >= all*9
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func reversed(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}
