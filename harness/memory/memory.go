// Package memory holds what Perch remembers across sessions: a profile of the
// user and notes about the work, both small and both in the system prompt.
//
// Guarantees: every text is scanned before it is written and again when it is
// loaded; a text that fails stays out of the prompt but can be read and deleted;
// the same entries give the same bytes in the prompt, so that a vendor's prefix
// cache keeps serving until memory changes.
package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"perch/chat"
	"perch/control"
	"perch/harness/memory/scan"
)

// The parts of the memory.
const (
	Profile = "profile" // who the user is
	Notes   = "notes"   // durable facts about the work
)

var parts = []string{Profile, Notes}

// Limits in characters (runes). They are the product's definition: both parts
// stand in every request.
const (
	PartLimit  = 3000
	EntryLimit = 500
)

const bucket = "memory"

// Store keeps values by key. A missing key is nil.
type Store interface {
	Value(bucket, key string) ([]byte, error)
	ChangeValue(bucket, key string, change func(old []byte) ([]byte, error)) error
}

// Memory is the memory over a store. It may be used from many goroutines.
type Memory struct {
	store Store

	mu    sync.Mutex // guards cache
	cache map[string]cached
}

// cached is a part as it was loaded last; scanning is done once for the same
// bytes.
type cached struct {
	raw  []byte
	part control.MemoryPart
}

var _ control.Memory = (*Memory)(nil)

// Open returns the memory that the store holds.
func Open(s Store) *Memory { return &Memory{store: s, cache: make(map[string]cached)} }

type stored struct {
	Entries []string `json:"entries"`
}

func decode(raw []byte) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var s stored
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, chat.NewError(chat.ClassStore, "err.memory_damaged", "The stored memory cannot be read: %v. Delete it with perch memory edit, or restore the data folder from a backup.", err).Wrap(err)
	}
	return s.Entries, nil
}

func encode(entries []string) ([]byte, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	return json.Marshal(stored{entries})
}

// Memory returns all entries, those that are masked too.
func (m *Memory) Memory(context.Context) (control.MemoryView, error) {
	profile, err := m.load(Profile)
	if err != nil {
		return control.MemoryView{}, err
	}
	notes, err := m.load(Notes)
	return control.MemoryView{Profile: profile, Notes: notes}, err
}

func (m *Memory) load(part string) (control.MemoryPart, error) {
	raw, err := m.store.Value(bucket, part)
	if err != nil {
		return control.MemoryPart{}, fmt.Errorf("read memory: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.cache[part]; ok && bytes.Equal(c.raw, raw) {
		return clonePart(c.part), nil
	}
	entries, err := decode(raw)
	if err != nil {
		return control.MemoryPart{Limit: PartLimit}, err
	}
	p := control.MemoryPart{Limit: PartLimit, Entries: []control.MemoryEntry{}}
	for _, e := range entries {
		p.Entries = append(p.Entries, control.MemoryEntry{Text: e, Masked: maskReason(e)})
		p.Used += utf8.RuneCountInString(e)
	}
	m.cache[part] = cached{bytes.Clone(raw), p}
	return clonePart(p), nil
}

func clonePart(p control.MemoryPart) control.MemoryPart {
	p.Entries = append([]control.MemoryEntry{}, p.Entries...)
	return p
}

// maskReason says why a stored entry stays out of the prompt, "" when it may
// stand there. An entry that was put into the store by hand may also be too long
// or hold a line break, with which it could pretend to be a heading.
func maskReason(e string) string {
	if f := scan.Text(e); f != nil {
		return f.Reason()
	}
	if utf8.RuneCountInString(e) > EntryLimit {
		return fmt.Sprintf("it is longer than %d characters", EntryLimit)
	}
	if tidy(e) != e || e == "" {
		return "it holds line breaks or is empty"
	}
	return ""
}

// tidy makes an entry one line: line breaks and runs of spaces become one space.
// Thus no entry can begin a heading or a list of its own in the prompt.
func tidy(s string) string { return strings.Join(strings.Fields(strings.TrimPrefix(s, "\ufeff")), " ") }

func checkPart(part string) error {
	if !slices.Contains(parts, part) {
		return chat.NewError(chat.ClassBadRequest, "err.memory_part", "There is no part %q of the memory: use profile or notes.", part)
	}
	return nil
}

// refusal is the error for a text that the scan refuses.
func refusal(f *scan.Finding) *chat.Error {
	return chat.NewError(chat.ClassRefusal, "err.memory_refused", "Not remembered: the text %s. Say it differently, without that.", f.Reason())
}

// MemoryAdd adds one entry for the user.
func (m *Memory) MemoryAdd(_ context.Context, part, text string) error {
	text = strings.TrimSpace(text)
	if f := scan.Text(text); f != nil {
		return refusal(f)
	}
	text = tidy(text)
	if n := utf8.RuneCountInString(text); n > EntryLimit {
		return chat.NewError(chat.ClassBadRequest, "err.memory_long", "An entry may have %d characters; this one has %d. Shorten it or split it into several.", EntryLimit, n)
	}
	_, err := m.add(part, text)
	return err
}

// add appends a scanned, tidy entry and returns the part afterwards.
func (m *Memory) add(part, text string) ([]string, error) {
	if err := checkPart(part); err != nil {
		return nil, err
	}
	if text == "" {
		return nil, chat.NewError(chat.ClassBadRequest, "err.memory_empty", "There is nothing to remember: the text is empty.")
	}
	if err := m.refuseDuplicate(part, text); err != nil {
		return nil, err
	}
	return m.change(part, func(entries []string) ([]string, error) {
		if d := duplicate(entries, text, -1); d != "" {
			return nil, duplicateError(part, d)
		}
		entries = append(entries, text)
		return entries, checkRoom(part, entries)
	})
}

// refuseDuplicate looks into the other part too; a fact belongs in one.
func (m *Memory) refuseDuplicate(part, text string) error {
	for _, p := range parts {
		if p == part {
			continue
		}
		entries, err := m.entries(p)
		if err != nil {
			return err
		}
		if d := duplicate(entries, text, -1); d != "" {
			return duplicateError(p, d)
		}
	}
	return nil
}

func duplicateError(part, entry string) *chat.Error {
	return chat.NewError(chat.ClassBadRequest, "err.memory_duplicate", "This is remembered already, in %s: %q. Use replace to change it.", part, entry)
}

// duplicate returns the entry, other than the one at skip, that says the same
// but for case, spacing and a closing stop.
func duplicate(entries []string, text string, skip int) string {
	key := sameKey(text)
	for i, e := range entries {
		if i != skip && sameKey(e) == key {
			return e
		}
	}
	return ""
}

func sameKey(s string) string {
	return strings.TrimRight(strings.ToLower(tidy(s)), ".!。！ ")
}

func size(entries []string) int {
	n := 0
	for _, e := range entries {
		n += utf8.RuneCountInString(e)
	}
	return n
}

func checkRoom(part string, entries []string) error {
	n := size(entries)
	if n <= PartLimit {
		return nil
	}
	return chat.NewError(chat.ClassBadRequest, "err.memory_full", "%s is full: with this it would have %d of %d characters. Merge or remove entries first.", title(part), n, PartLimit)
}

func title(part string) string { return strings.ToUpper(part[:1]) + part[1:] }

// change rewrites one part in one transaction and returns its entries.
func (m *Memory) change(part string, f func(entries []string) ([]string, error)) ([]string, error) {
	var now []string
	err := m.store.ChangeValue(bucket, part, func(old []byte) ([]byte, error) {
		entries, err := decode(old)
		if err != nil {
			return nil, err
		}
		if now, err = f(entries); err != nil {
			return nil, err
		}
		return encode(now)
	})
	return now, err
}

func (m *Memory) entries(part string) ([]string, error) {
	raw, err := m.store.Value(bucket, part)
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	return decode(raw)
}

// MemoryRemove deletes the entry in which text occurs, for the user: masked
// entries can be named too.
func (m *Memory) MemoryRemove(_ context.Context, text string) error {
	at, err := m.find("", text, true)
	if err != nil {
		return err
	}
	_, err = m.remove(at)
	return err
}

func (m *Memory) remove(at place) ([]string, error) {
	return m.change(at.part, func(entries []string) ([]string, error) {
		i := slices.Index(entries, at.entry)
		if i < 0 {
			return nil, goneError(at.entry)
		}
		return slices.Delete(entries, i, i+1), nil
	})
}

func goneError(entry string) *chat.Error {
	return chat.NewError(chat.ClassBadRequest, "err.memory_gone", "The entry %q was changed meanwhile. Look at the memory again.", entry)
}

// MemoryReplace sets all entries of a part, for the user's editor. New or
// changed entries are scanned; one that is already masked may stay as it is. A
// stored value that cannot be read is replaced.
func (m *Memory) MemoryReplace(_ context.Context, part string, entries []string) error {
	if err := checkPart(part); err != nil {
		return err
	}
	return m.store.ChangeValue(bucket, part, func(old []byte) ([]byte, error) {
		before, err := decode(old)
		if err != nil {
			before = nil
		}
		var now []string
		for _, e := range entries {
			kept := slices.Contains(before, e)
			if !kept {
				if f := scan.Text(e); f != nil {
					return nil, refusal(f)
				}
				e = tidy(e)
			}
			if e == "" {
				continue
			}
			if n := utf8.RuneCountInString(e); n > EntryLimit && !kept {
				return nil, chat.NewError(chat.ClassBadRequest, "err.memory_long", "An entry may have %d characters; this one has %d. Shorten it or split it into several.", EntryLimit, n)
			}
			if d := duplicate(now, e, -1); d != "" {
				return nil, duplicateError(part, d)
			}
			now = append(now, e)
		}
		if err := checkRoom(part, now); err != nil && size(now) > size(before) {
			return nil, err
		}
		return encode(now)
	})
}
