package builtin

import (
	"math"
	"math/big"
)

// calcError is why an expression has no value: the name of a sentence in the
// words and its arguments.
type calcError struct {
	name string
	args []string
}

func fail(name string, args ...string) *calcError { return &calcError{name, args} }

func (e *calcError) in(l language) string { return l.say(e.name, e.args...) }

const (
	// maxDepth bounds brackets inside each other: the parser is recursive.
	maxDepth = 200
	// maxTokens bounds an expression.
	maxTokens = 2000
)

// parser evaluates an expression while it reads it.
type parser struct {
	toks  []token
	at    int
	depth int
	// ops counts operators and functions: without any, a text is no calculation.
	ops int
}

// evaluate returns the value of an expression and how many operations it had.
func evaluate(s string, l language) (value, int, *calcError) {
	toks, err := lex(s, l)
	if err != nil {
		return value{}, 0, err
	}
	if len(toks) > maxTokens {
		return value{}, 0, fail("e_deep")
	}
	p := &parser{toks: toks}
	v, err := p.sum()
	if err != nil {
		return value{}, p.ops, err
	}
	if t := p.peek(); t.kind != tokEnd {
		return value{}, p.ops, fail("e_unexpected", t.text)
	}
	return v, p.ops, nil
}

func (p *parser) peek() token { return p.peekAt(0) }

func (p *parser) peekAt(n int) token {
	if p.at+n >= len(p.toks) {
		return token{kind: tokEnd}
	}
	return p.toks[p.at+n]
}

// op consumes one of the operators and reports which.
func (p *parser) op(which ...string) (string, bool) {
	t := p.peek()
	if t.kind != tokOp {
		return "", false
	}
	for _, w := range which {
		if t.text == w {
			p.at++
			return w, true
		}
	}
	return "", false
}

// sum reads terms joined by + and -. As on a desk calculator "50 + 10%" is 55:
// a bare percentage after + or - is one of what stands before it.
func (p *parser) sum() (value, *calcError) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return value{}, fail("e_deep")
	}
	v, _, err := p.product()
	if err != nil {
		return v, err
	}
	for {
		op, ok := p.op("+", "-")
		if !ok {
			return v, nil
		}
		p.ops++
		r, percent, err := p.product()
		if err != nil {
			return v, err
		}
		if percent {
			r = mul(v, r)
		}
		if op == "+" {
			v = add(v, r)
		} else {
			v = sub(v, r)
		}
	}
}

// product reads factors. percent says that it was one bare percentage.
func (p *parser) product() (v value, percent bool, err *calcError) {
	v, percent, err = p.unary()
	if err != nil {
		return v, false, err
	}
	for {
		t := p.peek()
		switch {
		case t.kind == tokOp && (t.text == "*" || t.text == "/" || t.text == "%"):
			p.at++
		case t.kind == tokName && (t.text == "of" || t.text == "von" || t.text == "от" || t.text == "x" || t.text == "х"):
			p.at++
			t.text = "*"
		case t.kind == tokName && t.text == "mod":
			p.at++
			t.text = "%"
		case t.kind == tokOp && (t.text == "(" || t.text == "√"), t.kind == tokName && (known(t.text)):
			t.text = "*" // 2(3+4), 2 pi
		default:
			return v, percent, nil
		}
		p.ops++
		percent = false
		r, _, err := p.unary()
		if err != nil {
			return v, false, err
		}
		switch t.text {
		case "*":
			v = mul(v, r)
		case "/":
			v, err = div(v, r)
		case "%":
			v, err = mod(v, r)
		}
		if err != nil {
			return v, false, err
		}
	}
}

// unary reads signs; -2^2 is -4.
func (p *parser) unary() (value, bool, *calcError) {
	negative := false
	for {
		op, ok := p.op("+", "-")
		if !ok {
			break
		}
		negative = negative != (op == "-")
	}
	v, percent, err := p.power()
	if err == nil && negative {
		v = neg(v)
	}
	return v, percent, err
}

// power reads a ^ b, which binds to the right.
func (p *parser) power() (value, bool, *calcError) {
	v, percent, err := p.postfix()
	if err != nil {
		return v, false, err
	}
	if _, ok := p.op("^"); !ok {
		return v, percent, nil
	}
	p.ops++
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return v, false, fail("e_deep")
	}
	e, _, err := p.unary()
	if err != nil {
		return v, false, err
	}
	v, err = pow(v, e)
	return v, false, err
}

// postfix reads !, ° and the percent sign where it is no remainder.
func (p *parser) postfix() (value, bool, *calcError) {
	v, err := p.primary()
	if err != nil {
		return v, false, err
	}
	percent := false
	for {
		switch t := p.peek(); {
		case t.kind == tokOp && t.text == "!":
			p.at++
			p.ops++
			if v, err = factorial(v); err != nil {
				return v, false, err
			}
		case t.kind == tokOp && t.text == "°":
			p.at++
			v = inexact(v.float() * math.Pi / 180)
		case t.kind == tokOp && t.text == "%" && !p.operandFollows():
			p.at++
			p.ops++
			v, percent = mul(v, value{rat: big.NewRat(1, 100)}), true
		default:
			return v, percent, nil
		}
	}
}

// operandFollows reports whether an operand stands after the next token, so that
// a percent sign there is a remainder. "20% of 50" has none: "of" is an operator.
func (p *parser) operandFollows() bool {
	t := p.peekAt(1)
	switch t.kind {
	case tokNumber:
		return true
	case tokName:
		return known(t.text)
	case tokOp:
		return t.text == "(" || t.text == "√"
	}
	return false
}

// primary reads a number, a constant, a function or brackets.
func (p *parser) primary() (value, *calcError) {
	t := p.peek()
	p.at++
	switch t.kind {
	case tokEnd:
		return value{}, fail("e_end")
	case tokNumber:
		return t.val, nil
	case tokName:
		if c, ok := constants[t.text]; ok {
			return inexact(c), nil
		}
		f, ok := functions[t.text]
		if !ok {
			return value{}, fail("e_unexpected", t.text)
		}
		p.ops++
		args, err := p.args()
		if err != nil {
			return value{}, err
		}
		return f(t.text, args)
	}
	switch t.text {
	case "(":
		v, err := p.sum()
		if err != nil {
			return v, err
		}
		if _, ok := p.op(")"); !ok {
			if n := p.peek(); n.kind != tokEnd {
				return v, fail("e_unexpected", n.text)
			}
			return v, fail("e_paren")
		}
		return v, nil
	case "√":
		p.ops++
		p.depth++
		defer func() { p.depth-- }()
		if p.depth > maxDepth {
			return value{}, fail("e_deep")
		}
		v, err := p.primary()
		if err != nil {
			return v, err
		}
		return functions["sqrt"]("sqrt", []value{v})
	}
	return value{}, fail("e_unexpected", t.text)
}

// args reads a function's values: bracketed, or one bare operand ("sqrt 2").
func (p *parser) args() ([]value, *calcError) {
	if _, ok := p.op("("); !ok {
		p.depth++
		defer func() { p.depth-- }()
		if p.depth > maxDepth {
			return nil, fail("e_deep")
		}
		v, _, err := p.power()
		return []value{v}, err
	}
	var out []value
	for {
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if _, ok := p.op(","); ok {
			continue
		}
		if _, ok := p.op(")"); ok {
			return out, nil
		}
		if n := p.peek(); n.kind != tokEnd {
			return nil, fail("e_unexpected", n.text)
		}
		return nil, fail("e_paren")
	}
}
