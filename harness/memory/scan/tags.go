package scan

import (
	"regexp"
	"strings"
)

// tokenTag are chat-template tokens: they mean a role to a server that builds its
// prompt as text, quoted or not. The pattern is matched in linear time, as all of
// Go's are.
var tokenTag = regexp.MustCompile(`(?i)<[|｜][^<>\n]{1,40}[|｜]>|\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>|<｜[^<>\n]{1,40}｜>|\[/?(?:system|sys)_?prompt\]|</?(?:tool_calls?|tool_response|function_calls?|function_results?)>|<(?:bos|eos)>|\[(?:available_tools|tool_calls|tool_results)\]`)

// roleTag are tags that name a role. They are refused outside of code and quotes.
var roleTag = regexp.MustCompile(`(?i)</?\s*(?:system|assistant|human|user|developer|sys|system[-_ ]?(?:prompt|message|instructions?|override))\s*/?>|\[/?\s*(?:system|assistant|developer)(?:\s+(?:message|prompt|override|instructions?))?\s*\]|###?#?\s*(?:system|instructions?|assistant|human|response|system prompt|new instructions?)\s*:|\{\{?#?(?:system|user|assistant)~?\}?\}|"role"\s*:\s*"(?:system|assistant|developer)"`)

// roleLine is a line that begins like a turn of a transcript.
var roleLine = regexp.MustCompile(`(?im)^\s*(?:\*\*|>|-)?\s*(system|assistant|human|ai|developer)\s*(?:\*\*)?\s*(?:prompt|message|note)?\s*:\s*(?:\*\*)?\s*`)

func tags(raw string, t *text) *Finding {
	if m := tokenTag.FindString(raw); m != "" {
		return &Finding{RoleTag, excerpt(m)}
	}
	// The normalised text shows what full width or look-alike signs hide.
	for _, s := range []string{raw, t.s} {
		if m := tokenTag.FindString(s); m != "" {
			return &Finding{RoleTag, excerpt(m)}
		}
	}
	for _, s := range []string{t.s, latinised(t.s)} {
		if m := roleTag.FindStringIndex(s); m != nil && !(s == t.s && within(quotedSpans(s), m) && t.mentions()) {
			return &Finding{RoleTag, excerpt(s[m[0]:m[1]])}
		}
	}
	if f := roleLines(raw); f != nil && !t.mentions() {
		return f
	}
	return nil
}

// latinised is a text with look-alike letters as Latin ones.
func latinised(s string) string {
	odd := false
	for _, r := range s {
		if lookalikes[r] != 0 {
			odd = true
			break
		}
	}
	if !odd {
		return s
	}
	return strings.Map(func(r rune) rune {
		if c := lookalikes[r]; c != 0 {
			return rune(c)
		}
		return r
	}, s)
}

func within(spans [][2]int, m []int) bool {
	for _, q := range spans {
		if m[0] >= q[0] && m[1] <= q[1]+1 {
			return true
		}
	}
	return false
}

// mentions reports whether a text talks about such phrases.
func (t *text) mentions() bool {
	for i := range t.words {
		if !t.words[i].quoted && t.words[i].role&(roleMention|roleReport) != 0 {
			return true
		}
	}
	return false
}

// roleLines finds transcripts: "Human: …\nAssistant: …", or one turn of a system
// that gives orders. "System: Debian 12" is a fact.
func roleLines(s string) *Finding {
	seen := map[string]bool{}
	for _, m := range roleLine.FindAllStringSubmatchIndex(s, -1) {
		who := strings.ToLower(s[m[2]:m[3]])
		rest := s[m[1]:]
		if line, _, ok := strings.Cut(rest, "\n"); ok {
			rest = line
		}
		n := normal(rest)
		for i := range n.words {
			w := &n.words[i]
			if i == 0 && (w.role&(roleVerb|roleVerbWeak|roleAct|roleReveal|roleNow|roleMust) != 0 && who != "human" || w.role&roleYou != 0 || w.text == "from" || w.text == "override") ||
				i < 4 && w.role&roleYou != 0 && who == "system" {
				return &Finding{RoleTag, excerpt(s[m[0]:min(len(s), m[1]+30)])}
			}
		}
		seen[who] = true
	}
	if seen["human"] && (seen["assistant"] || seen["ai"]) || seen["assistant"] && seen["system"] {
		return &Finding{RoleTag, "a transcript of turns"}
	}
	return nil
}
