// Package store keeps sessions. Two kinds stand behind one interface: in memory
// and durable in a Bolt file, equivalent to JSONL: one message is one JSON value
// under an increasing key.
//
// Guarantees of the durable store: an append has reached the disk when it
// returns; after a kill or power loss at any moment the log holds whole messages
// only; one unreadable session or message never hides or blocks another.
package store

import (
	"errors"

	"perch/chat"
)

// Errors that callers decide on.
var (
	ErrNotFound = errors.New("no such session")
	// ErrLocked says that another process holds the file.
	ErrLocked = errors.New("the session store is in use by another process")
)

// Loaded is a session as [Store.Load] returns it.
type Loaded struct {
	Meta chat.SessionMeta
	// Messages is the whole log, repaired, those before a compaction too.
	Messages []chat.Message
	View     chat.View
	// Repair says what was put right (and written back) by this load.
	Repair chat.RepairReport
	// SetAside counts lines that could not be read and were moved aside.
	SetAside int
	// Recovered says that the text of an answer that was streaming when the
	// program died was taken over from its checkpoint, marked interrupted.
	Recovered bool
}

// Query selects sessions, newest first.
type Query struct {
	Search string // every word must occur in the title or a text, case folded
	Limit  int    // 0 is all
}

// Found is one session of a list, with what a search matched and what is wrong.
type Found struct {
	chat.SessionMeta
	Snippet string
	Problem string
}

// Store keeps sessions. Its methods may be called from several goroutines;
// writes to one session are the caller's to order.
type Store interface {
	Create(m chat.SessionMeta) error
	Meta(id string) (chat.SessionMeta, error)
	// UpdateMeta changes the meta data in one transaction.
	UpdateMeta(id string, change func(*chat.SessionMeta)) (chat.SessionMeta, error)
	List(q Query) ([]Found, error)

	// Load reads, repairs and writes the repair back. A checkpoint left by a
	// crash becomes an interrupted assistant message. While a run of this process
	// is at work on the session (it has a checkpoint, or a call without a result),
	// Load repairs what it returns and writes nothing.
	Load(id string) (*Loaded, error)
	// Append adds a message durably and drops the checkpoint in the same
	// transaction. Images with Data are stored by hash first and synced.
	Append(id string, m chat.Message) error
	// Checkpoint replaces the saved state of the answer that is streaming; a
	// message without parts drops it.
	Checkpoint(id string, m chat.Message) error
	// Rewrite replaces the log and the view in one transaction.
	Rewrite(id string, msgs []chat.Message, v chat.View) error
	// SetView replaces the view in one transaction.
	SetView(id string, v chat.View) error
	// Fork copies the log up to and including a message ("" is all), with the
	// view as far as it applies, into a new session.
	Fork(id, message string, m chat.SessionMeta) error

	// Delete hides a session at once; Restore brings it back for RestoreFor, after
	// which Purge removes it and the images that nothing refers to any more.
	// Writes to a hidden session are kept for its return.
	Delete(id string) error
	Restore(id string) error
	Purge() error

	// PutImage stores bytes by hash and returns the hash; Image reads them.
	PutImage(data []byte) (string, error)
	Image(hash string) ([]byte, error)

	// Value and SetValue keep small things by bucket and key: statistics,
	// permission rules, memory, learned ratios. A missing key is nil. A nil
	// value removes the key.
	Value(bucket, key string) ([]byte, error)
	SetValue(bucket, key string, value []byte) error
	// Values calls fn for every key of a bucket, in order; the bytes are only
	// valid during the call.
	Values(bucket string, fn func(key string, value []byte) error) error
	// ChangeValue reads and replaces a value in one transaction.
	ChangeValue(bucket, key string, change func(old []byte) ([]byte, error)) error

	Close() error
}
