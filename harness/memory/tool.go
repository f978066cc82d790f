package memory

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"perch/chat"
	"perch/harness/memory/scan"
)

//go:embed tool.md
var toolText string

const toolSchema = `{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["add","replace","remove"]},` +
	`"part":{"type":"string","enum":["profile","notes"],"description":"Needed for add; narrows the search otherwise."},` +
	`"text":{"type":"string","description":"add: the entry. replace, remove: a text that stands in exactly one entry."},` +
	`"new_text":{"type":"string","description":"replace: what stands there instead."}},` +
	`"required":["action","text"],"additionalProperties":false}`

// Tool is the memory tool.
type Tool struct{ m *Memory }

// Tool returns the tool with which the model changes this memory.
func (m *Memory) Tool() *Tool { return &Tool{m} }

var (
	_ chat.Tool   = (*Tool)(nil)
	_ chat.Needer = (*Tool)(nil)
)

// Definition returns what the model is told.
func (*Tool) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "memory", Description: strings.TrimSpace(toolText), Schema: json.RawMessage(toolSchema)}
}

// Needs says that the memory may be changed without asking.
func (*Tool) Needs(context.Context, json.RawMessage, chat.Env) ([]chat.Need, error) {
	return []chat.Need{{Kind: chat.NeedOther, Subject: "memory", Free: true}}, nil
}

type toolInput struct {
	Action  string `json:"action"`
	Part    string `json:"part"`
	Text    string `json:"text"`
	NewText string `json:"new_text"`
}

// Execute adds, replaces or removes an entry.
func (t *Tool) Execute(_ context.Context, input json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in toolInput
	if err := json.Unmarshal(input, &in); err != nil {
		return chat.ToolResult{}, fmt.Errorf("read the input: %w", err)
	}
	text, err := t.run(&in)
	var refused *chat.Error
	if errors.As(err, &refused) && refused.Class == chat.ClassRefusal && env != nil {
		// The user must see that a text was turned away, and why.
		env.Progress(refused.Message)
	}
	if err != nil {
		return chat.ToolResult{}, err
	}
	return chat.ToolResult{Text: text}, nil
}

func (t *Tool) run(in *toolInput) (string, error) {
	if in.Part != "" {
		if err := checkPart(in.Part); err != nil {
			return "", err
		}
	}
	switch in.Action {
	case "add":
		return t.add(in)
	case "replace":
		return t.replace(in)
	case "remove":
		at, err := t.m.find(in.Part, in.Text, false)
		if err != nil {
			return "", err
		}
		entries, err := t.m.remove(at)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Removed %q. %s", at.entry, level(at.part, entries)), nil
	}
	return "", fmt.Errorf("there is no action %q: use add, replace or remove", in.Action)
}

func (t *Tool) add(in *toolInput) (string, error) {
	if in.Part == "" {
		return "", errors.New("say in which part to add: profile or notes")
	}
	if f := scan.Text(in.Text); f != nil {
		return "", refusal(f)
	}
	text, cut := fit(tidy(in.Text))
	entries, err := t.m.add(in.Part, text)
	if err != nil {
		return "", t.explainFull(in.Part, err)
	}
	return fmt.Sprintf("Remembered.%s %s", cut, level(in.Part, entries)), nil
}

func (t *Tool) replace(in *toolInput) (string, error) {
	at, err := t.m.find(in.Part, in.Text, false)
	if err != nil {
		return "", err
	}
	fragment := strings.TrimSpace(in.Text)
	if n := strings.Count(at.entry, fragment); n > 1 {
		return "", fmt.Errorf("%q stands %d times in the entry %q: give more of the place that is meant", fragment, n, at.entry)
	}
	whole := strings.Replace(at.entry, fragment, in.NewText, 1)
	if f := scan.Text(whole); f != nil {
		return "", refusal(f)
	}
	now, cut := fit(tidy(whole))
	if now == "" {
		return "", errors.New("nothing would be left of the entry: use remove")
	}
	entries, err := t.m.change(at.part, func(entries []string) ([]string, error) {
		i := slices.Index(entries, at.entry)
		if i < 0 {
			return nil, goneError(at.entry)
		}
		if d := duplicate(entries, now, i); d != "" {
			return nil, duplicateError(at.part, d)
		}
		before := size(entries)
		entries[i] = now
		if size(entries) <= before {
			return entries, nil
		}
		return entries, checkRoom(at.part, entries)
	})
	if err != nil {
		return "", t.explainFull(at.part, err)
	}
	return fmt.Sprintf("Changed to %q.%s %s", now, cut, level(at.part, entries)), nil
}

// fit cuts an entry to its limit, at a word where there is one, and says so.
func fit(text string) (kept, notice string) {
	n := utf8.RuneCountInString(text)
	if n <= EntryLimit {
		return text, ""
	}
	kept = string([]rune(text)[:EntryLimit])
	if i := strings.LastIndexByte(kept, ' '); i > len(kept)*3/4 {
		kept = kept[:i]
	}
	return kept, fmt.Sprintf(" The entry had %d characters and was cut to %d: it now ends with %q. Replace it by something shorter if what was cut matters.",
		n, utf8.RuneCountInString(kept), tail(kept))
}

// tail is the end of a text, for a notice.
func tail(s string) string {
	const runes = 30
	r := []rune(s)
	return string(r[max(len(r)-runes, 0):])
}

func level(part string, entries []string) string {
	return fmt.Sprintf("%s: %d of %d characters.", title(part), size(entries), PartLimit)
}

// explainFull lists the entries when a part is full, so that the model can merge
// or drop some.
func (t *Tool) explainFull(part string, err error) error {
	var e *chat.Error
	if !errors.As(err, &e) || e.ID != "err.memory_full" {
		return err
	}
	p, loadErr := t.m.load(part)
	if loadErr != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(e.Message + " The entries are:")
	for _, x := range p.Entries {
		if x.Masked == "" {
			fmt.Fprintf(&b, "\n- (%d) %s", utf8.RuneCountInString(x.Text), x.Text)
		}
	}
	return errors.New(b.String())
}
