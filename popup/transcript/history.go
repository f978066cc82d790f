package transcript

import (
	"fmt"
	"strings"

	"perch/chat"
	"perch/control"
)

// historyItems turns a session's messages into items. Items of messages that
// were seen before are taken as they are. While a run is at work its answer has
// no footer yet.
func (t *Transcript) historyItems(v control.SessionView, running bool) []*item {
	results := map[string]*chat.ToolResult{}
	for i := range v.History {
		if r := v.History[i].Result; r != nil {
			results[r.CallID] = r
		}
	}
	marks := map[string]*chat.CompactionMark{}
	var newest *chat.CompactionMark
	for i := range v.Marks {
		m := &v.Marks[i]
		marks[m.Before] = m
		if !m.Undone {
			newest = m
		}
	}
	b := historyBuilder{t: t, results: results, kept: map[string][]*item{}}
	for i := range v.History {
		m := &v.History[i]
		if mark := marks[m.ID]; mark != nil {
			b.mark(mark, mark == newest)
		}
		b.message(m)
	}
	if mark := marks[""]; mark != nil {
		b.mark(mark, mark == newest)
	}
	if !running {
		b.footer(true)
	}
	t.history = b.kept
	return b.items
}

// historyBuilder is one pass over a history.
type historyBuilder struct {
	t       *Transcript
	results map[string]*chat.ToolResult
	items   []*item
	kept    map[string][]*item

	question string // id of the user's message at work
	answer   []string
	last     *chat.Message // the newest assistant message of the turn
	usage    chat.Usage
	tools    bool
	joining  bool // the next assistant text goes on from the one before
}

func (b *historyBuilder) message(m *chat.Message) {
	switch {
	case m.Role == chat.RoleTool || m.Kind == chat.KindRoundImages || m.Kind == chat.KindSummary:
	case m.Kind == chat.KindHarness:
		b.joining = b.last != nil && b.last.Stop == chat.StopOutputLimit
	case m.Role == chat.RoleUser:
		b.footer(false)
		b.question = m.ID
		b.joining = false
		b.take(m, fmt.Sprintf("%s/u", m.ID), func() []*item {
			u := userItem{text: m.PlainText()}
			for i := range m.Parts {
				if m.Parts[i].Image != nil {
					u.images = append(u.images, *m.Parts[i].Image)
				}
			}
			return []*item{{kind: itemUser, message: m.ID, user: u}}
		})
	default:
		b.assistant(m)
	}
}

func (b *historyBuilder) assistant(m *chat.Message) {
	b.last = m
	if text := m.PlainText(); text != "" {
		b.answer = append(b.answer, text)
	}
	if m.Usage != nil {
		b.usage = b.usage.Add(*m.Usage)
	}
	b.tools = b.tools || m.HasCalls()
	if b.joining && len(b.items) > 0 && len(m.Parts) > 0 && b.items[len(b.items)-1].kind == itemText {
		b.join(m)
		b.joining = false
		return
	}
	b.joining = false
	key := fmt.Sprintf("%s/%d/%d/%t", m.ID, len(m.Parts), len(m.PlainText()), m.Interrupted)
	for _, c := range m.Calls() {
		if b.results[c.ID] != nil {
			key += "/" + c.ID
		}
	}
	b.take(m, key, func() []*item { return b.assistantItems(m) })
}

// join adds the rest of an answer that the output limit had cut to the text
// before, so that the cut is not seen.
func (b *historyBuilder) join(m *chat.Message) {
	before := b.items[len(b.items)-1]
	joined := &item{kind: itemText, message: before.message}
	joined.write(string(before.raw) + m.PlainText())
	joined.close()
	b.items[len(b.items)-1] = joined
	b.answer = []string{strings.Join(b.answer, "")}
	for _, it := range b.assistantItems(m) {
		if it.kind != itemText {
			b.items = append(b.items, it)
		}
	}
}

func (b *historyBuilder) assistantItems(m *chat.Message) []*item {
	var out []*item
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Type {
		case chat.PartThinking:
			if p.Text == "" {
				continue
			}
			it := &item{kind: itemThinking, message: m.ID, key: fmt.Sprintf("%s-thought-%d", m.ID, i)}
			it.write(p.Text)
			it.close()
			out = append(out, it)
		case chat.PartText:
			it := &item{kind: itemText, message: m.ID}
			it.write(p.Text)
			it.close()
			out = append(out, it)
		case chat.PartImage:
			if p.Image != nil {
				out = append(out, &item{kind: itemUser, message: m.ID, user: userItem{images: []chat.Image{*p.Image}}})
			}
		case chat.PartCall:
			if p.Call != nil {
				out = append(out, b.toolItem(m, p.Call))
			}
		}
	}
	if m.Interrupted {
		out = append(out, &item{kind: itemLine, message: m.ID, line: LineData{Kind: InterruptedLine}})
	}
	switch m.Stop {
	case chat.StopRefusal, chat.StopContentFilter:
		out = append(out, &item{kind: itemLine, message: m.ID, line: LineData{Kind: RefusalLine, Text: string(m.Stop)}})
	}
	return out
}

func (b *historyBuilder) toolItem(m *chat.Message, c *chat.ToolCall) *item {
	in := inputOf(c)
	// A call without a result was cut off, unless the run at work still has it.
	line := &ToolLine{ID: c.ID, Name: c.Name, Gist: Gist(in), Input: readableInput(in), State: ToolInterrupted}
	if r := b.results[c.ID]; r != nil {
		line.State = ToolRunning
		switch r.Failure {
		case chat.FailRefused:
			line.State = ToolRefused
		case chat.FailInterrupted:
			line.State = ToolInterrupted
		}
		if line.State == ToolRunning {
			endTool(line, r.Text, r.IsError, r.Duration)
		} else {
			line.Result, line.Duration = r.Text, r.Duration
		}
		line.Images, line.Sources = r.Images, r.Sources
	}
	return &item{kind: itemTool, message: m.ID, key: c.ID, tool: line}
}

// take adds the items under key, made by build the first time.
func (b *historyBuilder) take(_ *chat.Message, key string, build func() []*item) {
	items, ok := b.t.history[key]
	if !ok {
		items = build()
	}
	b.kept[key] = items
	b.items = append(b.items, items...)
}

func (b *historyBuilder) mark(m *chat.CompactionMark, newest bool) {
	b.footer(false)
	b.items = append(b.items, &item{kind: itemLine, key: "mark-" + m.ID, line: LineData{
		Kind: CompactionLine, Before: m.TokensBefore, After: m.TokensAfter, Text: m.Summary, Undone: m.Undone, CanUndo: newest && !m.Undone,
	}})
}

// footer closes the answer at work.
func (b *historyBuilder) footer(newest bool) {
	if b.last != nil {
		model := b.last.Model
		if b.last.Provider != "" && model != "" {
			model = b.last.Provider + "/" + model
		}
		f := Foot{Text: strings.Join(b.answer, "\n\n"), Model: model, Usage: b.usage, Question: b.question, Tools: b.tools, Newest: newest}
		if newest {
			f.Run = b.t.lastRun
		}
		if f.Text != "" || f.Tools {
			b.items = append(b.items, &item{kind: itemFooter, message: b.last.ID, foot: f})
		}
	}
	b.last, b.answer, b.usage, b.tools = nil, nil, chat.Usage{}, false
}
