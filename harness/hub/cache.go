package hub

import (
	"sync"

	"perch/chat"
	"perch/store"
)

// cacheSessions is how many loaded sessions are kept, so that a run, its
// watchers and the next question do not read the disk again.
const cacheSessions = 4

// cachedStore keeps the sessions that are in use. A message that is appended
// enters the kept history through add, so that the hub can do that together
// with its own state.
type cachedStore struct {
	store.Store

	mu     sync.Mutex // protects the rest
	loaded map[string]*store.Loaded
	order  []string // least recently used first
}

func newCachedStore(s store.Store) *cachedStore {
	return &cachedStore{Store: s, loaded: map[string]*store.Loaded{}}
}

// Load returns a kept session or reads it. The messages are shared: they are
// only ever appended to, and the caller's appends make a copy.
func (c *cachedStore) Load(id string) (*store.Loaded, error) {
	c.mu.Lock()
	if l := c.loaded[id]; l != nil {
		c.touch(id)
		out := share(l)
		c.mu.Unlock()
		meta, err := c.Store.Meta(id)
		if err != nil {
			return nil, err
		}
		out.Meta = meta
		return out, nil
	}
	c.mu.Unlock()
	l, err := c.Store.Load(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded[id] == nil {
		keep := *l
		// The report is for the one who made the repair.
		keep.Repair, keep.SetAside, keep.Recovered = chat.RepairReport{}, 0, false
		c.loaded[id] = &keep
		c.touch(id)
	}
	return share2(l, c.loaded[id]), nil
}

func share(l *store.Loaded) *store.Loaded {
	out := *l
	out.Messages = l.Messages[:len(l.Messages):len(l.Messages)]
	return &out
}

// share2 is the kept session with the report of the load that made it.
func share2(fresh, kept *store.Loaded) *store.Loaded {
	out := share(kept)
	out.Repair, out.SetAside, out.Recovered = fresh.Repair, fresh.SetAside, fresh.Recovered
	return out
}

func (c *cachedStore) touch(id string) {
	for i, o := range c.order {
		if o == id {
			c.order = append(append(c.order[:i:i], c.order[i+1:]...), id)
			return
		}
	}
	c.order = append(c.order, id)
	if len(c.order) > cacheSessions {
		delete(c.loaded, c.order[0])
		c.order = c.order[1:]
	}
}

// add puts an appended message into the kept history.
func (c *cachedStore) add(id string, m chat.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loaded[id]; l != nil {
		l.Messages = append(l.Messages, m)
	}
}

func (c *cachedStore) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loaded, id)
	for i, o := range c.order {
		if o == id {
			c.order = append(c.order[:i:i], c.order[i+1:]...)
			return
		}
	}
}

// trim lets go of every kept session.
func (c *cachedStore) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded, c.order = map[string]*store.Loaded{}, nil
}

// SetView replaces the view, also of the kept session.
func (c *cachedStore) SetView(id string, v chat.View) error {
	if err := c.Store.SetView(id, v); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loaded[id]; l != nil {
		l.View = v
	}
	return nil
}

// Rewrite replaces log and view.
func (c *cachedStore) Rewrite(id string, msgs []chat.Message, v chat.View) error {
	defer c.drop(id)
	return c.Store.Rewrite(id, msgs, v)
}

// Delete hides a session.
func (c *cachedStore) Delete(id string) error {
	defer c.drop(id)
	return c.Store.Delete(id)
}
