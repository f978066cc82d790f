// Package scan decides whether a text may stand in the memory, and so in every
// later system prompt.
//
// It looks for orders that would take the assistant over (in many languages,
// also spaced, in leet, with look-alike letters, full width, encoded), for the
// role tags of chat models, for commands and images that carry data out, and for
// characters that cannot be seen. Phrases are found by grammar, verb and object
// with what stands between, not by a list of sentences. A note about such
// phrases that quotes them passes.
//
// The time is linear in the length of the text; no regular expression that
// backtracks is used.
package scan

import "strings"

// Kind is what was found.
type Kind string

// The kinds of findings.
const (
	Injection Kind = "injection"
	RoleTag   Kind = "role_tag"
	Exfil     Kind = "exfiltration"
	Invisible Kind = "invisible"
)

// Finding says what was found and where.
type Finding struct {
	Kind Kind
	// Excerpt is the place in the text, with what cannot be seen spelled out.
	Excerpt string
}

// Reason completes the sentence "the text …".
func (f *Finding) Reason() string {
	switch f.Kind {
	case RoleTag:
		return "holds a role tag of chat models (" + f.Excerpt + ")"
	case Exfil:
		return "would carry data out (" + f.Excerpt + ")"
	case Invisible:
		return "holds characters that cannot be seen or turn the direction (" + f.Excerpt + ")"
	}
	return "reads like an order that takes over the assistant (" + f.Excerpt + ")"
}

// maxScan is the length in bytes beyond which nothing is looked at: no entry is
// that long, and a text of any size must not cost more.
const maxScan = 64 << 10

// Text returns what is wrong with a text, nil when nothing is.
func Text(s string) *Finding {
	if len(s) > maxScan {
		return &Finding{Invisible, "it is far too long to be read"}
	}
	if f := invisible(s); f != nil {
		return f
	}
	return content(s, 0)
}

// maxDepth is how many encodings inside one another are undone.
const maxDepth = 2

// content looks at what a text says, and at what it says once decoded.
func content(s string, depth int) *Finding {
	n := normal(s)
	if f := tags(s, n); f != nil {
		return f
	}
	if f := exfil(s, n); f != nil {
		return f
	}
	if f := phrases(n); f != nil {
		return f
	}
	if depth >= maxDepth {
		return nil
	}
	for _, d := range decoded(s) {
		if f := content(d, depth+1); f != nil {
			return &Finding{f.Kind, "encoded: " + f.Excerpt}
		}
	}
	return nil
}

// excerpt is a place in a text, short and on one line.
func excerpt(s string) string {
	const runes = 60
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > runes {
		return string(r[:runes]) + "…"
	}
	return string(r)
}
