package store

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"perch/chat"
)

func export(t rapid.TB, s Store, id string) []byte {
	var b bytes.Buffer
	if err := Export(s, id, func(line []byte) error {
		if bytes.ContainsRune(line, '\n') {
			t.Fatalf("a line holds a line end")
		}
		b.Write(line)
		return b.WriteByte('\n')
	}); err != nil {
		t.Fatalf("export: %v", err)
	}
	return b.Bytes()
}

func lines(b []byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(b) == 0 {
			return nil, io.EOF
		}
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		return line, nil
	}
}

// aSession fills a session with every thing that an export carries.
func aSession(t testing.TB, s Store) {
	q := user("m1", "look <here> \u2028")
	q.Parts = append(q.Parts, chat.Part{Type: chat.PartImage, Image: &chat.Image{MIME: "image/png", Data: []byte("\x89PNG one"), Width: 3}})
	r := result("m3", "c1", strings.Repeat("long ", 100))
	r.Result.Images = []chat.Image{{MIME: "image/png", Data: []byte("\x89PNG two")}}
	fill(t, s, "s1", q, assistant("m2", "", "c1"), r, assistant("m4", "done"), user("m5", "more"))
	must(t, s.SetView("s1", chat.View{
		Marks: []chat.CompactionMark{
			{ID: "k1", Before: "m5", Summary: "later", Undone: true},
			{ID: "k2", Before: "m4", Summary: "sum\nmary", Carry: []string{"m1"}, TokensBefore: 9},
			{ID: "k3", Before: "gone"},
		},
		Pinned: []string{"m4", "m1"}, Shortened: map[string]string{"m3": "short", "m2": ""},
	}))
	_, err := s.UpdateMeta("s1", func(m *chat.SessionMeta) {
		m.Model, m.Dir, m.Titled, m.Pinned, m.Used = "a/b", "/tmp", true, true, time.Unix(1.7e9, 123).UTC()
	})
	must(t, err)
}

func TestExportingAnImportGivesTheSameBytes(t *testing.T) {
	eachKind(t, func(t *testing.T, s *kind) {
		aSession(t, s)
		first := export(t, s, "s1")
		if n := bytes.Count(first, []byte("\n")); n != 1+5+3 {
			t.Fatalf("%d lines\n%s", n, first)
		}
		other := NewMemory()
		for _, into := range []Store{s, other} {
			id, err := Import(into, lines(first))
			must(t, err)
			if second := export(t, into, id); !bytes.Equal(first, second) {
				t.Fatalf("exported again:\n%s\nfirst:\n%s", second, first)
			}
		}
		id, err := Import(s, lines(first))
		must(t, err)
		a, _ := s.Load("s1")
		b, _ := s.Load(id)
		if !reflect.DeepEqual(a.Messages, b.Messages) || !reflect.DeepEqual(a.View.Marks, b.View.Marks) {
			t.Fatal("the import differs from the original")
		}
	})
}

func TestAnImportWithAMistakeIsRefusedAsAWholeWithItsLine(t *testing.T) {
	head := `{"perch":"session","version":1,"created":"2026-01-01T00:00:00Z","used":"2026-01-01T00:00:00Z"}` + "\n"
	msg := `{"message":{"id":"m1","role":"user","parts":[{"type":"text","text":"x"}]}}` + "\n"
	for name, c := range map[string]struct{ in, says string }{
		"empty":         {"", "Line 1"},
		"no header":     {msg, "Line 1"},
		"other version": {`{"perch":"session","version":9}`, "version 9"},
		"cut":           {head + msg + `{"message":{"id":"m2","ro`, "Line 3"},
		"twice":         {head + msg + msg, "used before"},
		"no id":         {head + `{"message":{"role":"user"}}`, "Line 2"},
		"role":          {head + `{"message":{"id":"m","role":"system"}}`, "unknown role"},
		"two values":    {head + strings.TrimSpace(msg) + msg, "more than one"},
		"unknown field": {head + `{"note":1}`, "note"},
		"nothing":       {head + `{}`, "neither"},
		"image":         {head + `{"message":{"id":"m","role":"user","parts":[{"type":"image","image":{"mime":"x","hash":"../x"}}]}}`, "hash"},
		"binary":        {"\x00\xff\x01", "Line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewMemory()
			_, err := Import(s, lines([]byte(c.in)))
			if chat.ClassOf(err) != chat.ClassMisuse || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
			if l, _ := s.List(Query{}); len(l) != 0 {
				t.Fatal("something was imported")
			}
		})
	}
}

func TestAnyHistorySurvivesExportAndImport(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(Options{Path: filepath.Join(dir, "s.db"), Images: filepath.Join(dir, "i")})
	must(t, err)
	defer b.Close()
	b.db.NoSync = true // thousands of sessions; durability has tests of its own
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		msgs := rapid.SliceOfN(anyMessage(), 0, 6).Draw(t, "messages")
		for i := range msgs {
			msgs[i].ID = "m" + string(rune('a'+i))
			for k := range msgs[i].Parts {
				if img := msgs[i].Parts[k].Image; img != nil {
					img.Hash, img.Data = "", []byte(rapid.StringN(1, 5, -1).Draw(t, "bytes"))
				}
			}
			if r := msgs[i].Result; r != nil {
				for k := range r.Images {
					r.Images[k].Hash, r.Images[k].Data = "", []byte("y")
				}
			}
		}
		var v chat.View
		for i := range rapid.IntRange(0, 3).Draw(t, "marks") {
			v.Marks = append(v.Marks, chat.CompactionMark{ID: string(rune('0' + i)), Before: rapid.SampledFrom([]string{"ma", "mb", "mc", "none"}).Draw(t, "before"), Summary: anyText().Draw(t, "summary")})
		}
		v.Pinned = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"ma", "mb", "mc"}), rapid.ID).Draw(t, "pinned")
		id := "s" + strings.Repeat("x", n%50) + newID()
		if err := b.Create(chat.SessionMeta{ID: id, Title: anyText().Draw(t, "title"), Created: time.Unix(5, 0)}); err != nil {
			t.Fatal(err)
		}
		if err := b.Rewrite(id, msgs, v); err != nil {
			t.Fatal(err)
		}
		first := export(t, b, id)
		to, err := Import(b, lines(first))
		if err != nil {
			t.Fatalf("import: %v\n%s", err, first)
		}
		if second := export(t, b, to); !bytes.Equal(first, second) {
			t.Fatalf("exported again:\n%s\nfirst:\n%s", second, first)
		}
		l, err := b.Load(id)
		if err != nil || !chat.Paired(l.Messages) {
			t.Fatalf("%v: not paired", err)
		}
	})
}

func FuzzImport(f *testing.F) {
	s := NewMemory()
	aSession(f, s)
	f.Add(export(f, s, "s1"))
	f.Add([]byte(`{"perch":"session","version":1}` + "\n" + `{"mark":{"id":"k"},"order":-1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewMemory()
		id, err := Import(s, lines(data))
		if err != nil {
			return
		}
		l, err := s.Load(id)
		if err != nil || !chat.Paired(l.Messages) {
			t.Fatalf("an import that does not load: %v", err)
		}
		first := export(t, s, id)
		again, err := Import(s, lines(first))
		if err != nil {
			t.Fatalf("an export that does not import: %v\n%s", err, first)
		}
		if second := export(t, s, again); !bytes.Equal(first, second) {
			t.Fatalf("exported again:\n%s\nfirst:\n%s", second, first)
		}
	})
}
