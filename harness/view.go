package harness

import (
	"slices"

	"perch/chat"
)

// summaryIntro opens the message that stands for a compacted past.
const summaryIntro = "[Summary of the conversation so far. The messages it stands for are no longer shown to you.]\n\n"

// modelView returns what the model sees of a log: the whole of it, or, after a
// compaction, the summary, the pinned messages from before the cut with their
// rounds, and everything from the cut on; with shortened results replaced.
//
// It is pure: the same log and view give the same bytes, so that a vendor's
// prefix cache keeps serving.
//
// first is the index in the view of the first message that was not kept from
// before the cut, 0 without a compaction: a later cut is never before it.
func modelView(log []chat.Message, v chat.View) (view []chat.Message, first int) {
	mark := v.Active()
	from := 0
	if mark != nil {
		from = indexOf(log, mark.Before)
	}
	if (mark == nil || from < 0) && len(v.Shortened) == 0 {
		return log, 0
	}
	out := make([]chat.Message, 0, len(log)+1)
	if mark != nil && from >= 0 {
		out = append(out, summaryMessage(mark))
		for _, i := range pinnedRounds(log[:from], slices.Concat(v.Pinned, mark.Carry)) {
			out = append(out, shortened(log[i], v))
		}
	} else {
		from = 0
	}
	first = len(out)
	for _, m := range log[from:] {
		out = append(out, shortened(m, v))
	}
	return out, first
}

func summaryMessage(mark *chat.CompactionMark) chat.Message {
	return chat.Message{
		ID: mark.ID, Role: chat.RoleUser, Kind: chat.KindSummary, Time: mark.Time,
		Parts: []chat.Part{chat.Text(summaryIntro + mark.Summary)},
	}
}

func shortened(m chat.Message, v chat.View) chat.Message {
	if m.Result == nil {
		return m
	}
	text, ok := v.Shortened[m.ID]
	if !ok {
		return m
	}
	r := *m.Result
	r.Text = text
	m.Result, m.Tokens = &r, 0
	return m
}

// pinnedRounds returns the indexes of the messages to keep for the pinned ids,
// in order. A pinned call or result pins its whole round.
func pinnedRounds(log []chat.Message, pinned []string) []int {
	if len(pinned) == 0 {
		return nil
	}
	var out []int
	for i := 0; i < len(log); {
		end := i + 1
		if log[i].Role == chat.RoleAssistant {
			for end < len(log) && log[end].Role == chat.RoleTool {
				end++
			}
		}
		hit := false
		for j := i; j < end; j++ {
			hit = hit || slices.Contains(pinned, log[j].ID)
		}
		for j := i; hit && j < end; j++ {
			out = append(out, j)
		}
		i = end
	}
	return out
}

func indexOf(log []chat.Message, id string) int {
	// The cut is usually near the end.
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].ID == id {
			return i
		}
	}
	return -1
}
