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

// escapeRun are escapes of programming languages.
var escapeRun = regexp.MustCompile(`\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[0-7]{3}`)

// Lengths from which on a run is worth decoding: shorter ones hold no order.
const (
	minBase64  = 16
	minHex     = 24
	minBinary  = 64
	minDecimal = 12 // numbers
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
	for _, m := range runs(s, isBase64, minBase64) {
		add(fromBase64(m))
	}
	for _, m := range gappedBase64(s) {
		add(fromBase64(m))
	}
	for _, m := range runs(s, func(c byte) bool { return isHex(c) || c == ' ' || c == ':' || c == ',' || c == '\n' }, minHex) {
		if b, err := hex.DecodeString(hexGaps.Replace(strings.TrimSpace(m))); err == nil {
			add(b)
		}
	}
	for _, m := range runs(s, func(c byte) bool { return c == '0' || c == '1' || c == ' ' || c == '\n' }, minBinary) {
		add(numbers(strings.Join(strings.Fields(m), ""), 2))
	}
	for _, m := range runs(s, func(c byte) bool { return c >= '0' && c <= '9' || c == ' ' || c == ',' }, 2*minDecimal) {
		f := strings.FieldsFunc(m, func(r rune) bool { return r == ',' || r == ' ' })
		if len(f) < minDecimal {
			continue
		}
		var b []byte
		for _, x := range f {
			n, _ := strconv.Atoi(x)
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
	if d := spacedOut(s); d != "" {
		out = append(out, d)
	}
	if flipped(s) {
		out = append(out, reversed(latinised(fold(s))))
	}
	return out
}

// minSpaced is how many letters must stand apart in a row.
const minSpaced = 6

// spacedOut joins letters that stand apart by one separator each into words; a
// wider gap ends a word. It is "" where no letters stand apart.
func spacedOut(s string) string {
	// Most texts are done with here: separators two or three bytes apart are rare.
	near := 0
	for i := 0; i+2 < len(s); i++ {
		if separator(s[i]) && (separator(s[i+2]) || i+3 < len(s) && separator(s[i+3])) {
			near++
		}
	}
	if near < minSpaced-2 {
		return ""
	}
	r := []rune(s)
	letter := func(i int) bool {
		return i >= 0 && i < len(r) && (unicode.IsLetter(r[i]) || unicode.IsDigit(r[i]))
	}
	gap := func(i int) bool { return i >= 0 && i < len(r) && !letter(i) && r[i] != '\n' }
	var b strings.Builder
	found := false
	for i := 0; i < len(r); {
		// A run of single letters with one separator between each two.
		end, n := i, 0
		for letter(end) && !letter(end+1) {
			n++
			// Up to three separators end a word but not the run.
			next := end + 1
			for gap(next) && next <= end+3 {
				next++
			}
			if !letter(next) || letter(next+1) {
				break
			}
			end = next
		}
		if n < minSpaced || letter(i-1) {
			b.WriteRune(r[i])
			i++
			continue
		}
		found = true
		for k := i; k <= end; k++ {
			switch {
			case letter(k):
				b.WriteRune(r[k])
			case gap(k-1) && r[k] == r[k-1] || gap(k-1) && letter(k+1):
				b.WriteRune(' ')
			}
		}
		i = end + 1
	}
	if !found {
		return ""
	}
	return b.String()
}

// separator reports whether a byte can stand between letters that stand apart.
func separator(c byte) bool { return c < 0x80 && !isAlnum(c|0x20) && c != '\n' }

// flipped reports whether a text holds several letters turned upside down.
func flipped(s string) bool {
	n := 0
	for _, r := range s {
		switch r {
		case 'ǝ', 'ɹ', 'ʇ', 'ʌ', 'ɥ', 'ɐ', 'ɔ', 'ƃ', 'ʞ', 'ɯ', 'ɟ', 'ʍ', 'ʎ', 'ᴉ':
			n++
		}
	}
	return n >= 4
}

// runs are the longest pieces of a text whose bytes are all allowed.
func runs(s string, allowed func(byte) bool, least int) []string {
	var out []string
	from := 0
	for i := 0; i <= len(s) && len(out) < maxDecoded; i++ {
		if i < len(s) && allowed(s[i]) {
			continue
		}
		if i-from >= least {
			out = append(out, s[from:i])
		}
		from = i + 1
	}
	return out
}

func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

var hexGaps = strings.NewReplacer(" ", "", ":", "", ",", "", "\n", "")

// gappedBase64 joins neighbouring words that look encoded: base64 with spaces or
// line breaks in it.
func gappedBase64(s string) []string {
	var out []string
	var b strings.Builder
	n, odd := 0, 0
	flush := func() {
		if n >= 3 && odd*2 >= n && b.Len() >= minBase64 && len(out) < maxDecoded {
			out = append(out, b.String())
		}
		b.Reset()
		n, odd = 0, 0
	}
	for w := range strings.FieldsSeq(s) {
		ok := len(w) >= 4 || n > 0
		for i := 0; i < len(w) && ok; i++ {
			ok = isBase64(w[i])
		}
		if !ok {
			flush()
			continue
		}
		b.WriteString(w)
		if n++; encodedLook(w) {
			odd++
		}
	}
	flush()
	return out
}

// encodedLook reports whether a word has capitals or digits where words have
// none.
func encodedLook(w string) bool {
	for i := 1; i < len(w); i++ {
		if w[i] >= 'A' && w[i] <= 'Z' && w[i-1] >= 'a' || w[i] >= '0' && w[i] <= '9' || w[i] == '=' {
			return true
		}
	}
	return false
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
