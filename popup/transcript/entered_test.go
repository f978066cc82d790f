package transcript

import (
	"testing"

	"perch/chat"
	"perch/control"
)

func userRows(t *Transcript) int {
	n := 0
	for _, it := range t.items {
		if it.kind == itemUser {
			n++
		}
	}
	return n
}

func TestAMessageThatEnteredTheHistoryIsShownOnce(t *testing.T) {
	tr := New()
	tr.AddUser("hello", nil)
	tr.Entered(chat.UserText("hello"))
	if n := userRows(tr); n != 1 {
		t.Errorf("typed here: shown %d times", n)
	}
	// The snapshot of a new session came after it was typed, and is empty.
	tr.Reset(control.Snapshot{View: control.SessionView{Pending: []string{"and this"}}})
	tr.Entered(chat.UserText("hello"))
	if n := userRows(tr); n != 1 {
		t.Errorf("after an empty snapshot: shown %d times", n)
	}
	tr.Entered(chat.UserText("and this"))
	if n := userRows(tr); n != 2 || len(tr.Pending()) != 0 {
		t.Errorf("steered from elsewhere: shown %d, pending %v", n, tr.Pending())
	}
}
