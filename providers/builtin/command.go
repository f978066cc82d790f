package builtin

import (
	"encoding/json"
	"fmt"
	"strings"

	"perch/chat"
	"perch/providers"
)

// Tools that slash commands and questions call, by the names of SPEC §5.
const (
	toolKnowledge  = "knowledge_search"
	toolClipboard  = "read_clipboard"
	toolScreenshot = "take_screenshot"
	toolRun        = "run_command"
	toolMemory     = "memory"
	toolRead       = "read_file"
	toolList       = "list_files"
	toolSearch     = "search_files"
	toolFetch      = "web_fetch"
	toolWeb        = "web_search"
)

// maxQuery is the longest query given to a search, in bytes: what follows the
// first hundred words is no query any more.
const maxQuery = 1000

// commandSpec says how a slash command becomes a call.
type commandSpec struct {
	tool string
	// arg is the name of the input that takes the rest of the line; "" for none.
	arg string
	// fixed are further inputs.
	fixed map[string]any
	// optional says that the rest may be missing.
	optional bool
}

// commands are the slash commands besides /help.
var commands = map[string]commandSpec{
	"clip":     {tool: toolClipboard},
	"shot":     {tool: toolScreenshot},
	"run":      {tool: toolRun, arg: "command"},
	"find":     {tool: toolKnowledge, arg: "query"},
	"remember": {tool: toolMemory, arg: "text", fixed: map[string]any{"action": "add", "part": "notes"}},
	"read":     {tool: toolRead, arg: "path"},
	"list":     {tool: toolList, arg: "path", optional: true},
	"search":   {tool: toolSearch, arg: "pattern", fixed: map[string]any{"literal": true}},
	"fetch":    {tool: toolFetch, arg: "url"},
	"web":      {tool: toolWeb, arg: "query"},
}

// Asked returns the desktop things ("clipboard.read", "screenshot") that the user
// asks for by a slash command at the beginning of a message. They may then be
// read without a question, whatever model answers.
func Asked(text string) []string {
	name, _, ok := slash(strings.TrimSpace(text))
	if !ok {
		return nil
	}
	switch commands[name].tool {
	case toolClipboard:
		return []string{"clipboard.read"}
	case toolScreenshot:
		return []string{"screenshot"}
	}
	return nil
}

// slash splits a command line. A path such as /etc/hosts is no command.
func slash(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return "", "", false
	}
	name, rest = text[1:], ""
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name, rest = name[:i], strings.TrimSpace(name[i:])
	}
	name = strings.ToLower(name)
	if name == "" {
		return "help", "", true
	}
	for _, r := range name {
		if r < 'a' || r > 'z' {
			return "", "", false
		}
	}
	return name, rest, true
}

// command turns a slash command into a call, or says why not.
func command(defs []chat.ToolDef, name, rest string, l language) answer {
	if name == "help" {
		if rest != "" {
			if topic, _ := findHelp(rest, l); topic != "" {
				return answer{text: helpText(topic, l)}
			}
		}
		return answer{text: helpText("commands", l)}
	}
	spec, ok := commands[name]
	if !ok {
		return answer{text: l.say("unknown_command", name) + "\n\n" + helpText("commands", l)}
	}
	if findTool(defs, spec.tool) == nil {
		return answer{text: l.say("no_tool", name, spec.tool)}
	}
	in := map[string]any{}
	for k, v := range spec.fixed {
		in[k] = v
	}
	switch {
	case spec.arg == "":
	case rest != "":
		in[spec.arg] = rest
	case !spec.optional:
		return answer{text: l.say("needs_text", name, name)}
	}
	b, err := json.Marshal(in)
	if err != nil {
		return answer{text: l.say("nothing")}
	}
	return answer{calls: []chat.ToolCall{{Name: spec.tool, Input: string(b)}}}
}

// maxShown is how much of a tool's text an answer quotes, in bytes. The whole
// result stands in the conversation.
const maxShown = 6000

// afterTools answers when the calls have their results. It never calls again.
func afterTools(req *providers.Request, q question, l language) answer {
	topic := ""
	asked := true
	if _, _, ok := slash(strings.TrimSpace(q.text)); ok {
		asked = false
	} else {
		topic, _ = findHelp(q.text, l)
	}
	var b strings.Builder
	if q.images > 0 && asked {
		b.WriteString(l.say("images") + "\n\n")
	}
	for i, x := range q.rounds {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(report(x, asked, topic, l))
	}
	if asked && len(q.files) > 0 {
		b.WriteString("\n\n" + l.say("no_model") + "\n\n" + l.say("connect"))
	}
	return answer{text: b.String()}
}

// report says what came of one call.
func report(x exchange, asked bool, topic string, l language) string {
	r := x.result
	switch {
	case r.Failure == chat.FailRefused:
		return l.say("refused", x.call.Name) + quoteReason(r.Text)
	case r.IsError:
		s := l.say("failed", x.call.Name) + quoteReason(r.Text)
		if asked {
			s += "\n\n" + noAnswer(topic, l)
		}
		return s
	}
	switch x.call.Name {
	case toolKnowledge:
		return passages(r, asked, topic, l)
	case toolClipboard:
		text := marked.FindStringSubmatch(r.Text)
		switch {
		case text != nil && len(r.Images) > 0:
			return l.say("clip_both") + "\n\n" + fence(text[1])
		case text != nil:
			return l.say("clip_text") + "\n\n" + fence(text[1])
		case len(r.Images) > 0:
			return l.say("clip_image")
		case strings.Contains(r.Text, "is empty"):
			return l.say("clip_empty")
		}
		return quote(r.Text)
	case toolScreenshot:
		return l.say("shot") + " " + r.Text
	case toolRun:
		return l.say("ran", inputOf(x.call, "command")) + "\n\n" + fence(r.Text)
	case toolMemory:
		return l.say("remembered") + " " + r.Text
	case toolFetch, toolWeb:
		text, _ := unmark(r.Text)
		return quote(text)
	}
	text, _ := unmark(r.Text)
	return l.say("result", x.call.Name) + "\n\n" + fence(text)
}

func quoteReason(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	return "\n\n" + quote(s)
}

// inputOf reads one string of a call's input.
func inputOf(c *chat.ToolCall, key string) string {
	var in map[string]any
	if json.Unmarshal([]byte(c.Input), &in) != nil {
		return ""
	}
	s, _ := in[key].(string)
	return s
}

// quote is a Markdown quotation.
func quote(s string) string {
	s = shorten(strings.TrimSpace(s))
	return "> " + strings.ReplaceAll(s, "\n", "\n> ")
}

// fence is a Markdown code block whose fence the text cannot close.
func fence(s string) string {
	s = shorten(strings.Trim(s, "\n"))
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + "\n" + s + "\n" + ticks
}

// shorten keeps head and tail of a long text.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	head := clip(s, maxShown*2/3)
	tail := s[len(s)-maxShown/3:]
	for len(tail) > 0 && tail[0]&0xC0 == 0x80 {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[… %d …]\n%s", head, len(s)-len(head)-len(tail), tail)
}
