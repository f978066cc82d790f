package segment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A term is a piece of a unit before stemming. An exact one is a name that is
// kept as it is but for case and accents.
type term struct {
	text  string // lower case
	exact bool
}

// maxOperatorBytes is the longest run of punctuation that is a term ("<<=", "?.").
const maxOperatorBytes = 4

// splitUnit takes a run without spaces apart: into names at hard punctuation,
// names into words at soft joiners, words at changes of case and digits. A name
// of several words is emitted whole as well.
func splitUnit(u string, emit func(term)) {
	if isOperator(u) {
		emit(term{u, true})
		return
	}
	for len(u) > 0 {
		i := strings.IndexFunc(u, isHard)
		if i < 0 {
			splitName(u, emit)
			return
		}
		splitName(u[:i], emit)
		_, n := utf8.DecodeRuneInString(u[i:])
		u = u[i+n:]
	}
}

// isHard reports whether r ends a name.
func isHard(r rune) bool { return r < 0x80 && strings.ContainsRune("\"`()[]{}<>,;|!?=*^~&%", r) }

// isSoft reports whether r can stand between the words of a name.
func isSoft(r rune) bool { return r < 0x80 && strings.ContainsRune("._-/\\:@+#$'", r) || r == '’' }

// isOperator reports whether u is an operator of a programming language: two
// to four signs that are not a ruled line.
func isOperator(u string) bool {
	if len(u) < 2 || len(u) > maxOperatorBytes {
		return false
	}
	same := true
	for i := range len(u) {
		if !strings.ContainsRune("+-*/%=<>!&|^~:@$#?.", rune(u[i])) {
			return false
		}
		same = same && u[i] == u[0]
	}
	return !same || len(u) == 2
}

// splitName emits the words of one name, and the name as a whole.
func splitName(s string, emit func(term)) {
	s = strings.TrimLeftFunc(s, isSoft)
	sign := trailingSign(s)
	s = strings.TrimRightFunc(s, isSoft)
	if s == "" {
		return
	}
	if sign != "" { // C++, C#, F#
		emit(term{lower(s) + sign, true})
	}
	s = trimPossessive(s)
	words, joined, plain := 0, true, true
	for rest := s; rest != ""; {
		i := strings.IndexFunc(rest, isSoft)
		w := rest
		if i < 0 {
			rest = ""
		} else {
			w = rest[:i]
			sep, n := utf8.DecodeRuneInString(rest[i:])
			rest = rest[i+n:]
			joined = joined && (sep == '_' || sep == '-')
			plain = plain && (sep == '\'' || sep == '’')
		}
		if w != "" {
			words++
			splitWord(w, emit)
		}
	}
	switch {
	case words < 2 || plain: // "l'avion" is two words and no name
	case joined: // get_user_name, get-user-name and getUserName are one name
		emit(term{lower(strings.Map(dropJoiner, s)), false})
	default:
		emit(term{strings.ReplaceAll(lower(s), "\\", "/"), true})
	}
}

func dropJoiner(r rune) rune {
	if r == '_' || r == '-' {
		return -1
	}
	return r
}

// trailingSign returns the "++" or "#" that is part of a short name's end.
func trailingSign(s string) string {
	for _, sign := range []string{"++", "#", "+"} {
		if base, ok := strings.CutSuffix(s, sign); ok && base != "" && !strings.ContainsFunc(base, isSoft) && len(base) <= 2 {
			return sign
		}
	}
	return ""
}

// trimPossessive removes an English 's.
func trimPossessive(s string) string {
	for _, p := range []string{"'s", "’s", "'S", "’S"} {
		if t, ok := strings.CutSuffix(s, p); ok && t != "" {
			return t
		}
	}
	return s
}

// splitWord emits the parts of a word that changes case or mixes letters with
// digits, and the word itself.
func splitWord(w string, emit func(term)) {
	if switches(w) > maxSwitches {
		emit(term{lower(w), false})
		return
	}
	parts, start := 0, 0
	var prev, prev2 rune
	prevAt := 0
	for i, r := range w {
		if i > 0 {
			at := -1
			switch {
			case unicode.IsUpper(r) && unicode.IsLower(prev): // user|Name
				at = i
			case unicode.IsLower(r) && unicode.IsUpper(prev) && unicode.IsUpper(prev2): // HTTP|Server
				at = prevAt
			case unicode.IsDigit(r) != unicode.IsDigit(prev) && !unicode.Is(unicode.M, r):
				at = i
			}
			if at > start {
				emitPart(w[start:at], emit)
				parts++
				start = at
			}
		}
		prev2, prev, prevAt = prev, r, i
	}
	if parts > 0 {
		emitPart(w[start:], emit)
		emit(term{lower(w), false})
		return
	}
	emitPart(w, emit)
}

// maxSwitches between letters and digits are what names have ("h264", "utf8mb4");
// more are a hash or a key, whose parts mean nothing.
const maxSwitches = 4

func switches(w string) int {
	n := 0
	for i := 1; i < len(w); i++ {
		if (w[i] >= '0' && w[i] <= '9') != (w[i-1] >= '0' && w[i-1] <= '9') {
			n++
		}
	}
	return n
}

func emitPart(p string, emit func(term)) {
	if p != "" {
		emit(term{lower(p), false})
	}
}
