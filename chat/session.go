package chat

import "time"

// CompactionMark says that, in the model's view, a summary stands for all
// messages before Before. The messages themselves stay in the log.
type CompactionMark struct {
	ID           string    `json:"id"`
	Before       string    `json:"before"` // id of the first message kept
	Summary      string    `json:"summary"`
	Time         time.Time `json:"time"`
	TokensBefore int       `json:"tokens_before"`
	TokensAfter  int       `json:"tokens_after"`
	// Carry are ids of messages before Before that are kept all the same: the
	// user's last words, where the work on them alone outgrew the tail.
	Carry []string `json:"carry,omitempty"`
	// Undone marks a compaction that the user took back.
	Undone bool `json:"undone,omitempty"`
}

// View says how what the model sees differs from the log of a session.
type View struct {
	Marks []CompactionMark `json:"marks,omitempty"`
	// Shortened maps a tool message's id to the text that the model sees instead.
	Shortened map[string]string `json:"shortened,omitempty"`
	// Pinned are ids of messages that survive every compaction.
	Pinned []string `json:"pinned,omitempty"`
}

// Active is the mark that counts: the newest that was not undone, or nil.
func (v *View) Active() *CompactionMark {
	for i := len(v.Marks) - 1; i >= 0; i-- {
		if !v.Marks[i].Undone {
			return &v.Marks[i]
		}
	}
	return nil
}

// SessionMeta is a session without its messages.
type SessionMeta struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitempty"`
	Model   string    `json:"model,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
	Pinned  bool      `json:"pinned,omitempty"`
	Draft   string    `json:"draft,omitempty"`
	// Titled says that the user or the model gave the title.
	Titled bool `json:"titled,omitempty"`
	// Outcome is how the last run ended and was not yet looked at: "", "done", "failed".
	Outcome string `json:"outcome,omitempty"`
	// Pending are messages that were typed while a run worked, in order.
	Pending []Message `json:"pending,omitempty"`
	// Messages is the number of messages in the log.
	Messages int `json:"messages,omitempty"`
}
