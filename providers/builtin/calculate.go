package builtin

import (
	"regexp"
	"strings"
	"unicode"
)

// openings are the words around a calculation that people write.
var openings = []string{
	"what is", "what's", "whats", "how much is", "calculate", "compute", "convert", "please", "solve", "evaluate", "=",
	"was ist", "was sind", "wie viel ist", "wieviel ist", "wie viel sind", "wieviel sind", "berechne", "rechne", "bitte", "wandle",
	"сколько будет", "сколько это", "посчитай", "вычисли", "переведи", "сколько", "чему равно", "чему равен",
	"计算一下", "计算", "请计算", "请问", "算一下", "换算", "请",
}

// closings are what people put after one.
var closings = []string{"=", "?", "？", "。", ".", "please", "bitte", "пожалуйста", "等于多少", "是多少", "等于几", "um", "gleich", "=?"}

// wordOperators are operators as words, longest first.
var wordOperators = strings.NewReplacer(
	" divided by ", " / ", " multiplied by ", " * ", " times ", " * ", " plus ", " + ", " minus ", " - ", " over ", " / ",
	" to the power of ", " ^ ", " squared", "^2", " cubed", "^3", "square root of ", "sqrt ", " percent", "%",
	" geteilt durch ", " / ", " mal ", " * ", " hoch ", " ^ ", "wurzel aus ", "sqrt ", " prozent", "%",
	" разделить на ", " / ", " делить на ", " / ", " умножить на ", " * ", " плюс ", " + ", " минус ", " - ",
	" в степени ", " ^ ", "корень из ", "sqrt ", " процентов", "%", " процента", "%",
	"加上", " + ", "减去", " - ", "乘以", " * ", "除以", " / ", "加", " + ", "减", " - ", "乘", " * ", "除", " / ", "的平方", "^2",
)

// chinesePercent is "80 的 15%".
var chinesePercent = regexp.MustCompile(`^\s*([0-9.,]+)\s*的\s*([0-9.]+)\s*[%％]\s*$`)

// notMath are texts that look like a calculation and are none: dates, times,
// addresses, version and telephone numbers.
var notMath = []*regexp.Regexp{
	regexp.MustCompile(`^\d{4}-\d{1,2}-\d{1,2}$`),
	regexp.MustCompile(`^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}$`),
	regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2})?$`),
	regexp.MustCompile(`^\+?\d[\d ()/-]*-\d{3,}[\d ()/-]*$`),
	regexp.MustCompile(`^\+\d[\d ]+$`),
	regexp.MustCompile(`^0\d+[/ -]\d+$`),
}

// calculate answers arithmetic and unit conversions; ok is false where the text
// is neither.
func calculate(text string, l language) (answer string, ok bool) {
	const longest = 1000 // bytes; nothing longer was typed as a calculation
	text = strings.TrimSpace(text)
	if len(text) > longest {
		return "", false
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsDigit(r) || r == 'π' || r == '√' }) && !looksFunctional(text) {
		if from, to, ok := questionForm(text); ok { // how many seconds are in a day
			return convertPair(from, to, l)
		}
		return "", false
	}
	for _, re := range notMath {
		if re.MatchString(text) {
			return "", false
		}
	}
	expr := stripWords(text)
	if m := chinesePercent.FindStringSubmatch(expr); m != nil {
		expr = m[2] + "% of " + m[1]
	}
	if s, ok := convertText(expr, l); ok {
		return s, true
	}
	if expr != text {
		if s, ok := convertText(text, l); ok {
			return s, true
		}
	}
	for _, re := range notMath {
		if re.MatchString(expr) {
			return "", false
		}
	}
	low := wordOperators.Replace(strings.ToLower(expr))
	v, ops, err := evaluate(low, l)
	switch {
	case err != nil:
		if ops == 0 && err.name == "e_unexpected" || !looksLikeMath(low) {
			return "", false
		}
		return l.say("calc_failed", err.in(l)), true
	case ops == 0:
		return "", false
	}
	s, approx, err := v.format()
	if err != nil {
		return l.say("calc_failed", err.in(l)), true
	}
	eq := " = "
	if approx {
		eq = " ≈ "
	}
	return showExpression(low) + eq + "**" + s + "**", true
}

// looksFunctional reports a text such as sqrt(pi), which has no digit.
func looksFunctional(text string) bool {
	name, _, ok := strings.Cut(strings.ToLower(stripWords(text)), "(")
	return ok && known(strings.TrimSpace(name))
}

// looksLikeMath reports whether a text that could not be calculated was meant to
// be: it has digits and an operator, and no words but functions.
func looksLikeMath(s string) bool {
	digits, ops := false, false
	word := strings.Builder{}
	flush := func() bool {
		w := word.String()
		word.Reset()
		return w == "" || known(w) || w == "of" || w == "mod" || w == "x"
	}
	for _, r := range s {
		if unicode.IsLetter(r) {
			word.WriteRune(r)
			continue
		}
		if !flush() {
			return false
		}
		switch {
		case unicode.IsDigit(r):
			digits = true
		case strings.ContainsRune("+-*/^%!×÷·√()", r):
			ops = true
		case unicode.IsSpace(r) || strings.ContainsRune(".,;'_:°", r):
		default:
			return false
		}
	}
	return flush() && digits && ops
}

// stripWords removes the words around a calculation.
func stripWords(s string) string {
	for changed := true; changed; {
		changed = false
		s = strings.TrimSpace(s)
		low := lower(s)
		for _, w := range openings {
			if rest, ok := strings.CutPrefix(low, w); ok && boundary(w, rest) {
				s, changed = s[len(w):], true
				break
			}
		}
		if changed {
			continue
		}
		for _, w := range closings {
			if rest, ok := strings.CutSuffix(low, w); ok && rest != "" && (!isWord(w) || strings.HasSuffix(rest, " ")) {
				s, changed = s[:len(rest)], true
				break
			}
		}
	}
	return s
}

// boundary reports whether an opening ends as a word.
func boundary(w, rest string) bool {
	if !isWord(w) {
		return true
	}
	return rest != "" && (rest[0] == ' ' || rest[0] == ':' || rest[0] == '\n' || rest[0] == '\t')
}

// isWord reports whether a phrase is written with blanks around it.
func isWord(w string) bool {
	for _, r := range w {
		if unicode.IsLetter(r) && !unicode.Is(unicode.Han, r) {
			return true
		}
	}
	return false
}

// showExpression is an expression as it stands in an answer: escaped, so that
// Markdown does not read its stars.
func showExpression(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("**", "^", "*", "×", "_", "").Replace(s)
}
