package reference

import (
	"fmt"
	"strings"

	"github.com/dlclark/regexp2/v2"
	"github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/normalizer"
)

// gpt2Pattern is what a ByteLevel pre-tokenizer splits by.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// splitFunc cuts a text into pieces that lie end to end.
type splitFunc func(string) []string

// splitter builds the splits of a pre-tokenizer. bytesMapped says that the
// vocabulary writes bytes as printable characters (ByteLevel).
func splitter(c *component, space string) (f splitFunc, bytesMapped bool, err error) {
	whole := func(s string) []string { return []string{s} }
	if c == nil {
		return whole, false, nil
	}
	switch c.Type {
	case "Sequence":
		var all []splitFunc
		for i := range c.PreTokenizers {
			f, b, err := splitter(&c.PreTokenizers[i], space)
			if err != nil {
				return nil, false, err
			}
			bytesMapped = bytesMapped || b
			all = append(all, f)
		}
		return func(s string) []string {
			pieces := []string{s}
			for _, f := range all {
				var next []string
				for _, p := range pieces {
					next = append(next, f(p)...)
				}
				pieces = next
			}
			return pieces
		}, bytesMapped, nil
	case "ByteLevel":
		if c.UseRegex != nil && !*c.UseRegex {
			return whole, true, nil
		}
		f, err := byPattern(gpt2Pattern)
		return f, true, err
	case "Split":
		if c.Pattern.String == " " && space != " " {
			return whole, false, nil // the normaliser leaves no space to split at
		}
		if c.Pattern.Regex == "" {
			break
		}
		if c.Behavior != "Isolated" && (c.Behavior != "Removed" || !c.Invert) {
			break
		}
		f, err := byPattern(c.Pattern.Regex)
		return f, false, err
	}
	return nil, false, fmt.Errorf("its pre-tokenizer %q is not supported", c.Type)
}

// byPattern cuts out the matches of a pattern; what lies between is a piece,
// too.
func byPattern(pattern string) (splitFunc, error) {
	re, err := regexp2.Compile(pattern, regexp2.Unicode)
	if err != nil {
		return nil, fmt.Errorf("its split pattern: %w", err)
	}
	return func(s string) []string {
		var out []string
		runes := []rune(s)
		at := 0
		piece := func(from, to int) {
			if to > from {
				out = append(out, string(runes[from:to]))
			}
		}
		for m, err := re.FindRunesMatch(runes); m != nil && err == nil; m, err = re.FindNextMatch(m) {
			piece(at, m.RuneIndex)
			piece(m.RuneIndex, m.RuneIndex+m.RuneLength)
			at = m.RuneIndex + m.RuneLength
		}
		piece(at, len(runes))
		return out
	}, nil
}

// preTokenizer is the split as the library's interface wants it.
type preTokenizer struct{ split splitFunc }

// PreTokenize cuts the text. The pieces count their offsets from their own
// start; Encode does not use them.
func (p preTokenizer) PreTokenize(in *tokenizer.PreTokenizedString) (*tokenizer.PreTokenizedString, error) {
	return in.Split(func(_ int, n *normalizer.NormalizedString) []tokenizer.SplitIdx {
		pieces := p.split(strings.ToValidUTF8(n.GetNormalized(), "\ufffd"))
		out := make([]tokenizer.SplitIdx, len(pieces))
		for i, s := range pieces {
			out[i] = tokenizer.SplitIdx{Normalized: normalizer.NewNormalizedFrom(s)}
		}
		return out
	}), nil
}
