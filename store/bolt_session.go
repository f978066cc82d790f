package store

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"perch/chat"
)

// logOf returns a session's log; deleted sessions only if hidden is true.
// Writes reach a deleted session, so that nothing is missing when it is restored.
func logOf(tx *bbolt.Tx, id string, hidden bool) (*bbolt.Bucket, error) {
	b := tx.Bucket(bLog).Bucket([]byte(id))
	if id == "" || b == nil || (!hidden && tx.Bucket(bDeleted).Get([]byte(id)) != nil) {
		return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	return b, nil
}

// Create adds a session.
func (s *Bolt) Create(m chat.SessionMeta) error {
	if err := withoutPendingData(s.images, &m); err != nil {
		return err
	}
	return s.update(func(tx *bbolt.Tx) error {
		_, err := create(tx, m)
		return err
	})
}

// create makes an empty session and returns its log.
func create(tx *bbolt.Tx, m chat.SessionMeta) (*bbolt.Bucket, error) {
	if err := checkID(m.ID); err != nil {
		return nil, err
	}
	id := []byte(m.ID)
	if tx.Bucket(bLog).Bucket(id) != nil {
		return nil, fmt.Errorf("session %s: %w", m.ID, ErrExists)
	}
	log, err := tx.Bucket(bLog).CreateBucket(id)
	if err != nil {
		return nil, err
	}
	b, err := encodeMeta(m)
	if err != nil {
		return nil, err
	}
	return log, tx.Bucket(bMeta).Put(id, b)
}

// Meta returns a session's description.
func (s *Bolt) Meta(id string) (m chat.SessionMeta, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		m, _, err = metaIn(tx, id, false)
		return err
	})
	return m, err
}

// metaIn reads a description, or makes it again from the log.
func metaIn(tx *bbolt.Tx, id string, hidden bool) (m chat.SessionMeta, rebuilt bool, err error) {
	log, err := logOf(tx, id, hidden)
	if err != nil {
		return m, false, err
	}
	m, ok := describe(id, tx.Bucket(bMeta).Get([]byte(id)))
	if !ok {
		d := newDecoder()
		var msgs []chat.Message
		err = log.ForEach(func(_, line []byte) error {
			if msg, err := d.message(line); err == nil {
				msgs = append(msgs, msg)
			}
			return nil
		})
		m, rebuilt = readMeta(id, nil, msgs)
	}
	m.Messages = int(log.Sequence())
	return m, rebuilt, err
}

// UpdateMeta changes a session's description in one transaction.
func (s *Bolt) UpdateMeta(id string, change func(*chat.SessionMeta)) (m chat.SessionMeta, err error) {
	err = s.update(func(tx *bbolt.Tx) error {
		if m, _, err = metaIn(tx, id, true); err != nil {
			return err
		}
		n := m.Messages
		change(&m)
		m.ID = id
		if err := withoutPendingData(s.images, &m); err != nil {
			return err
		}
		b, err := encodeMeta(m)
		if err != nil {
			return err
		}
		m.Messages = n
		return tx.Bucket(bMeta).Put([]byte(id), b)
	})
	if err != nil {
		return chat.SessionMeta{}, err
	}
	return m, nil
}

// List returns the sessions that match, newest first. It goes by the logs, so
// that a lost description hides nothing, and one that cannot be read does not
// hide the others.
func (s *Bolt) List(q Query) ([]Found, error) {
	match := newMatcher(q.Search)
	d := newDecoder()
	var out []Found
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bLog).ForEachBucket(func(id []byte) error {
			if tx.Bucket(bDeleted).Get(id) != nil {
				return nil
			}
			f, ok := s.find(tx, string(id), match, d)
			if ok {
				out = append(out, f)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	newestFirst(out)
	return limit(out, q.Limit), nil
}

// find returns one session of a list, if it matches.
func (s *Bolt) find(tx *bbolt.Tx, id string, match *matcher, d *decoder) (f Found, ok bool) {
	f.ID = id
	h := match.hunt()
	err := guard(s.path, func() error {
		m, rebuilt, err := metaIn(tx, id, false)
		if err != nil {
			return err
		}
		f.SessionMeta = m
		if rebuilt {
			f.Problem = "Its description could not be read and was made again from its messages."
		}
		if match.empty() {
			return nil
		}
		h.text(m.Title, false)
		log, err := logOf(tx, id, false)
		if err != nil {
			return err
		}
		return log.ForEach(func(_, line []byte) error {
			h.line(d, line)
			return nil
		})
	})
	if err != nil {
		f.Problem = fmt.Sprintf("It could not be read: %v", err)
		return f, match.empty()
	}
	f.Snippet = h.snippet
	return f, h.left == 0
}

// Load reads a session, puts it right and writes that back.
func (s *Bolt) Load(id string) (*Loaded, error) {
	s.mu.Lock()
	live := s.working.live(id)
	s.mu.Unlock()
	var p *loadPlan
	err := s.view(func(tx *bbolt.Tx) error {
		log, err := logOf(tx, id, false)
		if err != nil {
			return err
		}
		key := []byte(id)
		raw := rawSession{
			lines: make([][]byte, 0, log.Sequence()),
			meta:  tx.Bucket(bMeta).Get(key), view: tx.Bucket(bView).Get(key), check: tx.Bucket(bCheck).Get(key),
			live: live,
		}
		if err := log.ForEach(func(_, line []byte) error {
			raw.lines = append(raw.lines, line)
			return nil
		}); err != nil {
			return err
		}
		p = assemble(id, raw)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.writes() {
		if err := s.update(func(tx *bbolt.Tx) error { return p.write(tx, id) }); err != nil {
			return nil, err
		}
	}
	return &p.Loaded, nil
}

// write brings a repaired session back into the file.
func (p *loadPlan) write(tx *bbolt.Tx, id string) error {
	key := []byte(id)
	if len(p.aside) > 0 {
		b, err := tx.Bucket(bAside).CreateBucketIfNotExists(key)
		if err != nil {
			return err
		}
		if err := put(b, p.aside...); err != nil {
			return err
		}
	}
	if p.dropCheck {
		if err := tx.Bucket(bCheck).Delete(key); err != nil {
			return err
		}
	}
	if p.writeView {
		if err := tx.Bucket(bView).Delete(key); err != nil {
			return err
		}
	}
	if p.writeMeta {
		b, err := encodeMeta(p.Meta)
		if err != nil {
			return err
		}
		if err := tx.Bucket(bMeta).Put(key, b); err != nil {
			return err
		}
	}
	switch {
	case p.rewrite:
		return replaceLog(tx, id, p.Messages)
	case p.recovered != nil:
		line, err := encodeMessage(p.recovered)
		if err != nil {
			return err
		}
		return put(tx.Bucket(bLog).Bucket(key), line)
	}
	return nil
}

// replaceLog writes a session's log anew.
func replaceLog(tx *bbolt.Tx, id string, msgs []chat.Message) error {
	key := []byte(id)
	if err := tx.Bucket(bLog).DeleteBucket(key); err != nil {
		return err
	}
	log, err := tx.Bucket(bLog).CreateBucket(key)
	if err != nil {
		return err
	}
	for i := range msgs {
		line, err := encodeMessage(&msgs[i])
		if err != nil {
			return err
		}
		if err := put(log, line); err != nil {
			return err
		}
	}
	return nil
}

// Append adds a message durably and drops the checkpoint.
func (s *Bolt) Append(id string, m chat.Message) error {
	m, err := withoutData(s.images, m)
	if err != nil {
		return err
	}
	line, err := encodeMessage(&m)
	if err != nil {
		return err
	}
	err = s.update(func(tx *bbolt.Tx) error {
		log, err := logOf(tx, id, true)
		if err != nil {
			return err
		}
		if err := dropCheckpoint(tx, id); err != nil {
			return err
		}
		return put(log, line)
	})
	if err == nil {
		s.mu.Lock()
		s.working.appended(id, &m)
		s.mu.Unlock()
	}
	return err
}

// dropCheckpoint touches the bucket only where there is something to drop.
func dropCheckpoint(tx *bbolt.Tx, id string) error {
	b := tx.Bucket(bCheck)
	if b.Get([]byte(id)) == nil {
		return nil
	}
	return b.Delete([]byte(id))
}

// Checkpoint keeps the answer that is streaming; a message without parts drops
// what was kept.
func (s *Bolt) Checkpoint(id string, m chat.Message) error {
	drop := len(m.Parts) == 0
	var line []byte
	if !drop {
		var err error
		if m, err = withoutData(s.images, m); err != nil {
			return err
		}
		if line, err = encodeMessage(&m); err != nil {
			return err
		}
	}
	// Said before it is written: a Load in between must not take it for a leftover.
	s.mu.Lock()
	s.working.checkpointed(id, true)
	s.mu.Unlock()
	err := s.update(func(tx *bbolt.Tx) error {
		if _, err := logOf(tx, id, true); err != nil {
			return err
		}
		if drop {
			return dropCheckpoint(tx, id)
		}
		return tx.Bucket(bCheck).Put([]byte(id), line)
	})
	if drop && err == nil {
		s.mu.Lock()
		s.working.checkpointed(id, false)
		s.mu.Unlock()
	}
	return err
}

// Rewrite replaces log and view in one transaction.
func (s *Bolt) Rewrite(id string, msgs []chat.Message, v chat.View) error {
	stored, err := withoutAllData(s.images, msgs)
	if err != nil {
		return err
	}
	view, err := encodeJSON(v)
	if err != nil {
		return err
	}
	err = s.update(func(tx *bbolt.Tx) error {
		if _, err := logOf(tx, id, true); err != nil {
			return err
		}
		if err := replaceLog(tx, id, stored); err != nil {
			return err
		}
		if err := dropCheckpoint(tx, id); err != nil {
			return err
		}
		return tx.Bucket(bView).Put([]byte(id), view)
	})
	if err == nil {
		s.mu.Lock()
		s.working.forget(id)
		s.mu.Unlock()
	}
	return err
}

// SetView replaces the view.
func (s *Bolt) SetView(id string, v chat.View) error {
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return s.update(func(tx *bbolt.Tx) error {
		if _, err := logOf(tx, id, true); err != nil {
			return err
		}
		return tx.Bucket(bView).Put([]byte(id), b)
	})
}

// Fork copies a session up to and including a message.
func (s *Bolt) Fork(id, message string, m chat.SessionMeta) error {
	if err := withoutPendingData(s.images, &m); err != nil {
		return err
	}
	return s.update(func(tx *bbolt.Tx) error {
		log, err := logOf(tx, id, false)
		if err != nil {
			return err
		}
		var lines [][]byte
		if err := log.ForEach(func(_, line []byte) error {
			lines = append(lines, clone(line)) // the new log may move the pages of the old
			return nil
		}); err != nil {
			return err
		}
		lines, v, err := forkLines(id, lines, tx.Bucket(bView).Get([]byte(id)), message)
		if err != nil {
			return err
		}
		view, err := encodeJSON(v)
		if err != nil {
			return err
		}
		to, err := create(tx, m)
		if err != nil {
			return err
		}
		if err := put(to, lines...); err != nil {
			return err
		}
		return tx.Bucket(bView).Put([]byte(m.ID), view)
	})
}

// Delete hides a session.
func (s *Bolt) Delete(id string) error {
	s.sweep()
	return s.update(func(tx *bbolt.Tx) error {
		if _, err := logOf(tx, id, false); err != nil {
			return err
		}
		return tx.Bucket(bDeleted).Put([]byte(id), []byte(s.now().UTC().Format(time.RFC3339Nano)))
	})
}

// Restore brings a deleted session back.
func (s *Bolt) Restore(id string) error {
	return s.update(func(tx *bbolt.Tx) error {
		if _, err := logOf(tx, id, true); err != nil {
			return err
		}
		return tx.Bucket(bDeleted).Delete([]byte(id))
	})
}
