package transcript

import (
	"encoding/json"
	"fmt"
	"time"

	"perch/chat"
	"perch/control"
)

// Change says which rows may differ from before: those from From on. From equals
// the number of rows when nothing changed.
type Change struct{ From int }

// Transcript folds a session into rows. It belongs to one goroutine.
type Transcript struct {
	rows    []*Row
	items   []*item
	live    int // index of the first item that the history does not hold yet
	folds   map[string]bool
	history map[string][]*item // items of messages by what they depend on
	session string

	run      string // at work, "" when none
	seq      int64  // of the last event taken
	lastRun  string // the newest run seen to end, which may be reverted
	question *chat.Permission
	view     control.SessionView
	thoughts int

	now func() time.Time
}

// New returns an empty transcript.
func New() *Transcript {
	return &Transcript{folds: map[string]bool{}, history: map[string][]*item{}, now: time.Now}
}

// Rows are the rows as they are now. The slice is valid until the next change.
func (t *Transcript) Rows() []*Row { return t.rows }

// Running reports whether a run is at work, and which.
func (t *Transcript) Running() (run string, ok bool) { return t.run, t.run != "" }

// Question is the permission question that waits for an answer, or nil.
func (t *Transcript) Question() *chat.Permission { return t.question }

// View is the session as the last snapshot had it.
func (t *Transcript) View() *control.SessionView { return &t.view }

// Pending are the messages that wait for the run at work.
func (t *Transcript) Pending() []string { return t.view.Pending }

// LastAnswer is the text of the newest answer, "" when there is none.
func (t *Transcript) LastAnswer() string {
	text := ""
	for i := len(t.items) - 1; i >= 0; i-- {
		switch it := t.items[i]; it.kind {
		case itemFooter:
			if text == "" {
				return it.foot.Text
			}
			return text
		case itemText:
			if text != "" {
				text = "\n\n" + text
			}
			text = string(it.raw) + text
		case itemUser:
			return text
		}
	}
	return text
}

// Reset replaces everything by a snapshot. Rows of messages that were there
// before keep their identity.
func (t *Transcript) Reset(s control.Snapshot) Change {
	if s.View.ID != t.session {
		t.history, t.folds, t.lastRun = map[string][]*item{}, map[string]bool{}, ""
		t.session = s.View.ID
	}
	t.view = s.View
	var kept []*item
	for _, it := range t.items[min(t.live, len(t.items)):] {
		if it.keep && s.Live == nil && !(it.kind == itemUser && arrived(s.View.History, it.user.text)) {
			kept = append(kept, it)
		}
	}
	old := append([]*Row(nil), t.rows...)
	t.items, t.question, t.run, t.seq = t.historyItems(s.View, s.Live != nil), nil, "", 0
	t.live = len(t.items)
	if s.Live != nil {
		t.resume(s.Live)
	}
	t.items = append(t.items, kept...)
	t.rebuild(0)
	from := 0
	for from < len(old) && from < len(t.rows) && old[from] == t.rows[from] {
		from++
	}
	return Change{From: from}
}

// resume adds the part of a run that the history does not hold yet.
func (t *Transcript) resume(l *control.Live) {
	t.run, t.seq = l.Run, l.Seq
	if l.Thinking != "" {
		t.grow(itemThinking, l.Thinking)
	}
	if l.Text != "" {
		t.grow(itemText, l.Text)
	}
	for i := range l.Calls {
		c := &l.Calls[i]
		at := t.tool(c.Start.ID)
		t.startTool(&c.Start)
		it := t.items[len(t.items)-1]
		if at >= 0 { // the history has the call already: it stays in its place
			it.message = t.items[at].message
			t.items[at] = it
			t.items = t.items[:len(t.items)-1]
		}
		it.tool.Progress = c.Progress
		if c.End != nil {
			t.finishTool(it, c.End)
		}
	}
	if l.Question != nil {
		t.ask(l.Question)
	}
	if l.Retry != nil {
		t.add(&item{kind: itemLine, line: t.retryLine(l.Retry)})
	}
}

// Apply takes one event. An event that a snapshot already holds changes nothing.
func (t *Transcript) Apply(e chat.Event) Change {
	h := e.Header()
	if h.Run != "" && h.Run == t.run && h.Seq != 0 && h.Seq <= t.seq {
		return Change{From: len(t.rows)}
	}
	if _, done := e.(*chat.Done); !done && h.Run != t.run {
		t.run = h.Run
	}
	t.seq = h.Seq
	switch e := e.(type) {
	case *chat.TextDelta:
		return t.stream(itemText, e.Text)
	case *chat.ThinkingDelta:
		return t.stream(itemThinking, e.Text)
	case *chat.ToolStart:
		from := t.closeOpen()
		t.startTool(e)
		return t.rebuildAt(from)
	case *chat.ToolProgress:
		if i := t.tool(e.ID); i >= 0 {
			t.items[i].tool.Progress = oneLine(e.Message, gistLength)
			return t.redraw(i)
		}
	case *chat.ToolEnd:
		if t.question != nil && t.question.ID == e.ID {
			t.question = nil
		}
		if i := t.tool(e.ID); i >= 0 {
			t.finishTool(t.items[i], e)
			return t.redraw(i)
		}
	case *chat.Permission:
		t.ask(e)
		if i := t.tool(e.ID); i >= 0 {
			return t.redraw(i)
		}
	case *chat.Compaction:
		return t.addLine(LineData{Kind: CompactionLine, Before: e.TokensBefore, After: e.TokensAfter, CanUndo: true})
	case *chat.Retry:
		from := t.withdraw(e.Withdrawn)
		from = min(from, t.closeOpen())
		t.add(&item{kind: itemLine, line: t.retryLine(e)})
		return t.rebuildAt(from)
	case *chat.Notice:
		return t.addLine(LineData{Kind: NoticeLine, ID: e.ID, Args: e.Args, Text: e.Text})
	case *chat.Done:
		return t.finish(e)
	}
	return Change{From: len(t.rows)}
}

// AddUser shows what the user has just sent, until a snapshot brings it.
func (t *Transcript) AddUser(text string, images []chat.Image) Change {
	from := t.closeOpen()
	for i := len(t.items) - 1; i >= t.live; i-- {
		t.items[i].keep = false
	}
	t.add(&item{kind: itemUser, keep: true, user: userItem{text: text, images: images}})
	return t.rebuildAt(from)
}

// TakeBack drops what AddUser showed and was not sent after all.
func (t *Transcript) TakeBack() Change {
	for i := len(t.items) - 1; i >= t.live; i-- {
		if it := t.items[i]; it.kind == itemUser && it.keep {
			t.items = append(t.items[:i], t.items[i+1:]...)
			t.rebuildFrom(i, it.at)
			return Change{From: it.at}
		}
	}
	return Change{From: len(t.rows)}
}

// arrived reports whether the newest message of the user is this one.
func arrived(history []chat.Message, text string) bool {
	for i := len(history) - 1; i >= 0; i-- {
		if m := &history[i]; m.Role == chat.RoleUser && m.Kind == chat.KindOrdinary {
			return m.PlainText() == text
		}
	}
	return false
}

// AddError shows an error that no run has reported.
func (t *Transcript) AddError(err *chat.Error) Change {
	from := t.closeOpen()
	t.add(&item{kind: itemLine, keep: true, line: LineData{Kind: ErrorLine, Err: err}})
	return t.rebuildAt(from)
}

// Toggle folds a row in or out.
func (t *Transcript) Toggle(key string) Change {
	t.folds[key] = !t.folds[key]
	for i, it := range t.items {
		if it.key == key {
			return t.redraw(i)
		}
	}
	return Change{From: len(t.rows)}
}

// Answered notes the user's answer, so that the line of the call can say so.
func (t *Transcript) Answered(call string, v control.Verdict) Change {
	if t.question != nil && t.question.ID == call {
		t.question = nil
	}
	i := t.tool(call)
	if i < 0 {
		return Change{From: len(t.rows)}
	}
	t.items[i].tool.State = ToolRunning
	if v == control.No {
		t.items[i].tool.State = ToolRefused
	}
	return t.redraw(i)
}

// Drained reports whether no run is at work and the rows still show events that
// no snapshot has confirmed, so that the view should ask for the session anew.
func (t *Transcript) Drained() bool {
	if t.run != "" {
		return false
	}
	for _, it := range t.items[t.live:] {
		if !it.keep {
			return true
		}
	}
	return false
}

func (t *Transcript) add(it *item) { t.items = append(t.items, it) }

// last is the newest item if it is of that kind and still open, else nil.
func (t *Transcript) last(kind itemKind) *item {
	if len(t.items) <= t.live {
		return nil
	}
	it := t.items[len(t.items)-1]
	if it.kind != kind || it.closed {
		return nil
	}
	return it
}

// grow adds text to the open item of that kind, or begins one.
func (t *Transcript) grow(kind itemKind, text string) (it *item, began bool) {
	it = t.last(kind)
	if it == nil {
		t.closeOpen()
		it, began = &item{kind: kind}, true
		if kind == itemThinking {
			t.thoughts++
			it.key = fmt.Sprintf("live-thought-%d", t.thoughts)
		}
		t.add(it)
	}
	it.write(text)
	return it, began
}

// stream is the hot path: it draws the rows of the open chunk alone.
func (t *Transcript) stream(kind itemKind, text string) Change {
	if it := t.last(kind); it != nil && kind == itemText {
		frozen := it.at + len(it.done)
		before := len(it.done)
		it.write(text)
		t.rows = append(t.rows[:frozen], it.done[before:]...)
		t.rows = append(t.rows, it.tail()...)
		it.count = len(t.rows) - it.at
		return Change{From: frozen}
	}
	from := t.closeOpen()
	_, began := t.grow(kind, text)
	if !began {
		return t.redraw(len(t.items) - 1)
	}
	return t.rebuildAt(min(from, len(t.items)-1))
}

// closeOpen finishes the text at work and settles retry lines. It returns the
// index of the first item that it changed.
func (t *Transcript) closeOpen() int {
	if len(t.items) <= t.live {
		return len(t.items)
	}
	last := len(t.items) - 1
	it := t.items[last]
	if it.closed || it.kind != itemText && it.kind != itemThinking {
		return len(t.items)
	}
	it.close()
	return last
}

func (t *Transcript) addLine(l LineData) Change {
	from := t.closeOpen()
	t.add(&item{kind: itemLine, line: l})
	return t.rebuildAt(from)
}

func (t *Transcript) retryLine(e *chat.Retry) LineData {
	return LineData{Kind: RetryLine, Attempt: e.Attempt, Reason: e.Reason, Wait: e.Wait, Since: t.now()}
}

// withdraw drops the bytes of a failed attempt from the end and returns the
// index of the first item that changed.
func (t *Transcript) withdraw(w chat.Withdrawn) int {
	from := len(t.items)
	left := map[itemKind]int{itemText: w.TextBytes, itemThinking: w.ThinkingBytes}
	for i := len(t.items) - 1; i >= t.live; i-- {
		it := t.items[i]
		if n := left[it.kind]; n > 0 && (it.kind == itemText || it.kind == itemThinking) {
			left[it.kind] = it.withdraw(n)
			it.close()
			from = i
		}
	}
	kept := t.items[:from]
	for _, it := range t.items[from:] {
		if (it.kind == itemText || it.kind == itemThinking) && len(it.raw) == 0 {
			continue
		}
		kept = append(kept, it)
	}
	t.items = kept
	return from
}

func (t *Transcript) startTool(e *chat.ToolStart) {
	t.add(&item{kind: itemTool, key: e.ID, tool: &ToolLine{
		ID: e.ID, Name: e.Name, Gist: Gist(e.Input), Input: readableInput(e.Input), Run: e.Run,
	}})
}

func (t *Transcript) finishTool(it *item, e *chat.ToolEnd) {
	endTool(it.tool, e.Result, e.IsError, e.Duration)
	it.tool.Images, it.tool.Sources = e.Images, e.Sources
}

func (t *Transcript) ask(q *chat.Permission) {
	t.question = q
	if i := t.tool(q.ID); i >= 0 {
		t.items[i].tool.State = ToolAsking
	}
}

// tool is the index of the item of a call, or -1.
func (t *Transcript) tool(id string) int {
	for i := len(t.items) - 1; i >= 0; i-- {
		if t.items[i].kind == itemTool && t.items[i].tool.ID == id {
			return i
		}
	}
	return -1
}

// finish takes the end of a run.
func (t *Transcript) finish(e *chat.Done) Change {
	from := t.closeOpen()
	for i := t.live; i < len(t.items); i++ {
		if tool := t.items[i].tool; tool != nil && (tool.State == ToolRunning || tool.State == ToolAsking) {
			tool.State = ToolInterrupted
			from = min(from, i)
		}
	}
	r := &e.Result
	switch r.StopReason {
	case chat.StopAborted:
		t.add(&item{kind: itemLine, line: LineData{Kind: InterruptedLine}})
	case chat.StopRefusal, chat.StopContentFilter:
		t.add(&item{kind: itemLine, line: LineData{Kind: RefusalLine, Text: string(r.StopReason)}})
	case chat.StopOutputLimit:
		t.add(&item{kind: itemLine, keep: true, line: LineData{Kind: LimitLine}})
	}
	if r.Error != nil && r.Error.Class != chat.ClassAborted {
		t.add(&item{kind: itemLine, keep: true, line: LineData{Kind: ErrorLine, Err: r.Error}})
	}
	t.run, t.question, t.lastRun = "", nil, e.Run
	if text := t.LastAnswer(); text != "" {
		t.add(&item{kind: itemFooter, foot: Foot{Text: text, Model: r.Model, Usage: r.Usage, Run: e.Run, Newest: true}})
	}
	return t.rebuildAt(from)
}

// redraw builds the rows of one item anew and moves what follows.
func (t *Transcript) redraw(i int) Change { return t.rebuildAt(i) }

// rebuildAt builds the rows of the items from index i on.
func (t *Transcript) rebuildAt(i int) Change {
	if i >= len(t.items) {
		return Change{From: len(t.rows)}
	}
	from := 0
	if i > 0 {
		from = t.items[i-1].at + t.items[i-1].count
	}
	t.rebuildFrom(i, from)
	return Change{From: from}
}

func (t *Transcript) rebuild(i int) { t.rebuildFrom(i, 0) }

func (t *Transcript) rebuildFrom(i, from int) {
	old := append([]*Row(nil), t.rows[min(from, len(t.rows)):]...)
	t.rows = t.rows[:min(from, len(t.rows))]
	for ; i < len(t.items); i++ {
		it := t.items[i]
		it.at = len(t.rows)
		t.rows = append(t.rows, it.rows(t.isOpen)...)
		it.count = len(t.rows) - it.at
	}
	for k := from; k < len(t.rows) && k-from < len(old); k++ { // keep the identity of what is as before
		if o := old[k-from]; o != t.rows[k] && o.Message == t.rows[k].Message && o.Same(t.rows[k]) {
			t.rows[k] = o
		}
	}
}

func (t *Transcript) isOpen(key string) bool { return t.folds[key] }

// inputOf is a call's input as JSON where it is some, for gist and display.
func inputOf(c *chat.ToolCall) json.RawMessage {
	if in, ok := c.ValidInput(); ok {
		return in
	}
	return json.RawMessage(c.Input)
}
