package memory

import (
	"fmt"
	"strings"

	"perch/chat"
)

// place is an entry and the part it stands in.
type place struct{ part, entry string }

// choose picks the entry that text means: one equal to it wins over longer
// ones; else it must occur in exactly one.
func choose(text string, all []place) (at place, candidates []place) {
	for _, p := range all {
		if p.entry == text {
			return p, nil
		}
		if strings.Contains(p.entry, text) {
			candidates = append(candidates, p)
		}
	}
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	return place{}, candidates
}

// find looks for text in a part ("" is both). Masked entries count for the user
// only: the model does not see them.
func (m *Memory) find(part, text string, masked bool) (place, error) {
	raw := text
	text = strings.TrimSpace(text)
	if text == "" {
		return place{}, chat.NewError(chat.ClassBadRequest, "err.memory_empty_find", "Say which entry is meant: the text is empty.")
	}
	var all []place
	for _, p := range parts {
		if part != "" && p != part {
			continue
		}
		loaded, err := m.load(p)
		if err != nil {
			return place{}, err
		}
		for _, e := range loaded.Entries {
			if !masked && e.Masked != "" {
				continue
			}
			if masked && e.Text == raw { // a masked entry may begin with a space
				return place{p, e.Text}, nil
			}
			all = append(all, place{p, e.Text})
		}
	}
	at, candidates := choose(text, all)
	switch {
	case at.entry != "":
		return at, nil
	case len(candidates) == 0:
		return place{}, chat.NewError(chat.ClassBadRequest, "err.memory_none", "No entry holds %q. Give a text that stands in exactly one entry, as it is written there.", text)
	}
	var b strings.Builder
	for _, c := range candidates {
		fmt.Fprintf(&b, "\n- %s", c.entry)
	}
	return place{}, chat.NewError(chat.ClassBadRequest, "err.memory_many", "%q stands in %d entries; give more of the one that is meant:%s", text, len(candidates), b.String())
}
