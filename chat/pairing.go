package chat

import "fmt"

// InterruptedText is what the model reads in place of a result that never came.
const InterruptedText = "Interrupted: this call was stopped before it gave a result. Its effects are unknown; check before you repeat it."

// RepairReport counts what [Repair] changed.
type RepairReport struct {
	Created int `json:"created"` // results made up for unanswered calls
	Dropped int `json:"dropped"` // results that answer no call, or a second time
	Moved   int `json:"moved"`   // results put into their place
	Renamed int `json:"renamed"` // calls whose id was empty or repeated in one message
}

// Changed reports whether anything was.
func (r RepairReport) Changed() bool { return r != RepairReport{} }

// Paired reports whether the history keeps the pairing invariant.
func Paired(msgs []Message) bool { return firstUnpaired(msgs) < 0 }

// firstUnpaired returns the index from which a history must be repaired, or -1.
// A result that stands where it does not belong sends the repair back to the
// assistant message before it: it may beat a stand-in there. It does not
// allocate.
func firstUnpaired(msgs []Message) int {
	lastAssistant := -1
	for i := 0; i < len(msgs); i++ {
		m := &msgs[i]
		if m.Role == RoleTool {
			return max(lastAssistant, 0)
		}
		if m.Role != RoleAssistant {
			continue
		}
		at, next := i, i+1
		lastAssistant = i
		for p := range m.Parts {
			c := m.Parts[p].Call
			if m.Parts[p].Type != PartCall || c == nil {
				continue
			}
			if c.ID == "" || repeatedBefore(m.Parts, p) {
				return at
			}
			if next >= len(msgs) || msgs[next].Role != RoleTool || msgs[next].Result == nil || msgs[next].Result.CallID != c.ID {
				return at
			}
			next++
		}
		i = next - 1
	}
	return -1
}

// repeatedBefore reports whether an earlier call part has the id of part p.
func repeatedBefore(parts []Part, p int) bool {
	for q := range p {
		if parts[q].Type == PartCall && parts[q].Call != nil && parts[q].Call.ID == parts[p].Call.ID {
			return true
		}
	}
	return false
}

// Repair returns the history with the pairing invariant restored. For each
// assistant message with calls it looks at what follows up to the next
// assistant message and takes the result of each call: a real one beats one
// marked interrupted, the first of several real ones wins, and a call without
// one gets a result marked interrupted. Results that answer no call are dropped.
// What the user wrote is never touched.
//
// Repair is pure and idempotent. A history that needs no repair is returned as
// it is, the same slice; otherwise the input is left unchanged.
func Repair(msgs []Message) ([]Message, RepairReport) {
	var rep RepairReport
	first := firstUnpaired(msgs)
	if first < 0 {
		return msgs, rep
	}
	out := make([]Message, first, len(msgs)+4)
	copy(out, msgs[:first])
	for i := first; i < len(msgs); {
		m := msgs[i]
		if m.Role == RoleTool {
			rep.Dropped++
			i++
			continue
		}
		if m.Role != RoleAssistant || !m.HasCalls() {
			out = append(out, m)
			i++
			continue
		}
		end := i + 1
		for end < len(msgs) && msgs[end].Role != RoleAssistant {
			end++
		}
		out = repairRound(out, m, msgs[i+1:end], &rep)
		i = end
	}
	return out, rep
}

// repairRound appends an assistant message, the results of its calls and what
// else stood between it and the next assistant message.
func repairRound(out []Message, m Message, rest []Message, rep *RepairReport) []Message {
	original := callIDs(&m)
	m = withUniqueCallIDs(m, rep)
	out = append(out, m)

	// Two calls that shared an id take the results of that id in turn.
	taken := make([]bool, len(rest))
	nextPlace := 0
	for n, c := range m.Calls() {
		at := pick(rest, taken, original[n], sharedLater(original, n))
		if at < 0 {
			rep.Created++
			out = append(out, interruptedResult(&m, c))
			continue
		}
		taken[at] = true
		if at != nextPlace {
			rep.Moved++
		}
		nextPlace = at + 1
		r := rest[at]
		if r.Result.CallID != c.ID {
			cp := *r.Result
			cp.CallID = c.ID
			r.Result = &cp
		}
		out = append(out, r)
	}
	for j := range rest {
		switch {
		case taken[j]:
		case rest[j].Role == RoleTool:
			rep.Dropped++
		default:
			out = append(out, rest[j])
		}
	}
	return out
}

// pick returns the index of the result for a call id: the first real one, else
// the first interrupted one, else -1. When the id is shared with later calls of
// the message, results are taken strictly in order, so that each gets its own.
func pick(rest []Message, taken []bool, id string, inOrder bool) int {
	fallback := -1
	for j := range rest {
		r := rest[j].Result
		if taken[j] || rest[j].Role != RoleTool || r == nil || r.CallID != id {
			continue
		}
		if inOrder || !r.Interrupted {
			return j
		}
		if fallback < 0 {
			fallback = j
		}
	}
	return fallback
}

// sharedLater reports whether a later call has the id of call n.
func sharedLater(ids []string, n int) bool {
	for _, id := range ids[n+1:] {
		if id == ids[n] {
			return true
		}
	}
	return false
}

func callIDs(m *Message) []string {
	var ids []string
	for _, c := range m.Calls() {
		ids = append(ids, c.ID)
	}
	return ids
}

// withUniqueCallIDs gives calls with an empty or repeated id one of their own.
// The input's parts are not changed.
func withUniqueCallIDs(m Message, rep *RepairReport) Message {
	seen := map[string]bool{}
	copied := false
	for p := range m.Parts {
		c := m.Parts[p].Call
		if m.Parts[p].Type != PartCall || c == nil {
			continue
		}
		id := c.ID
		for k := 1; id == "" || seen[id]; k++ {
			id = fmt.Sprintf("%s~%d", c.ID, k)
		}
		seen[id] = true
		if id == c.ID {
			continue
		}
		if !copied {
			m.Parts = append([]Part(nil), m.Parts...)
			copied = true
		}
		cp := *c
		cp.ID = id
		m.Parts[p].Call = &cp
		rep.Renamed++
	}
	return m
}

// interruptedResult makes the result that stands in for one that never came.
func interruptedResult(m *Message, c *ToolCall) Message {
	return Message{
		ID: "int_" + m.ID + "_" + c.ID, Role: RoleTool, Time: m.Time,
		Result: &ToolResult{
			CallID: c.ID, Name: c.Name, Text: InterruptedText,
			IsError: true, Failure: FailInterrupted, Interrupted: true,
		},
	}
}

// WithRoundImages returns the history with one derived user message after each
// tool round whose results hold images. It carries all images of the round, each
// after a label that names its call. Call it on a paired history when a request
// is built; its output is never stored, so no crash can tear the images off.
func WithRoundImages(msgs []Message) []Message {
	var out []Message // nil until the first image
	var parts []Part
	flush := func(i int) {
		if len(parts) == 0 {
			return
		}
		out = append(out, Message{ID: "img_" + msgs[i-1].ID, Role: RoleUser, Kind: KindRoundImages, Time: msgs[i-1].Time, Parts: parts})
		parts = nil
	}
	for i := range msgs {
		m := &msgs[i]
		if m.Role != RoleTool {
			flush(i)
		} else if m.Result != nil && len(m.Result.Images) > 0 {
			if out == nil {
				out = append(make([]Message, 0, len(msgs)+1), msgs[:i]...)
			}
			for k := range m.Result.Images {
				img := m.Result.Images[k]
				parts = append(parts,
					Text(fmt.Sprintf("Image %d of the result of %s (call %s):", k+1, m.Result.Name, m.Result.CallID)),
					Part{Type: PartImage, Image: &img})
			}
		}
		if out != nil {
			out = append(out, *m)
		}
	}
	if out == nil {
		return msgs
	}
	flush(len(msgs))
	return out
}
