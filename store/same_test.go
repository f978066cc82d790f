package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"perch/chat"
)

// both runs each step on a store in memory and on one in Bolt.
type both struct {
	t     *rapid.T
	mem   *Memory
	bolt  *Bolt
	o     Options
	clock *testClock
	n     int
}

// do compares the errors of a step by what callers decide on.
func (b *both) do(step func(s Store) error) {
	kind := func(err error) string {
		switch {
		case err == nil:
			return "ok"
		case errors.Is(err, ErrNotFound):
			return "not found"
		case errors.Is(err, ErrExists):
			return "exists"
		}
		return string(chat.ClassOf(err))
	}
	if m, d := step(b.mem), step(b.bolt); kind(m) != kind(d) {
		b.t.Fatalf("memory says %v, Bolt says %v", m, d)
	}
}

func (b *both) same() {
	opt := cmpLoaded
	for _, id := range sameIDs {
		m, merr := b.mem.Load(id)
		d, derr := b.bolt.Load(id)
		if (merr == nil) != (derr == nil) {
			b.t.Fatalf("%s: memory loads with %v, Bolt with %v", id, merr, derr)
		}
		if merr == nil && !opt(m, d) {
			b.t.Fatalf("%s: memory has\n%+v\nBolt has\n%+v", id, m, d)
		}
		if merr == nil && !chat.Paired(m.Messages) {
			b.t.Fatalf("%s is not paired", id)
		}
	}
	ml, err := b.mem.List(Query{Search: "word"})
	if err != nil {
		b.t.Fatalf("%v", err)
	}
	dl, err := b.bolt.List(Query{Search: "word"})
	if err != nil || !reflect.DeepEqual(ml, dl) {
		b.t.Fatalf("memory lists\n%+v\nBolt lists\n%+v, %v", ml, dl, err)
	}
}

var sameIDs = []string{"a", "b", "c"}

func cmpLoaded(a, b *Loaded) bool {
	return reflect.DeepEqual(a.Messages, b.Messages) && reflect.DeepEqual(a.View, b.View) && reflect.DeepEqual(a.Meta, b.Meta) &&
		a.Repair == b.Repair && a.Recovered == b.Recovered && a.SetAside == b.SetAside
}

// message makes the next message: of the user, with calls, or a result of some
// call, which may be the wrong one.
func (b *both) message() chat.Message {
	b.n++
	id, call := fmt.Sprintf("m%d", b.n), fmt.Sprintf("c%d", rapid.IntRange(max(0, b.n-3), b.n).Draw(b.t, "call"))
	switch rapid.IntRange(0, 3).Draw(b.t, "kind") {
	case 0:
		return user(id, "a word of the user")
	case 1:
		return result(id, call, "result")
	case 2:
		return assistant(id, "text", call, call+"x")
	}
	return assistant(id, "only a word")
}

func TestBothKindsOfStoreDoTheSame(t *testing.T) {
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		clock := &testClock{time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
		b := &both{t: rt, mem: NewMemory(), clock: clock}
		b.mem.now = clock.now
		b.o = Options{Path: filepath.Join(dir, fmt.Sprintf("s%d.db", round)), Images: filepath.Join(dir, "i"), Now: clock.now}
		open := func() {
			d, err := Open(b.o)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			d.db.NoSync = true // durability has tests of its own
			b.bolt = d
		}
		open()
		defer func() { b.bolt.Close() }()
		id := func() string { return rapid.SampledFrom(sameIDs).Draw(rt, "id") }
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { b.same() },
			"create": func(*rapid.T) {
				m := chat.SessionMeta{ID: id(), Title: "word " + id(), Created: clock.t, Used: clock.t}
				b.do(func(s Store) error { return s.Create(m) })
			},
			"append": func(*rapid.T) {
				id, m := id(), b.message()
				b.do(func(s Store) error { return s.Append(id, m) })
			},
			"checkpoint": func(*rapid.T) {
				id, m := id(), b.message()
				m.Role, m.Result = chat.RoleAssistant, nil
				b.do(func(s Store) error { return s.Checkpoint(id, m) })
			},
			"rewrite": func(*rapid.T) {
				id, m := id(), b.message()
				v := chat.View{Pinned: []string{m.ID}}
				b.do(func(s Store) error { return s.Rewrite(id, []chat.Message{m}, v) })
			},
			"view": func(*rapid.T) {
				id := id()
				v := chat.View{Marks: []chat.CompactionMark{{ID: "k", Before: fmt.Sprintf("m%d", b.n)}}}
				b.do(func(s Store) error { return s.SetView(id, v) })
			},
			"fork": func(*rapid.T) {
				from, to, m := id(), id(), fmt.Sprintf("m%d", rapid.IntRange(0, b.n).Draw(rt, "message"))
				b.do(func(s Store) error { return s.Fork(from, m, chat.SessionMeta{ID: to, Title: "fork"}) })
			},
			"meta": func(*rapid.T) {
				id := id()
				clock.t = clock.t.Add(time.Second)
				b.do(func(s Store) error {
					return second(s.UpdateMeta(id, func(m *chat.SessionMeta) { m.Used, m.Draft = clock.t, m.Draft+"x" }))
				})
			},
			"delete":  func(*rapid.T) { id := id(); b.do(func(s Store) error { return s.Delete(id) }) },
			"restore": func(*rapid.T) { id := id(); b.do(func(s Store) error { return s.Restore(id) }) },
			"purge": func(*rapid.T) {
				clock.t = clock.t.Add(RestoreFor)
				b.do(func(s Store) error { return s.Purge() })
			},
			"crash": func(*rapid.T) {
				b.bolt.Close()
				if rapid.Bool().Draw(rt, "later") {
					clock.t = clock.t.Add(RestoreFor)
					_ = b.mem.Purge() // as opening does
				}
				b.mem.Reopen()
				open()
			},
		})
	})
}
