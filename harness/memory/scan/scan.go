// Package scan decides whether a text may stand in the memory, and so in every
// later system prompt.
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
	Kind    Kind
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
		return "holds invisible or direction-changing characters (" + f.Excerpt + ")"
	}
	return "reads like an instruction that takes over the assistant (" + f.Excerpt + ")"
}

// Text returns what is wrong with a text, nil when nothing is.
func Text(s string) *Finding {
	l := strings.ToLower(s)
	if strings.Contains(l, "ignore all previous instructions") {
		return &Finding{Injection, "ignore all previous instructions"}
	}
	if i := strings.Index(s, "<|"); i >= 0 {
		return &Finding{RoleTag, "<|"}
	}
	return nil
}
