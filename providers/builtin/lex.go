package builtin

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token of an expression.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokNumber
	tokName
	tokOp // one of + - * / ^ % ! ( ) , √ °
)

type token struct {
	kind tokenKind
	text string
	val  value
	// spaced says that blanks stand before the token.
	spaced bool
}

// operators are the characters that count as an operator, and as which.
var operators = map[rune]string{
	'+': "+", '-': "-", '*': "*", '/': "/", '^': "^", '%': "%", '!': "!", '(': "(", ')': ")", ',': ",", ';': ",",
	'×': "*", '·': "*", '⋅': "*", '∙': "*", '∗': "*", '÷': "/", ':': "/", '−': "-", '–': "-", '—': "-",
	'√': "√", '°': "°", '[': "(", ']': ")", '{': "(", '}': ")",
	// Full-width forms, as Chinese input methods give them.
	'＋': "+", '－': "-", '＊': "*", '／': "/", '（': "(", '）': ")", '％': "%", '，': ",", '！': "!", '＾': "^",
}

// lex splits an expression into tokens.
func lex(s string, l language) ([]token, *calcError) {
	var out []token
	depth := 0 // of brackets that belong to a function: there a comma separates
	spaced := false
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r):
			s, spaced = s[n:], true
			continue
		case r >= '0' && r <= '9' || r == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9' || r >= '０' && r <= '９':
			v, rest, err := lexNumber(s, depth > 0, l)
			if err != nil {
				return nil, err
			}
			out = append(out, token{kind: tokNumber, text: s[:len(s)-len(rest)], val: v, spaced: spaced})
			s = rest
		case isTimes(r) && len(out) > 0 && out[len(out)-1].kind == tokNumber && len(s) > n && s[n] >= '0' && s[n] <= '9':
			out = append(out, token{kind: tokOp, text: "*", spaced: spaced}) // 3x4
			s = s[n:]
		case unicode.IsLetter(r) || r == '_':
			end := n
			for end < len(s) {
				r, m := utf8.DecodeRuneInString(s[end:])
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
					break
				}
				end += m
			}
			out = append(out, token{kind: tokName, text: strings.ToLower(s[:end]), spaced: spaced})
			s = s[end:]
		default:
			if strings.HasPrefix(s, "**") {
				out = append(out, token{kind: tokOp, text: "^", spaced: spaced})
				s = s[2:]
				break
			}
			op, ok := operators[r]
			if !ok {
				return nil, fail("e_unexpected", string(r))
			}
			switch op {
			case "(":
				if len(out) > 0 && out[len(out)-1].kind == tokName || depth > 0 {
					depth++
				}
			case ")":
				depth = max(depth-1, 0)
			}
			out = append(out, token{kind: tokOp, text: op, spaced: spaced})
			s = s[n:]
		}
		spaced = false
	}
	return out, nil
}

// isTimes reports whether a letter is used as a multiplication sign: the Latin
// and the Cyrillic x.
func isTimes(r rune) bool { return r == 'x' || r == 'X' || r == 'х' || r == 'Х' }

// maxExponent bounds the exponent of a number as it is written: 10^4000 has
// fewer bits than an exact number may have.
const maxExponent = 4000

// lexNumber reads a number: 0x1f, 1e9, 1.5, 1,5 and digits grouped by comma,
// point, blank, apostrophe or underscore. Inside a function's brackets a comma
// separates values.
func lexNumber(s string, inCall bool, l language) (value, string, *calcError) {
	s = narrowDigits(s)
	if len(s) > 2 && s[0] == '0' {
		if base := map[byte]int{'x': 16, 'X': 16, 'b': 2, 'B': 2, 'o': 8, 'O': 8}[s[1]]; base != 0 {
			end := 2
			for end < len(s) && isDigitOf(s[end], base) {
				end++
			}
			if end > 2 {
				n, _ := new(big.Int).SetString(s[2:end], base)
				return exact(new(big.Rat).SetInt(n)), s[end:], nil
			}
		}
	}
	end := scanDigits(s, inCall)
	text := s[:end]
	rest := s[end:]
	mantissa, ok := plainDecimal(text, l)
	if !ok {
		return value{}, "", fail("e_unexpected", text)
	}
	exp := ""
	if len(rest) > 1 && (rest[0] == 'e' || rest[0] == 'E') {
		i := 1
		if rest[i] == '+' || rest[i] == '-' {
			i++
		}
		j := i
		for j < len(rest) && rest[j] >= '0' && rest[j] <= '9' {
			j++
		}
		if j > i {
			exp, rest = rest[:j], rest[j:]
		}
	}
	// SetString would write out 10^999999.
	if n, _ := strconv.Atoi(strings.TrimLeft(exp, "eE+-")); n > maxExponent || len(exp) > 6 || len(mantissa) > 1000 {
		return value{}, "", fail("e_large")
	}
	r, ok := new(big.Rat).SetString(mantissa + exp)
	if !ok {
		return value{}, "", fail("e_unexpected", text+exp)
	}
	return exact(r), rest, nil
}

// narrowDigits turns leading full-width digits into ASCII ones.
func narrowDigits(s string) string {
	if r, _ := utf8.DecodeRuneInString(s); r < '０' || r > '９' {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r >= '０' && r <= '９' {
			b.WriteRune(r - '０' + '0')
			continue
		}
		if r == '．' {
			b.WriteByte('.')
			continue
		}
		b.WriteString(s[i:])
		break
	}
	return b.String()
}

func isDigitOf(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '9':
		return int(c-'0') < base
	case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		return base == 16
	}
	return false
}

// scanDigits is the length of a number with its group and decimal marks. A mark
// belongs to the number only if a digit follows; a blank only if exactly three do.
func scanDigits(s string, inCall bool) int {
	i := 0
	for i < len(s) {
		c := s[i]
		if c >= '0' && c <= '9' {
			i++
			continue
		}
		mark := 0
		switch {
		case c == '.' || c == '\'' || c == '_' || c == ',' && !inCall:
			mark = 1
		case c == ' ' && threeDigits(s[i+1:]):
			mark = 1
		case strings.HasPrefix(s[i:], "\u00a0") && threeDigits(s[i+2:]):
			mark = 2
		case (strings.HasPrefix(s[i:], "\u202f") || strings.HasPrefix(s[i:], "\u2009")) && threeDigits(s[i+3:]):
			mark = 3
		}
		if mark == 0 || i+mark >= len(s) || s[i+mark] < '0' || s[i+mark] > '9' {
			break
		}
		i += mark
	}
	return i
}

func threeDigits(s string) bool {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n == 3
}

// plainDecimal removes the group marks of a number and makes its decimal mark a
// point. Where "1,234" could be either, English and Chinese read groups, German
// and Russian a decimal comma.
func plainDecimal(s string, l language) (string, bool) {
	s = strings.NewReplacer("'", "", "_", "", " ", "", "\u00a0", "", "\u202f", "", "\u2009", "").Replace(s)
	points, commas := strings.Count(s, "."), strings.Count(s, ",")
	decimal := ""
	switch {
	case points == 0 && commas == 0:
	case points > 0 && commas > 0:
		decimal = "."
		if strings.LastIndex(s, ",") > strings.LastIndex(s, ".") {
			decimal = ","
		}
	case points == 1:
		decimal = "."
		if (l == german) && grouped(s, ".") && !strings.HasPrefix(s, "0.") {
			decimal = "" // 1.234 is a thousand and more in German
		}
	case commas == 1:
		decimal = ","
		if (l == english || l == chinese) && grouped(s, ",") && !strings.HasPrefix(s, "0,") {
			decimal = ""
		}
	}
	group := map[string]string{"": ".,", ".": ",", ",": "."}[decimal]
	head, tail := s, ""
	if decimal != "" {
		head, tail, _ = strings.Cut(s, decimal)
		if strings.ContainsAny(tail, ".,") {
			return "", false
		}
	}
	for _, g := range group {
		if strings.ContainsRune(head, g) && !grouped(head, string(g)) {
			return "", false
		}
		head = strings.ReplaceAll(head, string(g), "")
	}
	if head == "" {
		head = "0"
	}
	if tail != "" {
		return head + "." + tail, true
	}
	return head, true
}

// grouped reports whether a mark splits digits into groups of three.
func grouped(s, mark string) bool {
	parts := strings.Split(s, mark)
	if len(parts[0]) == 0 || len(parts[0]) > 3 {
		return false
	}
	for _, p := range parts[1:] {
		if len(p) != 3 {
			return false
		}
	}
	return true
}
