package store

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"sort"
	"sync"
	"time"

	"perch/chat"
)

// Memory is a store that ends with the process. It keeps the same lines as the
// durable one, so that what is read is what was written, no more.
type Memory struct {
	mu       sync.Mutex // protects everything below
	sessions map[string]*memSession
	images   map[string][]byte
	values   map[string]map[string][]byte
	working  working
	now      func() time.Time
}

type memSession struct {
	lines, aside      [][]byte
	meta, view, check []byte
	deleted           time.Time // zero while it is not
}

// NewMemory returns an empty store in memory.
func NewMemory() *Memory {
	return &Memory{
		sessions: map[string]*memSession{}, images: map[string][]byte{},
		values: map[string]map[string][]byte{}, now: time.Now,
	}
}

// Reopen forgets what runs are at work, as the end of the process does for a
// durable store. It serves tests of what a crash leaves behind.
func (s *Memory) Reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = working{}
}

// get returns a session, deleted ones only if hidden is true.
func (s *Memory) get(id string, hidden bool) (*memSession, error) {
	m := s.sessions[id]
	if m == nil || (!hidden && !m.deleted.IsZero()) {
		return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	return m, nil
}

// Create adds a session.
func (s *Memory) Create(m chat.SessionMeta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.create(m, &memSession{})
}

func (s *Memory) create(m chat.SessionMeta, ms *memSession) error {
	if err := checkID(m.ID); err != nil {
		return err
	}
	if s.sessions[m.ID] != nil {
		return fmt.Errorf("session %s: %w", m.ID, ErrExists)
	}
	if err := withoutPendingData(memBlobs{s}, &m); err != nil {
		return err
	}
	b, err := encodeMeta(m)
	if err != nil {
		return err
	}
	ms.meta = b
	s.sessions[m.ID] = ms
	return nil
}

// Meta returns a session's description.
func (s *Memory) Meta(id string) (chat.SessionMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, false)
	if err != nil {
		return chat.SessionMeta{}, err
	}
	return m.readMeta(id), nil
}

func (m *memSession) readMeta(id string) chat.SessionMeta {
	meta, _ := readMeta(id, m.meta, nil)
	meta.Messages = len(m.lines)
	return meta
}

// UpdateMeta changes a session's description.
func (s *Memory) UpdateMeta(id string, change func(*chat.SessionMeta)) (chat.SessionMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, true)
	if err != nil {
		return chat.SessionMeta{}, err
	}
	meta := m.readMeta(id)
	change(&meta)
	meta.ID = id
	if err := withoutPendingData(memBlobs{s}, &meta); err != nil {
		return chat.SessionMeta{}, err
	}
	b, err := encodeMeta(meta)
	if err != nil {
		return chat.SessionMeta{}, err
	}
	m.meta = b
	return m.readMeta(id), nil
}

// List returns the sessions that match, newest first.
func (s *Memory) List(q Query) ([]Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	match := newMatcher(q.Search)
	d := newDecoder()
	var out []Found
	for id, m := range s.sessions {
		if !m.deleted.IsZero() {
			continue
		}
		f := Found{SessionMeta: m.readMeta(id)}
		if !match.empty() {
			h := match.hunt()
			h.text(f.Title, false)
			for _, line := range m.lines {
				h.line(d, line)
			}
			if h.left > 0 {
				continue
			}
			f.Snippet = h.snippet
		}
		out = append(out, f)
	}
	newestFirst(out)
	return limit(out, q.Limit), nil
}

// Load returns a session, put right.
func (s *Memory) Load(id string) (*Loaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, false)
	if err != nil {
		return nil, err
	}
	p := assemble(id, rawSession{lines: m.lines, meta: m.meta, view: m.view, check: m.check, live: s.working.live(id)})
	if err := m.apply(p); err != nil {
		return nil, err
	}
	return &p.Loaded, nil
}

func (m *memSession) apply(p *loadPlan) error {
	m.aside = append(m.aside, p.aside...)
	if p.dropCheck {
		m.check = nil
	}
	if p.writeView {
		m.view = nil
	}
	if p.writeMeta {
		b, err := encodeMeta(p.Meta)
		if err != nil {
			return err
		}
		m.meta = b
	}
	switch {
	case p.rewrite:
		lines, err := encodeAll(p.Messages)
		if err != nil {
			return err
		}
		m.lines = lines
	case p.recovered != nil:
		line, err := encodeMessage(p.recovered)
		if err != nil {
			return err
		}
		m.lines = append(m.lines, line)
	}
	return nil
}

func encodeAll(msgs []chat.Message) ([][]byte, error) {
	out := make([][]byte, 0, len(msgs))
	for i := range msgs {
		line, err := encodeMessage(&msgs[i])
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// Append adds a message and drops the checkpoint.
func (s *Memory) Append(id string, msg chat.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, true)
	if err != nil {
		return err
	}
	if msg, err = withoutData(memBlobs{s}, msg); err != nil {
		return err
	}
	line, err := encodeMessage(&msg)
	if err != nil {
		return err
	}
	m.lines = append(m.lines, line)
	m.check = nil
	s.working.appended(id, &msg)
	return nil
}

// Checkpoint keeps the answer that is streaming; a message without parts drops
// what was kept.
func (s *Memory) Checkpoint(id string, msg chat.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, true)
	if err != nil {
		return err
	}
	if len(msg.Parts) == 0 {
		m.check = nil
		s.working.checkpointed(id, false)
		return nil
	}
	if msg, err = withoutData(memBlobs{s}, msg); err != nil {
		return err
	}
	line, err := encodeMessage(&msg)
	if err != nil {
		return err
	}
	m.check = line
	s.working.checkpointed(id, true)
	return nil
}

// Rewrite replaces log and view.
func (s *Memory) Rewrite(id string, msgs []chat.Message, v chat.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, true)
	if err != nil {
		return err
	}
	stored, err := withoutAllData(memBlobs{s}, msgs)
	if err != nil {
		return err
	}
	lines, err := encodeAll(stored)
	if err != nil {
		return err
	}
	view, err := encodeJSON(v)
	if err != nil {
		return err
	}
	m.lines, m.view, m.check = lines, view, nil
	s.working.forget(id)
	return nil
}

func withoutAllData(b blobs, msgs []chat.Message) ([]chat.Message, error) {
	out := make([]chat.Message, len(msgs))
	for i := range msgs {
		m, err := withoutData(b, msgs[i])
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

// SetView replaces the view.
func (s *Memory) SetView(id string, v chat.View) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, true)
	if err != nil {
		return err
	}
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	m.view = b
	return nil
}

// Fork copies a session up to and including a message.
func (s *Memory) Fork(id, message string, meta chat.SessionMeta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, false)
	if err != nil {
		return err
	}
	lines, v, err := forkLines(id, m.lines, m.view, message)
	if err != nil {
		return err
	}
	view, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return s.create(meta, &memSession{lines: append([][]byte(nil), lines...), view: view})
}

// Delete hides a session.
func (s *Memory) Delete(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.sessions {
		if !m.deleted.IsZero() && expired(m.deleted, s.now()) {
			s.purge()
			break
		}
	}
	m, err := s.get(id, false)
	if err != nil {
		return err
	}
	m.deleted = s.now()
	return nil
}

// Restore brings a deleted session back.
func (s *Memory) Restore(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.get(id, true)
	if err != nil {
		return err
	}
	m.deleted = time.Time{}
	return nil
}

// Purge removes sessions that can no longer be restored, and images that no
// session refers to.
func (s *Memory) Purge() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge()
	return nil
}

func (s *Memory) purge() {
	used := map[string]bool{}
	for id, m := range s.sessions {
		if !m.deleted.IsZero() && expired(m.deleted, s.now()) {
			delete(s.sessions, id)
			s.working.forget(id)
			continue
		}
		for _, line := range append(append([][]byte{m.meta, m.check}, m.lines...), m.aside...) {
			eachHash(line, func(h string) { used[h] = true })
		}
	}
	for h := range s.images {
		if !used[h] {
			delete(s.images, h)
		}
	}
}

// memBlobs are the images of a store whose mutex is held.
type memBlobs struct{ s *Memory }

func (b memBlobs) put(data []byte) (string, error) {
	h := hashOf(data)
	if b.s.images[h] == nil {
		b.s.images[h] = append([]byte(nil), data...)
	}
	return h, nil
}

func (b memBlobs) get(hash string) ([]byte, error) {
	data := b.s.images[hash]
	if data == nil {
		return nil, fmt.Errorf("image %.80q: %w", hash, fs.ErrNotExist)
	}
	return append([]byte(nil), data...), nil
}

// PutImage stores bytes by hash.
func (s *Memory) PutImage(data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return memBlobs{s}.put(data)
}

// Image reads bytes by hash.
func (s *Memory) Image(hash string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return memBlobs{s}.get(hash)
}

// Value returns a copy of a value, nil where there is none.
func (s *Memory) Value(bucket, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.values[bucket][key]), nil
}

// SetValue replaces a value; nil removes it.
func (s *Memory) SetValue(bucket, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setValue(bucket, key, value)
}

func (s *Memory) setValue(bucket, key string, value []byte) error {
	if bucket == "" || key == "" {
		return fmt.Errorf("store value: bucket and key must not be empty")
	}
	if value == nil {
		delete(s.values[bucket], key)
		return nil
	}
	if s.values[bucket] == nil {
		s.values[bucket] = map[string][]byte{}
	}
	s.values[bucket][key] = append([]byte{}, value...)
	return nil
}

// Values calls fn for every key of a bucket, in order.
func (s *Memory) Values(bucket string, fn func(key string, value []byte) error) error {
	s.mu.Lock()
	type pair struct {
		key   string
		value []byte
	}
	var all []pair
	for k, v := range s.values[bucket] {
		all = append(all, pair{k, clone(v)})
	}
	s.mu.Unlock()
	sort.Slice(all, func(i, j int) bool { return all[i].key < all[j].key })
	for _, p := range all {
		if err := fn(p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}

// ChangeValue reads and replaces a value in one step.
func (s *Memory) ChangeValue(bucket, key string, change func(old []byte) ([]byte, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, err := change(clone(s.values[bucket][key]))
	if err != nil {
		return err
	}
	return s.setValue(bucket, key, value)
}

// Close ends nothing: the store lives as long as it is referred to.
func (s *Memory) Close() error { return nil }

// clone copies bytes; nil stays nil, empty stays empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

var _ Store = (*Memory)(nil)

// describe reads a description without rebuilding it.
func describe(id string, raw []byte) (chat.SessionMeta, bool) {
	var m chat.SessionMeta
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return chat.SessionMeta{ID: id}, false
	}
	m.ID = id
	return m, true
}
