package store

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"perch/chat"
)

// maxTitle is the length in runes of a title made from the first question: what
// a menu entry shows without being cut.
const maxTitle = 60

// rawSession is a session as it lies in a store. The bytes belong to the store.
type rawSession struct {
	lines             [][]byte
	meta, view, check []byte
	// live says that a run of this process is at work: its checkpoint is no
	// leftover, and its open calls will be answered.
	live bool
}

// loadPlan is a session put right, and what has to be written for it.
type loadPlan struct {
	Loaded
	aside     [][]byte // lines that could not be read, copied
	rewrite   bool     // the log is to be replaced by Messages
	recovered *chat.Message
	dropCheck bool
	writeMeta bool
	writeView bool
}

// writes reports whether the store has to change.
func (p *loadPlan) writes() bool {
	return p.rewrite || p.recovered != nil || p.dropCheck || p.writeMeta || p.writeView
}

// assemble decides what a stored session amounts to. It is pure and the same
// for every kind of store.
func assemble(id string, raw rawSession) *loadPlan {
	p := &loadPlan{}
	d := newDecoder()
	p.Messages = make([]chat.Message, 0, len(raw.lines)+1)
	setAside := func(b []byte) {
		p.aside = append(p.aside, append([]byte(nil), b...))
		p.SetAside++
	}
	for _, line := range raw.lines {
		m, err := d.message(line)
		if err != nil {
			setAside(line)
			continue
		}
		p.Messages = append(p.Messages, m)
	}
	if len(raw.view) > 0 {
		if json.Unmarshal(raw.view, &p.View) != nil {
			p.View = chat.View{}
			setAside(raw.view)
			p.writeView = true
		}
	}
	p.recoverCheckpoint(d, raw)
	before := len(p.Messages)
	p.Messages, p.Repair = chat.Repair(p.Messages)
	if raw.live {
		// The run at work will answer its own calls.
		p.writeView, p.aside, p.SetAside = false, nil, 0
	} else if p.Repair.Changed() || len(p.aside) > 0 {
		p.rewrite, p.recovered = true, nil
	}
	if p.recovered != nil && before != len(p.Messages) {
		p.rewrite, p.recovered = true, nil
	}
	p.Meta, p.writeMeta = readMeta(id, raw.meta, p.Messages)
	p.Meta.Messages = len(p.Messages)
	return p
}

// recoverCheckpoint takes over the text of an answer that was streaming when
// the program died.
func (p *loadPlan) recoverCheckpoint(d *decoder, raw rawSession) {
	if len(raw.check) == 0 || raw.live {
		return
	}
	p.dropCheck = true
	m, err := d.message(raw.check)
	if err != nil {
		p.aside = append(p.aside, append([]byte(nil), raw.check...))
		p.SetAside++
		return
	}
	for i := range p.Messages {
		if p.Messages[i].ID == m.ID {
			return
		}
	}
	if m = interrupted(m); len(m.Parts) == 0 {
		return
	}
	p.Messages = append(p.Messages, m)
	p.recovered, p.Recovered = &m, true
}

// interrupted is what is kept of an answer that was cut off: no empty text, and
// no thinking that its vendor would not take back.
func interrupted(m chat.Message) chat.Message {
	var parts []chat.Part
	said := false
	for _, t := range m.Parts {
		switch {
		case t.Type == chat.PartThinking && t.Signature == "" && t.Encrypted == "":
			continue
		case t.Type == chat.PartText && strings.TrimSpace(t.Text) == "":
			continue
		case t.Type != chat.PartThinking:
			said = true
		}
		parts = append(parts, t)
	}
	if !said {
		parts = nil
	}
	m.Parts, m.Interrupted, m.Stop = parts, true, chat.StopAborted
	return m
}

// readMeta reads a session's description, or makes it again from the messages.
func readMeta(id string, raw []byte, msgs []chat.Message) (m chat.SessionMeta, rebuilt bool) {
	if len(raw) > 0 && json.Unmarshal(raw, &m) == nil {
		m.ID = id
		return m, false
	}
	m = chat.SessionMeta{ID: id, Title: titleOf(msgs)}
	for i := range msgs {
		if t := msgs[i].Time; !t.IsZero() {
			if m.Created.IsZero() {
				m.Created = t
			}
			m.Used = t
		}
	}
	return m, true
}

// titleOf makes a title from the first question.
func titleOf(msgs []chat.Message) string {
	for i := range msgs {
		if m := &msgs[i]; m.Role == chat.RoleUser && m.Kind == chat.KindOrdinary {
			if s := strings.Join(strings.Fields(m.PlainText()), " "); s != "" {
				return cutRunes(s, maxTitle)
			}
		}
	}
	return ""
}

// cutRunes shortens s to n runes, the last of them an ellipsis.
func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimSpace(string(r[:n-1])) + "…"
}

// viewFor is the view as far as it applies to these messages.
func viewFor(v chat.View, has func(id string) bool) chat.View {
	var out chat.View
	for _, m := range v.Marks {
		if has(m.Before) {
			out.Marks = append(out.Marks, m)
		}
	}
	for id, text := range v.Shortened {
		if has(id) {
			if out.Shortened == nil {
				out.Shortened = map[string]string{}
			}
			out.Shortened[id] = text
		}
	}
	for _, id := range v.Pinned {
		if has(id) {
			out.Pinned = append(out.Pinned, id)
		}
	}
	return out
}

// lineID reads the id of a line without reading the rest of it, where the line
// has the form that encodeMessage gives it.
func lineID(line []byte) (string, error) {
	p := parser{b: line}
	if p.take('{') {
		if key, ok := p.rawString(); ok && string(key) == "id" && p.take(':') {
			if raw, ok := p.rawString(); ok && utf8.Valid(raw) {
				return string(raw), nil
			}
		}
	}
	m, err := newDecoder().message(line)
	return m.ID, err
}

// forkLines returns the lines up to and including a message ("" is all), and
// the view as far as it applies to them.
func forkLines(id string, lines [][]byte, view []byte, message string) ([][]byte, chat.View, error) {
	var v chat.View
	_ = json.Unmarshal(view, &v) // an unreadable view is set aside by Load, not by a fork
	ids := map[string]bool{}
	found := message == ""
	n := 0
	for _, line := range lines {
		mid, err := lineID(line)
		n++
		if err != nil {
			continue // copied as it is; Load of the fork sets it aside
		}
		ids[mid] = true
		if mid == message && !found {
			found = true
			break
		}
	}
	if !found {
		return nil, chat.View{}, noMessage(message, id)
	}
	return lines[:n], viewFor(v, func(id string) bool { return ids[id] }), nil
}

// working follows which sessions a run of this process is at work on, by what
// it writes. The zero value is ready.
type working struct {
	open map[string]map[string]bool // session → calls without a result
	text map[string]bool            // sessions with a checkpoint of this process
}

func (w *working) live(id string) bool { return w.text[id] || len(w.open[id]) > 0 }

func (w *working) forget(id string) {
	delete(w.open, id)
	delete(w.text, id)
}

func (w *working) checkpointed(id string, on bool) {
	if w.text == nil {
		w.text = map[string]bool{}
	}
	if on {
		w.text[id] = true
	} else {
		delete(w.text, id)
	}
}

func (w *working) appended(id string, m *chat.Message) {
	w.checkpointed(id, false)
	switch m.Role {
	case chat.RoleTool:
		if m.Result != nil {
			delete(w.open[id], m.Result.CallID)
		}
	case chat.RoleAssistant:
		delete(w.open, id)
		for _, c := range m.Calls() {
			if w.open == nil {
				w.open = map[string]map[string]bool{}
			}
			if w.open[id] == nil {
				w.open[id] = map[string]bool{}
			}
			w.open[id][c.ID] = true
		}
	case chat.RoleUser:
		delete(w.open, id) // a round is over when the user speaks
	}
}

// encodeMeta is the form in which a session's description is kept: the number
// of messages is that of the log.
func encodeMeta(m chat.SessionMeta) ([]byte, error) {
	m.Messages = 0
	return encodeJSON(m)
}

// checkID refuses ids that no session can have.
func checkID(id string) error {
	if id == "" || len(id) > maxID {
		return chat.NewError(chat.ClassMisuse, "err.session_id", "A session's id has between 1 and %d bytes.", maxID)
	}
	return nil
}

// maxID keeps an id far below Bolt's key limit of 32 KB.
const maxID = 200

// expired reports whether a deleted session can no longer be restored.
func expired(deleted, now time.Time) bool {
	return !now.Before(deleted.Add(RestoreFor)) || now.Before(deleted.Add(-RestoreFor))
}

// RestoreFor is how long a deleted session can be restored: as long as a view
// offers to undo it.
const RestoreFor = time.Minute
