package transcript

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// mathNode is inline mathematics.
type mathNode struct {
	ast.BaseInline
	tex string
}

var kindMath = ast.NewNodeKind("Math")

// Kind is the kind of inline mathematics.
func (*mathNode) Kind() ast.NodeKind { return kindMath }

// Dump writes the node for debugging.
func (n *mathNode) Dump(src []byte, level int) {
	ast.DumpHelper(n, src, level, map[string]string{"tex": n.tex}, nil)
}

// mathParser finds \(…\) and $…$. A dollar that is money stays money: the
// opening one must be followed, the closing one preceded, by something other
// than a space, and no digit may follow the closing one.
type mathParser struct{}

// Trigger are the bytes that may begin mathematics.
func (mathParser) Trigger() []byte { return []byte{'$', '\\'} }

// Parse reads mathematics, or nil.
func (mathParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	open, end := "$", "$"
	switch {
	case bytes.HasPrefix(line, []byte(`\(`)):
		open, end = `\(`, `\)`
	case bytes.HasPrefix(line, []byte("$$")):
		open, end = "$$", "$$"
	case line[0] != '$':
		return nil
	}
	body := line[len(open):]
	n := bytes.Index(body, []byte(end))
	if n <= 0 {
		return nil
	}
	tex, after := body[:n], body[n+len(end):]
	if open == "$" {
		if tex[0] == ' ' || tex[n-1] == ' ' || tex[n-1] == '\\' || (len(after) > 0 && after[0] >= '0' && after[0] <= '9') || !looksLikeMath(tex) {
			return nil
		}
	}
	block.Advance(len(open) + n + len(end))
	return &mathNode{tex: string(tex)}
}

// looksLikeMath keeps "$5 and $" from being mathematics: it holds a single
// letter, or one of the signs that formulas are made of.
func looksLikeMath(tex []byte) bool {
	return len(tex) == 1 && !(tex[0] >= '0' && tex[0] <= '9') || bytes.ContainsAny(tex, `\^_=+<>{}()/*|`) || !bytes.ContainsAny(tex, " ")
}

// texSigns are commands that have a sign of their own.
var texSigns = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
	"theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
	"sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
	"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
	"times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠",
	"approx": "≈", "equiv": "≡", "sim": "∼", "propto": "∝", "infty": "∞", "partial": "∂", "nabla": "∇", "sum": "∑", "prod": "∏",
	"int": "∫", "iint": "∬", "oint": "∮", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "cup": "∪", "cap": "∩",
	"emptyset": "∅", "forall": "∀", "exists": "∃", "neg": "¬", "land": "∧", "lor": "∨", "to": "→", "rightarrow": "→", "leftarrow": "←",
	"Rightarrow": "⇒", "Leftarrow": "⇐", "Leftrightarrow": "⇔", "iff": "⇔", "implies": "⇒", "mapsto": "↦", "dots": "…", "ldots": "…",
	"cdots": "⋯", "circ": "∘", "degree": "°", "angle": "∠", "perp": "⊥", "parallel": "∥", "hbar": "ℏ", "ell": "ℓ", "Re": "ℜ", "Im": "ℑ",
	"langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "quad": "  ", "qquad": "    ",
	"left": "", "right": "", "big": "", "Big": "", "bigg": "", "Bigg": "", "displaystyle": "", "limits": "", "nolimits": "",
	"star": "⋆", "prime": "′", "mid": "|", "setminus": "∖", "oplus": "⊕", "otimes": "⊗", "ll": "≪", "gg": "≫",
}

var (
	superscripts = runeMap("0123456789+-=()nixyabcdefghjklmoprstuvw", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷ")
	subscripts   = runeMap("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")

	texSpaces = strings.NewReplacer(`\,`, " ", `\;`, " ", `\:`, " ", `\!`, "", `\ `, " ", `\\`, "\n", `\{`, "\x01", `\}`, "\x02", `\%`, "%", `\$`, "$", `\_`, "\x03", `\&`, "\x04", "&", " ")
	texBack   = strings.NewReplacer("\x01", "{", "\x02", "}", "\x03", "_", "\x04", "&")
	environs  = regexp.MustCompile(`\\(begin|end)\{[a-zA-Z*]+\}(\{[lcr|]*\})?`)
	blanks    = regexp.MustCompile(`[ \t]+`)
)

func runeMap(from, to string) map[rune]rune {
	m, t := map[rune]rune{}, []rune(to)
	for i, r := range []rune(from) {
		m[r] = t[i]
	}
	return m
}

// ReadableMath writes TeX mathematics as text that can be read: Greek letters
// and signs as themselves, raised and lowered digits, fractions with a slash.
func ReadableMath(tex string) string {
	p := texReader{s: []rune(texSpaces.Replace(environs.ReplaceAllString(tex, "")))}
	out := p.until(0)
	lines := strings.Split(texBack.Replace(out), "\n")
	kept := lines[:0]
	for _, l := range lines {
		if l = strings.TrimSpace(blanks.ReplaceAllString(l, " ")); l != "" {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// texReader reads TeX from left to right.
type texReader struct {
	s     []rune
	depth int
}

// maxTexDepth bounds nesting; deeper braces are dropped rather than followed.
const maxTexDepth = 40

// until reads up to the closing rune, or to the end for 0.
func (p *texReader) until(end rune) string {
	if p.depth++; p.depth > maxTexDepth {
		p.s = nil
	}
	defer func() { p.depth-- }()
	var b strings.Builder
	for len(p.s) > 0 {
		r := p.s[0]
		switch {
		case end != 0 && r == end:
			p.s = p.s[1:]
			return b.String()
		case r == '\\':
			b.WriteString(p.command())
		case r == '{':
			p.s = p.s[1:]
			b.WriteString(p.until('}'))
		case r == '}':
			p.s = p.s[1:]
		case r == '^' || r == '_':
			p.s = p.s[1:]
			b.WriteString(script(p.argument(), r))
		default:
			p.s = p.s[1:]
			b.WriteRune(r)
		}
	}
	return b.String()
}

// argument reads one argument of a command: a group, a command or a character.
func (p *texReader) argument() string {
	for len(p.s) > 0 && p.s[0] == ' ' {
		p.s = p.s[1:]
	}
	switch {
	case len(p.s) == 0:
		return ""
	case p.s[0] == '{':
		p.s = p.s[1:]
		return p.until('}')
	case p.s[0] == '\\':
		return p.command()
	}
	r := p.s[0]
	p.s = p.s[1:]
	return string(r)
}

// command reads a command and what belongs to it.
func (p *texReader) command() string {
	p.s = p.s[1:]
	n := 0
	for n < len(p.s) && (p.s[n] >= 'a' && p.s[n] <= 'z' || p.s[n] >= 'A' && p.s[n] <= 'Z') {
		n++
	}
	name := string(p.s[:n])
	p.s = p.s[n:]
	switch name {
	case "frac", "dfrac", "tfrac":
		num, den := p.argument(), p.argument()
		return group(num) + "/" + group(den)
	case "sqrt":
		root := "√"
		if len(p.s) > 0 && p.s[0] == '[' {
			p.s = p.s[1:]
			root = script(p.until(']'), '^') + "√"
		}
		return root + group(p.argument())
	case "binom":
		n, k := p.argument(), p.argument()
		return "C(" + n + ", " + k + ")"
	case "vec", "hat", "bar", "tilde", "overline", "dot":
		marks := map[string]string{"vec": "\u20d7", "hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "overline": "\u0305", "dot": "\u0307"}
		return p.argument() + marks[name]
	case "text", "mathrm", "mathbf", "mathit", "mathcal", "mathbb", "operatorname", "textbf", "boldsymbol", "mathsf":
		return p.argument()
	case "":
		return ""
	}
	if sign, ok := texSigns[name]; ok {
		return sign
	}
	return name // sin, log, lim…
}

// script raises or lowers a text, with signs of Unicode where all have one.
func script(s string, mark rune) string {
	table := superscripts
	if mark == '_' {
		table = subscripts
	}
	var b strings.Builder
	for _, r := range s {
		t, ok := table[r]
		if !ok {
			if len([]rune(s)) == 1 {
				return string(mark) + s
			}
			return string(mark) + "(" + s + ")"
		}
		b.WriteRune(t)
	}
	return b.String()
}

// group puts what is more than one thing into parentheses.
func group(s string) string {
	if len([]rune(s)) <= 1 || !strings.ContainsAny(s, " +-−·×/=") {
		return s
	}
	return "(" + s + ")"
}
