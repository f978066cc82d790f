package scan

import (
	"regexp"
	"strings"
)

// tokenTag are chat-template tokens: they mean a role to a server that builds its
// prompt as text, quoted or not. The pattern is matched in linear time, as all of
// Go's are.
var tokenTag = regexp.MustCompile(`^(?i:<[|｜][^<>\n]{1,40}[|｜]>|\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>|<｜[^<>\n]{1,40}｜>|\[/?(?:system|sys)_?prompt\]|</?(?:tool_calls?|tool_response|function_calls?|function_results?)>|<(?:bos|eos)>|\[(?:available_tools|tool_calls|tool_results)\])`)

// roleTag are tags that name a role. They are refused outside of code and quotes.
var roleTag = regexp.MustCompile(`^(?i:</?\s*(?:system|assistant|human|user|developer|sys|system[-_ ]?(?:prompt|message|instructions?|override))\s*/?>|\[/?\s*(?:system|assistant|developer)(?:\s+(?:message|prompt|override|instructions?))?\s*\]|###?#?\s*(?:system|instructions?|assistant|human|response|system prompt|new instructions?)\s*:|\x60{3}\s*(?:system|assistant)\s*\n|\{\{?#?(?:system|user|assistant)~?\}?\}|"role"\s*:\s*"(?:system|assistant|developer)")`)

// roleLine is a line that begins like a turn of a transcript.
var roleLine = regexp.MustCompile(`^\s*(?:\*\*|>|-)?\s*(?i:(system|assistant|human|ai|developer))\s*(?:\*\*)?\s*(?i:prompt|message|note)?\s*:\s*(?:\*\*)?\s*`)

func tags(raw string, t *text) *Finding {
	// The normalised text shows what full width or look-alike signs hide.
	for _, s := range []string{raw, t.s} {
		if m := tagAt(s, tokenTag, "<["); m != nil {
			return &Finding{RoleTag, excerpt(s[m[0]:m[1]])}
		}
	}
	for i, s := range []string{t.s, latinised(t.s)} {
		if i > 0 && s == t.s {
			break
		}
		if m := tagAt(s, roleTag, "<[#{\"`"); m != nil && !(i == 0 && within(quotedSpans(s), m) && t.mentions()) {
			return &Finding{RoleTag, excerpt(s[m[0]:m[1]])}
		}
	}
	if f := roleLines(raw); f != nil && !t.mentions() {
		return f
	}
	return nil
}

// agrees are words with which an answer begins.
var agrees = merge(nil, []string{"sure", "ok", "okay", "certainly", "yes", "understood", "absolutely", "i"})

// maxTag is the length in bytes of the longest tag looked for.
const maxTag = 80

// tagAt finds a tag that begins with one of the signs. The pattern looks at each
// sign's surroundings only.
func tagAt(s string, pattern *regexp.Regexp, signs string) []int {
	for i := 0; i < len(s); {
		k := strings.IndexAny(s[i:], signs)
		if k < 0 {
			return nil
		}
		i += k
		if s[i] != '"' || strings.HasPrefix(s[i:], `"role"`) {
			if m := pattern.FindStringIndex(s[i:min(len(s), i+maxTag)]); m != nil {
				return []int{i, i + m[1]}
			}
		}
		i++
	}
	return nil
}

// latinised is a text with look-alike letters as Latin ones.
func latinised(s string) string {
	odd := false
	for _, r := range s {
		if r >= 0x80 && !unspacedScript(r) && lookalikes[r] != 0 {
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
	for line := range strings.Lines(s) {
		if colon := strings.IndexByte(line, ':'); colon < 0 || colon > maxTag {
			continue
		}
		m := roleLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		who := strings.ToLower(line[m[2]:m[3]])
		n := normal(line[m[1]:])
		for i := range n.words {
			w := &n.words[i]
			if i == 0 && (w.role&(roleVerb|roleVerbWeak|roleAct|roleReveal|roleNow|roleMust) != 0 && who != "human" || w.role&roleYou != 0 || w.text == "from" || w.text == "override" || who == "assistant" && agrees[w.text]) ||
				i < 4 && w.role&roleYou != 0 && who == "system" {
				return &Finding{RoleTag, excerpt(line)}
			}
		}
		seen[who] = true
	}
	if seen["human"] && (seen["assistant"] || seen["ai"]) || seen["assistant"] && seen["system"] {
		return &Finding{RoleTag, "a transcript of turns"}
	}
	return nil
}
