package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// quantity is a number of a unit.
type quantity struct {
	base value // in the kind's base unit
	unit *unit // the first one named
	text string
}

// targets separate a quantity from the unit it is wanted in, longest first where
// one begins another.
var targets = []string{
	" expressed in ", " converted to ", " into ", " to ", " in ", " as ", "->", "→", "=>", "=",
	" umgerechnet in ", " nach ", " zu ", " sind in ", " в ", " во ", " на ",
	"等于多少", "是多少", "换算成", "换算为", "转换成", "转换为", "合多少", "有多少", "转成", "等于几", "是几", "=多少", "转",
}

// convertText answers a unit conversion; ok says that the text is one.
func convertText(text string, l language) (answer string, ok bool) {
	if from, to, found := questionForm(text); found {
		if s, ok := convertPair(from, to, l); ok {
			return s, true
		}
	}
	low := lower(text)
	// The last separator counts: in "5 in in cm" the first is an inch.
	for at := len(text); at > 0; {
		best, sep := -1, ""
		for _, t := range targets {
			if i := strings.LastIndex(low[:at], t); i > best {
				best, sep = i, t
			}
		}
		if best < 0 {
			return "", false
		}
		if s, ok := convertPair(text[:best], text[best+len(sep):], l); ok {
			return s, true
		}
		at = best + len(sep) - 1
	}
	return "", false
}

// questionForm reads "how many miles are 5 km" and its kin.
func questionForm(text string) (from, to string, ok bool) {
	text = strings.TrimRight(text, "?？. ")
	low := lower(text)
	for _, f := range []struct {
		start string
		mids  []string
	}{
		{"how many ", []string{" are there in ", " are in ", " are ", " is ", " in ", " make "}},
		{"how much ", []string{" are ", " is ", " in "}},
		{"wie viele ", []string{" sind ", " hat ", " haben ", " ergeben "}},
		{"wieviele ", []string{" sind ", " hat ", " haben "}},
		{"wie viel ", []string{" sind ", " ist ", " hat "}},
		{"сколько ", []string{" в "}},
	} {
		if !strings.HasPrefix(low, f.start) {
			continue
		}
		rest := text[len(f.start):]
		for _, mid := range f.mids {
			if i := strings.Index(low[len(f.start):], mid); i > 0 {
				from, to = rest[i+len(mid):], rest[:i]
				for _, article := range []string{"a ", "an ", "one ", "ein ", "einem ", "einer ", "eine "} {
					if r, ok := strings.CutPrefix(strings.ToLower(from), article); ok {
						from = "1 " + r
					}
				}
				if first, _ := utf8.DecodeRuneInString(strings.TrimSpace(from)); !unicode.IsDigit(first) {
					from = "1 " + from
				}
				return from, to, true
			}
		}
	}
	return "", "", false
}

// convertPair converts a quantity into a unit; ok is false where one of both is
// none, so that the text is something else.
func convertPair(from, to string, l language) (string, bool) {
	to = strings.Trim(strings.TrimSpace(to), "?？。. ")
	target := findUnit(to)
	if target == nil {
		// "1 h 30 min = ? min"
		if target = findUnit(strings.TrimLeft(to, "? ？")); target == nil {
			return "", false
		}
	}
	q, ok := parseQuantity(from, l)
	if !ok {
		return "", false
	}
	if q.unit.kind != target.kind {
		// "с" and "м" are words as well: only a plain mismatch is worth telling.
		return l.say("calc_failed", l.say("e_units", q.unit.symbol, l.say("k_"+string(q.unit.kind)),
			target.symbol, l.say("k_"+string(target.kind)))), true
	}
	if q.unit.kind == kindTemperature && q.base.float() < 0 {
		return l.say("calc_failed", l.say("e_cold", q.text)), true
	}
	s, approx, err := target.fromBase(q.base).format()
	if err != nil {
		return l.say("calc_failed", err.in(l)), true
	}
	eq := " = "
	if approx {
		eq = " ≈ "
	}
	return q.text + eq + "**" + s + " " + target.symbol + "**", true
}

// maxCompound is how many parts a quantity such as "3 h 20 min 5 s" may have.
const maxCompound = 6

// parseQuantity reads numbers with units: "5 km", "(2+3) lb", "5 ft 11 in".
func parseQuantity(s string, l language) (quantity, bool) {
	s = strings.TrimSpace(s)
	var q quantity
	var shown []string
	for s != "" && len(shown) < maxCompound {
		v, text, u, rest, ok := leadingQuantity(s, l)
		if !ok || q.unit != nil && (u.kind != q.unit.kind || u.offset != nil) {
			return q, false
		}
		base := u.toBase(v)
		if q.unit == nil {
			q.base, q.unit = base, u
		} else {
			q.base = add(q.base, base)
		}
		shown = append(shown, text+" "+u.symbol)
		s = strings.TrimSpace(rest)
		if r, ok := strings.CutPrefix(s, "and "); ok {
			s = r
		} else if r, ok := strings.CutPrefix(s, "und "); ok {
			s = r
		} else if r, ok := strings.CutPrefix(s, "и "); ok {
			s = r
		}
	}
	q.text = strings.Join(shown, " ")
	return q, q.unit != nil && s == ""
}

// leadingQuantity reads one number or expression and the longest unit name after
// it.
func leadingQuantity(s string, l language) (v value, text string, u *unit, rest string, ok bool) {
	// A number ends where a letter, a degree or a quote mark begins, brackets aside.
	depth, end := 0, len(s)
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0 && (unicode.IsLetter(r) || r == '°' || r == '"' || r == '\'' || r == '′' || r == '″' || r == '℃' || r == '℉'):
			if (r == 'e' || r == 'E') && i > 0 && i+1 < len(s) && isExponent(s[i-1], s[i+1:]) {
				continue
			}
			if r == '\'' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' && threeDigits(s[i+1:]) {
				continue // 1'000
			}
			end = i
		}
		if end < len(s) {
			break
		}
	}
	text = strings.TrimSpace(s[:end])
	if text == "" || end == len(s) {
		return v, "", nil, "", false
	}
	v, ops, err := evaluate(text, l)
	if err != nil {
		return v, "", nil, "", false
	}
	if ops > 0 {
		if f, _, err := v.format(); err == nil {
			text = f
		}
	}
	tail := s[end:]
	// The longest name wins: "fl oz" before "fl", "公里" before "里".
	for n := min(len(tail), maxUnitName); n > 0; n-- {
		if n < len(tail) && !utf8.RuneStart(tail[n]) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(tail[n:]); n < len(tail) && unicode.IsLetter(next) && !unicode.Is(unicode.Han, next) {
			continue // in the middle of a word
		}
		if u = findUnit(tail[:n]); u != nil {
			return v, text, u, tail[n:], true
		}
	}
	return v, "", nil, "", false
}

// maxUnitName is the longest name of a unit, in bytes.
const maxUnitName = 48

// isExponent reports whether an e belongs to a number: 1e9, 2e-3.
func isExponent(before byte, after string) bool {
	if before < '0' || before > '9' {
		return false
	}
	after = strings.TrimLeft(after, "+-")
	return after != "" && after[0] >= '0' && after[0] <= '9'
}

// lower is the text in lower case with every byte in its place: letters whose
// lower case is of another length stay, and so does what is no UTF-8.
func lower(s string) string {
	b := []byte(s)
	for i, r := range s {
		if low := unicode.ToLower(r); low != r && utf8.RuneLen(low) == utf8.RuneLen(r) {
			utf8.EncodeRune(b[i:], low)
		}
	}
	return string(b)
}
