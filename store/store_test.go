package store

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"perch/chat"
)

// testClock is a clock that a test moves.
type testClock struct{ t time.Time }

func (c *testClock) now() time.Time { return c.t }

// kind is a store under test; reopen ends it as a kill of the process does and
// opens it again.
type kind struct {
	Store
	clock  *testClock
	reopen func() Store
}

// eachKind runs a test over every kind of store.
func eachKind(t *testing.T, test func(t *testing.T, s *kind)) {
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	t.Run("memory", func(t *testing.T) {
		clock := &testClock{start}
		m := NewMemory()
		m.now = clock.now
		test(t, &kind{Store: m, clock: clock, reopen: func() Store { m.Reopen(); return m }})
	})
	t.Run("bolt", func(t *testing.T) {
		clock := &testClock{start}
		dir := t.TempDir()
		o := Options{Path: filepath.Join(dir, "sessions.db"), Images: filepath.Join(dir, "images"), Now: clock.now}
		open := func() *Bolt {
			b, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		b := open()
		t.Cleanup(func() { b.Close() })
		k := &kind{Store: b, clock: clock}
		k.reopen = func() Store {
			b.Close()
			b = open()
			k.Store = b
			return b
		}
		test(t, k)
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func user(id, text string) chat.Message {
	return chat.Message{ID: id, Role: chat.RoleUser, Time: time.Date(2026, 3, 1, 9, 1, 0, 0, time.UTC), Parts: []chat.Part{chat.Text(text)}}
}

func assistant(id, text string, calls ...string) chat.Message {
	m := chat.Message{ID: id, Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text(text)}}
	for _, c := range calls {
		m.Parts = append(m.Parts, chat.Part{Type: chat.PartCall, Call: &chat.ToolCall{ID: c, Name: "read_file", Input: `{"path":"a"}`}})
	}
	return m
}

func result(id, call, text string) chat.Message {
	return chat.Message{ID: id, Role: chat.RoleTool, Result: &chat.ToolResult{CallID: call, Name: "read_file", Text: text}}
}

func fill(t testing.TB, s Store, id string, msgs ...chat.Message) {
	t.Helper()
	must(t, s.Create(chat.SessionMeta{ID: id, Title: "Session " + id, Created: time.Unix(1e9, 0).UTC(), Used: time.Unix(1e9, 0).UTC()}))
	for _, m := range msgs {
		must(t, s.Append(id, m))
	}
}

func texts(msgs []chat.Message) (out []string) {
	for i := range msgs {
		out = append(out, msgs[i].PlainText())
	}
	return out
}

func TestWhatIsAppendedIsLoadedUnchangedAndInOrder(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		usage := chat.Usage{Input: 10, Output: 3, CacheRead: 5, Cost: 0.00125}
		answer := assistant("m2", "line one\n\"two\" <b>&amp; \u2028 日本語 🙂\t\\", "c1")
		answer.Usage, answer.Provider, answer.Model, answer.Stop = &usage, "anthropic", "claude", chat.StopTools
		answer.Parts = append([]chat.Part{{Type: chat.PartThinking, Text: "hm", Signature: "sig=="}}, answer.Parts...)
		res := result("m3", "c1", "body")
		res.Result.Duration = 1500 * time.Millisecond
		res.Result.Sources = []chat.Source{{Title: "a", Path: "/a", StartLine: 2}}
		want := []chat.Message{user("m1", "question"), answer, res, assistant("m4", "done")}
		fill(t, s, "s1", want...)
		for range 2 {
			l, err := s.Load("s1")
			must(t, err)
			if !reflect.DeepEqual(l.Messages, want) {
				t.Fatalf("loaded %+v\nwant %+v", l.Messages, want)
			}
			if l.Repair.Changed() || l.Recovered || l.SetAside != 0 || l.Meta.Messages != 4 {
				t.Fatalf("%+v", l)
			}
			s.reopen()
		}
	})
}

func TestUnknownSessionIsNotFoundWhateverIsDoneToIt(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		for name, err := range map[string]error{
			"append":     s.Append("no", user("m", "x")),
			"checkpoint": s.Checkpoint("no", assistant("m", "x")),
			"rewrite":    s.Rewrite("no", nil, chat.View{}),
			"view":       s.SetView("no", chat.View{}),
			"fork":       s.Fork("no", "", chat.SessionMeta{ID: "new"}),
			"delete":     s.Delete("no"),
			"restore":    s.Restore("no"),
			"load":       second(s.Load("no")),
			"empty":      second(s.Load("")),
			"meta":       second(s.Meta("no")),
			"update":     second(s.UpdateMeta("no", func(*chat.SessionMeta) {})),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestCreatingTwiceIsRefused(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "x"))
		if err := s.Create(chat.SessionMeta{ID: "s1"}); !errors.Is(err, ErrExists) {
			t.Fatal(err)
		}
		if err := s.Create(chat.SessionMeta{}); chat.ClassOf(err) != chat.ClassMisuse {
			t.Fatal(err)
		}
	})
}

func TestCheckpointLeftByACrashBecomesAnInterruptedAnswer(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "question"))
		half := assistant("m2", "so far")
		half.Parts = append([]chat.Part{{Type: chat.PartThinking, Text: "unsigned"}}, half.Parts...)
		must(t, s.Checkpoint("s1", assistant("m2", "so")))
		must(t, s.Checkpoint("s1", half))

		// While the run is at work its checkpoint is no leftover.
		l, err := s.Load("s1")
		must(t, err)
		if l.Recovered || len(l.Messages) != 1 {
			t.Fatalf("a running answer was taken for a leftover: %+v", l)
		}
		s.reopen()
		l, err = s.Load("s1")
		must(t, err)
		if !l.Recovered || len(l.Messages) != 2 {
			t.Fatalf("%+v", l)
		}
		m := l.Messages[1]
		if !m.Interrupted || m.PlainText() != "so far" || len(m.Parts) != 1 || m.Stop != chat.StopAborted {
			t.Fatalf("%+v", m)
		}
		s.reopen()
		if l, err = s.Load("s1"); err != nil || l.Recovered || len(l.Messages) != 2 {
			t.Fatalf("second load: %+v %v", l, err)
		}
	})
}

func TestAppendAndAnEmptyCheckpointDropWhatWasKept(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "q"))
		must(t, s.Checkpoint("s1", assistant("m2", "half")))
		must(t, s.Append("s1", assistant("m2", "half and the rest")))
		fill(t, s, "s2", user("m1", "q"))
		must(t, s.Checkpoint("s2", assistant("m2", "withdrawn")))
		must(t, s.Checkpoint("s2", chat.Message{}))
		fill(t, s, "s3", user("m1", "q"))
		must(t, s.Checkpoint("s3", assistant("m2", " \n")))
		s.reopen()
		for id, want := range map[string]int{"s1": 2, "s2": 1, "s3": 1} {
			l, err := s.Load(id)
			must(t, err)
			if l.Recovered || len(l.Messages) != want {
				t.Errorf("%s: %v recovered %v", id, texts(l.Messages), l.Recovered)
			}
		}
	})
}

func TestOpenCallsOfACrashAreAnsweredOnceAndWrittenBack(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "q"), assistant("m2", "", "c1", "c2"), result("m3", "c1", "one"))
		s.reopen()
		l, err := s.Load("s1")
		must(t, err)
		if l.Repair.Created != 1 || len(l.Messages) != 4 || !l.Messages[3].Result.Interrupted {
			t.Fatalf("%+v", l)
		}
		s.reopen()
		again, err := s.Load("s1")
		must(t, err)
		if again.Repair.Changed() || !reflect.DeepEqual(again.Messages, l.Messages) {
			t.Fatalf("second load changed something: %+v", again.Repair)
		}
	})
}

func TestLoadingWhileARunWorksWritesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "q"), assistant("m2", "", "c1"))
		if _, err := s.Load("s1"); err != nil {
			t.Fatal(err)
		}
		must(t, s.Append("s1", result("m3", "c1", "real")))
		s.reopen()
		l, err := s.Load("s1")
		must(t, err)
		if l.Repair.Changed() || len(l.Messages) != 3 || l.Messages[2].Result.Text != "real" {
			t.Fatalf("%+v %v", l.Repair, texts(l.Messages))
		}
	})
}

func TestRewriteReplacesLogAndViewAndKeepsAppending(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "a"), assistant("m2", "b"))
		v := chat.View{Marks: []chat.CompactionMark{{ID: "k", Before: "m2", Summary: "sum"}}, Pinned: []string{"m2"}, Shortened: map[string]string{"m2": "s"}}
		must(t, s.Rewrite("s1", []chat.Message{user("m9", "z")}, v))
		must(t, s.Append("s1", assistant("m10", "y")))
		s.reopen()
		l, err := s.Load("s1")
		must(t, err)
		if got := texts(l.Messages); !reflect.DeepEqual(got, []string{"z", "y"}) || !reflect.DeepEqual(l.View, v) || l.Meta.Messages != 2 {
			t.Fatalf("%v %+v", got, l.View)
		}
		must(t, s.SetView("s1", chat.View{}))
		if l, _ = s.Load("s1"); !reflect.DeepEqual(l.View, chat.View{}) {
			t.Fatalf("%+v", l.View)
		}
		must(t, s.Rewrite("s1", nil, chat.View{}))
		if l, _ = s.Load("s1"); len(l.Messages) != 0 || l.Meta.Title != "Session s1" {
			t.Fatalf("%+v", l)
		}
	})
}

func TestForkCopiesUpToAMessageWithItsPartOfTheView(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "a"), assistant("m2", "b"), user("m3", "c"))
		must(t, s.SetView("s1", chat.View{
			Marks:  []chat.CompactionMark{{ID: "k1", Before: "m2"}, {ID: "k2", Before: "m3"}},
			Pinned: []string{"m1", "m3"}, Shortened: map[string]string{"m2": "x", "m3": "y"},
		}))
		must(t, s.Fork("s1", "m2", chat.SessionMeta{ID: "f", Title: "fork"}))
		must(t, s.Append("f", user("m4", "other way")))
		must(t, s.Fork("s1", "", chat.SessionMeta{ID: "g"}))
		if err := s.Fork("s1", "nope", chat.SessionMeta{ID: "h"}); chat.ClassOf(err) != chat.ClassMisuse {
			t.Fatalf("unknown message: %v", err)
		}
		if err := s.Fork("s1", "", chat.SessionMeta{ID: "g"}); !errors.Is(err, ErrExists) {
			t.Fatal(err)
		}
		for id, want := range map[string][]string{"s1": {"a", "b", "c"}, "f": {"a", "b", "other way"}, "g": {"a", "b", "c"}} {
			l, err := s.Load(id)
			must(t, err)
			if got := texts(l.Messages); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v", id, got)
			}
		}
		l, _ := s.Load("f")
		if len(l.View.Marks) != 1 || !reflect.DeepEqual(l.View.Pinned, []string{"m1"}) || len(l.View.Shortened) != 1 {
			t.Fatalf("%+v", l.View)
		}
	})
}

func TestDeletedSessionIsHiddenRestorableAndThenGone(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "a"))
		fill(t, s, "s2", user("m1", "a"))
		must(t, s.Delete("s1"))
		if l, _ := s.List(Query{}); len(l) != 1 || l[0].ID != "s2" {
			t.Fatalf("%+v", l)
		}
		if _, err := s.Load("s1"); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		must(t, s.Append("s1", assistant("m2", "late")))
		must(t, s.Purge())
		must(t, s.Restore("s1"))
		if l, err := s.Load("s1"); err != nil || len(l.Messages) != 2 {
			t.Fatalf("%+v %v", l, err)
		}
		must(t, s.Delete("s1"))
		s.clock.t = s.clock.t.Add(RestoreFor)
		must(t, s.Purge())
		if err := s.Restore("s1"); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		fill(t, s, "s1") // the id is free again, and nothing of the old one is left
		if l, err := s.Load("s1"); err != nil || len(l.Messages) != 0 {
			t.Fatalf("%+v %v", l, err)
		}
	})
}

func TestListIsNewestFirstAndSearchFindsEveryWordAnywhere(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1", user("m1", "The quick \"brown\" fox"), assistant("m2", "jumps\nover ÄPFEL"))
		fill(t, s, "s2", user("m1", "日本語の検索"), assistant("m2", "ok"))
		fill(t, s, "s3")
		at := time.Unix(2e9, 0)
		for i, id := range []string{"s3", "s1", "s2"} {
			_, err := s.UpdateMeta(id, func(m *chat.SessionMeta) { m.Used = at.Add(time.Duration(i) * time.Hour) })
			must(t, err)
		}
		for _, c := range []struct {
			search string
			limit  int
			want   []string
		}{
			{"", 0, []string{"s2", "s1", "s3"}},
			{"", 2, []string{"s2", "s1"}},
			{"fox OVER äpfel", 0, []string{"s1"}},
			{`"brown"`, 0, []string{"s1"}},
			{"検索", 0, []string{"s2"}},
			{"fox missing", 0, nil},
			{"session", 0, []string{"s2", "s1", "s3"}},
			{"read_file", 0, nil}, // what is no text is not searched
			{"role", 0, nil},
		} {
			got, err := s.List(Query{Search: c.search, Limit: c.limit})
			must(t, err)
			var ids []string
			for _, f := range got {
				ids = append(ids, f.ID)
			}
			if !reflect.DeepEqual(ids, c.want) {
				t.Errorf("search %q: %v, want %v", c.search, ids, c.want)
			}
		}
		got, _ := s.List(Query{Search: "over"})
		if len(got) != 1 || got[0].Snippet != "jumps over ÄPFEL" || got[0].Messages != 2 {
			t.Fatalf("%+v", got)
		}
	})
}

func TestImagesAreStoredOnceAndCollectedWhenNothingRefersToThem(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		png := []byte("\x89PNG one")
		q := user("m1", "look")
		q.Parts = append(q.Parts, chat.Part{Type: chat.PartImage, Image: &chat.Image{MIME: "image/png", Data: png}})
		r := result("m3", "c1", "shot")
		r.Result.Images = []chat.Image{{MIME: "image/png", Data: png}}
		fill(t, s, "s1", q, assistant("m2", "", "c1"), r)
		if len(q.Parts[1].Image.Data) == 0 || len(r.Result.Images[0].Data) == 0 {
			t.Fatal("the caller's message was changed")
		}
		l, err := s.Load("s1")
		must(t, err)
		img := l.Messages[0].Parts[1].Image
		if img.Data != nil || img.Size != len(png) || l.Messages[2].Result.Images[0].Hash != img.Hash {
			t.Fatalf("%+v", img)
		}
		must(t, s.Purge())
		if got, err := s.Image(img.Hash); err != nil || string(got) != string(png) {
			t.Fatalf("%q %v", got, err)
		}
		if _, err := s.Image("../../etc/passwd"); err == nil {
			t.Fatal("a name that is no hash was read")
		}
	})
}

func TestPendingImagesAreStoredByHash(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		fill(t, s, "s1")
		m, err := s.UpdateMeta("s1", func(m *chat.SessionMeta) {
			m.Pending = []chat.Message{{ID: "p", Role: chat.RoleUser, Parts: []chat.Part{{Type: chat.PartImage, Image: &chat.Image{MIME: "image/png", Data: []byte("x")}}}}}
		})
		must(t, err)
		if img := m.Pending[0].Parts[0].Image; img.Data != nil || img.Hash == "" {
			t.Fatalf("%+v", img)
		}
	})
}

func TestValuesAreKeptByBucketAndKeyInOrder(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		must(t, s.SetValue("rules", "b", []byte("2")))
		must(t, s.SetValue("rules", "a", []byte("1")))
		must(t, s.SetValue("other", "a", []byte{}))
		must(t, s.ChangeValue("rules", "a", func(old []byte) ([]byte, error) { return append(old, '!'), nil }))
		boom := errors.New("boom")
		if err := s.ChangeValue("rules", "a", func([]byte) ([]byte, error) { return nil, boom }); err != boom {
			t.Fatalf("the caller's error came back as %v", err)
		}
		if err := s.Values("rules", func(string, []byte) error { return boom }); err != boom {
			t.Fatalf("the caller's error came back as %v", err)
		}
		s.reopen()
		var got string
		must(t, s.Values("rules", func(k string, v []byte) error { got += k + string(v) + " "; return nil }))
		if got != "a1! b2 " {
			t.Fatalf("%q", got)
		}
		must(t, s.SetValue("rules", "a", nil))
		if v, err := s.Value("rules", "a"); v != nil || err != nil {
			t.Fatalf("%q %v", v, err)
		}
		if v, _ := s.Value("other", "a"); v == nil {
			t.Fatal("an empty value is no missing one")
		}
		if err := s.SetValue("", "", []byte("x")); err == nil {
			t.Fatal("empty names were accepted")
		}
	})
}
