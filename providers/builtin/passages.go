package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"perch/chat"
)

// marked matches text from outside as the tools deliver it: between marks that
// name its source.
var marked = regexp.MustCompile(`(?s)<outside source="[^"]*">\n(.*?)\n?</outside>`)

// unmark takes the marks off; marked says whether there were any.
func unmark(s string) (text string, ok bool) {
	if !marked.MatchString(s) {
		return s, false
	}
	return marked.ReplaceAllString(s, "$1"), true
}

const (
	// maxPassages is how many passages an answer quotes.
	maxPassages = 4
	// maxPassage is the longest quoted passage, in bytes.
	maxPassage = 900
)

// passages answers from what a knowledge search found: the best passages,
// quoted, each with its document and lines.
func passages(r *chat.ToolResult, asked bool, topic string, l language) string {
	texts := marked.FindAllStringSubmatch(r.Text, -1)
	if len(r.Sources) == 0 && len(texts) == 0 {
		if asked {
			return l.say("not_found") + "\n\n" + noAnswer(topic, l)
		}
		return l.say("not_found")
	}
	var b strings.Builder
	b.WriteString(l.say("found"))
	n := max(len(texts), len(r.Sources))
	for i := range min(n, maxPassages) {
		b.WriteString("\n\n")
		if i < len(texts) {
			s := strings.TrimSpace(texts[i][1])
			if len(s) > maxPassage {
				s = strings.TrimSpace(clip(s, maxPassage)) + " …"
			}
			b.WriteString("> " + strings.ReplaceAll(s, "\n", "\n> ") + "\n\n")
		}
		if i < len(r.Sources) {
			b.WriteString("— " + sourceName(r.Sources[i], l))
		}
	}
	if asked {
		b.WriteString("\n\n" + l.say("only_quotes"))
	}
	return b.String()
}

// sourceName names a document and its lines. Backquotes keep a path's
// characters from being read as Markdown.
func sourceName(s chat.Source, l language) string {
	name := s.Title
	if name == "" {
		name = path.Base(strings.ReplaceAll(s.Path, `\`, "/"))
	}
	out := "**" + strings.NewReplacer("*", "", "`", "", "\n", " ").Replace(name) + "**"
	switch {
	case s.StartLine > 0 && s.EndLine > s.StartLine:
		out += ", " + l.say("lines", fmt.Sprint(s.StartLine), fmt.Sprint(s.EndLine))
	case s.StartLine > 0:
		out += ", " + l.say("line", fmt.Sprint(s.StartLine))
	}
	if s.Path != "" && s.Path != name {
		out += " (`" + strings.ReplaceAll(s.Path, "`", "'") + "`)"
	}
	return out
}
