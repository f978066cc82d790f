package builtin

import (
	"encoding/json"
	"strings"

	"perch/chat"
	"perch/providers"
)

// answer is what the stand-in says: text, calls, or both.
type answer struct {
	text  string
	calls []chat.ToolCall
}

// maxInput is how much of a question is looked at, in bytes. Nothing that can be
// answered here is longer.
const maxInput = 16 << 10

// respond decides what to say. It reads the newest question and what followed it.
func respond(req *providers.Request) answer {
	q := questionOf(req.Messages)
	if isSummaryRequest(req, q.raw) {
		return answer{text: summarise(q.raw, req.MaxOutput)}
	}
	l := languageOf(q.text)
	var a answer
	switch {
	case len(q.rounds) > 0:
		a = afterTools(req, q, l)
	case strings.TrimSpace(q.text) == "" && q.images == 0 && len(q.files) == 0:
		a = answer{text: helpText("commands", l)}
	default:
		a = firstAnswer(req, q, l)
	}
	if strings.TrimSpace(a.text) == "" && len(a.calls) == 0 {
		a.text = l.say("nothing")
	}
	a.text = fit(a.text, req.MaxOutput, l)
	return a
}

// question is the newest question of a history and the tool rounds since.
type question struct {
	raw    string // as it stands in the history
	text   string // without the list of attached files
	images int
	files  []string // attached to it
	rounds []exchange
}

// exchange is one call and its result.
type exchange struct {
	call   *chat.ToolCall
	result *chat.ToolResult
}

// questionOf finds the newest message of the user. Later messages of the harness
// are not questions.
func questionOf(msgs []chat.Message) question {
	at := -1
	for i := range msgs {
		m := &msgs[i]
		if m.Role == chat.RoleUser && m.Kind == chat.KindOrdinary {
			at = i
		}
	}
	var q question
	if at < 0 {
		return q
	}
	for i := range msgs[at].Parts {
		if msgs[at].Parts[i].Type == chat.PartImage {
			q.images++
		}
	}
	q.raw = msgs[at].PlainText()
	q.text, q.files = splitAttached(q.raw)
	calls := map[string]*chat.ToolCall{}
	for i := at + 1; i < len(msgs); i++ {
		m := &msgs[i]
		for _, c := range m.Calls() {
			calls[c.ID] = c
		}
		if m.Result != nil {
			c := calls[m.Result.CallID]
			if c == nil {
				c = &chat.ToolCall{Name: m.Result.Name}
			}
			q.rounds = append(q.rounds, exchange{c, m.Result})
		}
	}
	return q
}

// attachedMark is the line before the list of attached files, as the harness
// writes it.
const attachedMark = "Attached files (read them with read_file):"

// maxAttached is how many attached files are read: each is shown whole.
const maxAttached = 3

// splitAttached takes the list of attached files off a question.
func splitAttached(text string) (question string, files []string) {
	question, list, ok := strings.Cut(text, attachedMark)
	if !ok {
		return text, nil
	}
	for _, l := range strings.Split(list, "\n") {
		if f, ok := strings.CutPrefix(strings.TrimSpace(l), "- "); ok && len(files) < maxAttached {
			files = append(files, f)
		}
	}
	return strings.TrimSpace(question), files
}

// readAttached calls for the attached files.
func readAttached(files []string) answer {
	var a answer
	for _, f := range files {
		in, _ := json.Marshal(map[string]string{"path": f}) // a map of strings always encodes
		a.calls = append(a.calls, chat.ToolCall{Name: toolRead, Input: string(in)})
	}
	return a
}

// firstAnswer answers a question before any tool has run.
func firstAnswer(req *providers.Request, q question, l language) answer {
	text := strings.TrimSpace(q.text)
	tooLong := len(text) > maxInput
	if name, rest, ok := slash(text); ok && !tooLong {
		return command(req.Tools, name, rest, l)
	}
	var note string
	if q.images > 0 {
		note = l.say("images") + "\n\n"
		if text == "" {
			return answer{text: note + l.say("connect")}
		}
	}
	if tooLong {
		return answer{text: note + l.say("too_long") + "\n\n" + l.say("connect")}
	}
	if s, ok := calculate(text, l); ok {
		return answer{text: note + s}
	}
	if len(q.files) > 0 && findTool(req.Tools, toolRead) != nil {
		return readAttached(q.files)
	}
	topic, strong := findHelp(text, l)
	if strong {
		return answer{text: note + helpText(topic, l)}
	}
	if def := findTool(req.Tools, toolKnowledge); def != nil {
		in, _ := json.Marshal(map[string]any{"query": clip(text, maxQuery)})
		return answer{calls: []chat.ToolCall{{Name: toolKnowledge, Input: string(in)}}}
	}
	return answer{text: note + noAnswer(topic, l)}
}

// noAnswer is said when nothing is known: honestly, with the nearest help.
func noAnswer(topic string, l language) string {
	s := l.say("no_model") + "\n\n" + l.say("connect")
	if topic != "" {
		s += "\n\n---\n\n" + helpText(topic, l)
	} else {
		s += "\n\n" + l.say("see_help")
	}
	return s
}

// findTool returns the definition of a tool that the request offers, or nil.
func findTool(defs []chat.ToolDef, name string) *chat.ToolDef {
	for i := range defs {
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

// bytesPerToken is a safe ratio for the answers given here: a Chinese character
// has three bytes and is at most about one token and a half.
const bytesPerToken = 2

// fit shortens a text so that it stays within the output limit. An answer is
// never cut off in the middle of a sentence without saying so.
func fit(s string, maxOutput int, l language) string {
	limit := maxOutput * bytesPerToken
	if maxOutput <= 0 || len(s) <= limit {
		return s
	}
	more := "\n\n" + l.say("shortened")
	if limit <= len(more) {
		return clip(s, max(limit, 1))
	}
	return clip(s, limit-len(more)) + more
}

// clip cuts a text to at most n bytes at a character's boundary. At least one
// character stays.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := 0
	for i, r := range s {
		next := i + len(string(r))
		if next > n && i > 0 {
			break
		}
		end = next
	}
	return s[:min(end, len(s))]
}
