package transcript

import (
	"slices"

	"perch/chat"
)

// Entered takes a message of the user that has entered the history. One that is
// shown already, because it was typed here, stays as it is.
func (t *Transcript) Entered(m chat.Message) Change {
	text := m.PlainText()
	if i := slices.Index(t.view.Pending, text); i >= 0 {
		t.view.Pending = slices.Delete(slices.Clone(t.view.Pending), i, i+1)
	}
	for _, it := range t.items[min(t.live, len(t.items)):] {
		if it.kind == itemUser && it.user.text == text {
			return Change{From: len(t.rows)}
		}
	}
	var images []chat.Image
	for i := range m.Parts {
		if m.Parts[i].Image != nil {
			images = append(images, *m.Parts[i].Image)
		}
	}
	return t.AddUser(text, images)
}
