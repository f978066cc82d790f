package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"perch/chat"
)

func options(dir string) Options {
	return Options{Path: filepath.Join(dir, "data", "sessions.db"), Images: filepath.Join(dir, "data", "images")}
}

func openIn(t testing.TB, dir string) *Bolt {
	t.Helper()
	b, err := Open(options(dir))
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// raw changes the file behind the store's back.
func raw(t *testing.T, b *Bolt, fn func(tx *bbolt.Tx) error) {
	t.Helper()
	must(t, b.db.Update(fn))
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	b := openIn(t, dir)
	hash, err := b.PutImage([]byte("x"))
	must(t, err)
	for path, want := range map[string]os.FileMode{
		"data": 0o700, "data/sessions.db": 0o600, "data/images": 0o700, "data/images/" + hash: 0o600,
	} {
		st, err := os.Stat(filepath.Join(dir, path))
		must(t, err)
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, st.Mode().Perm(), want)
		}
	}
}

func TestStoreHeldByAnotherProcessIsSaidWithinASecondOrTwo(t *testing.T) {
	dir := t.TempDir()
	openIn(t, dir)
	start := time.Now()
	_, err := Open(options(dir))
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "sessions.db") || !strings.Contains(err.Error(), "perch quit") {
		t.Fatalf("%v", err)
	}
	if d := time.Since(start); d > 3*openTimeout {
		t.Fatalf("it took %v", d)
	}
}

func TestDamagedFileIsNamedAndKept(t *testing.T) {
	good := func(t *testing.T) []byte {
		dir := t.TempDir()
		b := openIn(t, dir)
		fill(t, b, "s1", user("m1", strings.Repeat("x", 1<<20)))
		must(t, b.Close())
		data, err := os.ReadFile(options(dir).Path)
		must(t, err)
		return data
	}
	for name, damage := range map[string]func([]byte) []byte{
		"text":          func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 4000)) },
		"short":         func([]byte) []byte { return []byte("x") },
		"zeros":         func(b []byte) []byte { return make([]byte, len(b)) },
		"cut in half":   func(b []byte) []byte { return b[:len(b)/2/4096*4096] },
		"cut to header": func(b []byte) []byte { return b[:2*4096] },
		"garbage pages": func(b []byte) []byte {
			for i := 2 * 4096; i < len(b); i++ {
				b[i] = 0xAB
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := options(dir)
			must(t, os.MkdirAll(filepath.Dir(o.Path), 0o700))
			bad := damage(good(t))
			must(t, os.WriteFile(o.Path, bad, 0o600))
			_, err := Open(o)
			if !errors.Is(err, ErrCorrupt) || chat.ClassOf(err) != chat.ClassStore || !strings.Contains(err.Error(), o.Path) {
				t.Fatalf("%v", err)
			}
			kept, err := os.ReadFile(o.Path)
			must(t, err)
			if len(kept) < len(bad) || string(kept[:len(bad)]) != string(bad) {
				t.Fatal("the damaged file was changed")
			}
		})
	}
}

func TestAFileOfANewerPerchIsRefused(t *testing.T) {
	dir := t.TempDir()
	b := openIn(t, dir)
	raw(t, b, func(tx *bbolt.Tx) error { return tx.Bucket(bAbout).Put(kSchema, []byte("2")) })
	must(t, b.Close())
	if _, err := Open(options(dir)); err == nil || !strings.Contains(err.Error(), "newer Perch") {
		t.Fatal(err)
	}
}

func TestAnUnreadableLineIsSetAsideAndCostsNoOther(t *testing.T) {
	dir := t.TempDir()
	b := openIn(t, dir)
	fill(t, b, "s1", user("m1", "a"), assistant("m2", "b"), user("m3", "c"))
	fill(t, b, "s2", user("m1", "other"))
	raw(t, b, func(tx *bbolt.Tx) error {
		must(t, tx.Bucket(bView).Put([]byte("s1"), []byte("{torn")))
		return tx.Bucket(bLog).Bucket([]byte("s1")).Put(seqKey(2), []byte(`{"id":"m2","role":"assis`))
	})
	if l, err := b.List(Query{}); err != nil || len(l) != 2 {
		t.Fatalf("%v %v", l, err)
	}
	l, err := b.Load("s1")
	must(t, err)
	if l.SetAside != 2 || len(l.Messages) != 2 || l.Messages[1].PlainText() != "c" {
		t.Fatalf("%+v", l)
	}
	must(t, b.Append("s1", assistant("m4", "d")))
	must(t, b.Close())
	b = openIn(t, dir)
	if l, err = b.Load("s1"); err != nil || l.SetAside != 0 || len(l.Messages) != 3 {
		t.Fatalf("%+v %v", l, err)
	}
	var kept []string
	must(t, b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bAside).Bucket([]byte("s1")).ForEach(func(_, v []byte) error { kept = append(kept, string(v)); return nil })
	}))
	if len(kept) != 2 || kept[0] != `{"id":"m2","role":"assis` {
		t.Fatalf("%q", kept)
	}
}

func TestALostDescriptionIsMadeAgainFromTheMessages(t *testing.T) {
	b := openIn(t, t.TempDir())
	fill(t, b, "s1", user("m1", "How do swifts  sleep?"), assistant("m2", "In flight."))
	fill(t, b, "s2", user("m1", "x"))
	raw(t, b, func(tx *bbolt.Tx) error {
		must(t, tx.Bucket(bMeta).Put([]byte("s1"), []byte("\x00\x01")))
		return tx.Bucket(bMeta).Delete([]byte("s2"))
	})
	list, err := b.List(Query{})
	must(t, err)
	if len(list) != 2 || list[0].Problem == "" || list[1].Problem == "" {
		t.Fatalf("%+v", list)
	}
	l, err := b.Load("s1")
	must(t, err)
	if l.Meta.Title != "How do swifts sleep?" || l.Meta.Used.IsZero() || l.Meta.Messages != 2 {
		t.Fatalf("%+v", l.Meta)
	}
	if list, _ = b.List(Query{Search: "swifts"}); len(list) != 1 || list[0].Problem != "" {
		t.Fatalf("after a load: %+v", list)
	}
}

func TestUnusedImagesGoOnceTheyAreOldEnough(t *testing.T) {
	dir := t.TempDir()
	clock := &testClock{time.Now()}
	o := options(dir)
	o.Now = clock.now
	b, err := Open(o)
	must(t, err)
	defer b.Close()
	q := user("m1", "look")
	q.Parts = append(q.Parts, chat.Part{Type: chat.PartImage, Image: &chat.Image{MIME: "image/png", Data: []byte("used")}})
	fill(t, b, "s1", q)
	young, err := b.PutImage([]byte("young"))
	must(t, err)
	old, err := b.PutImage([]byte("old"))
	must(t, err)
	past := time.Now().Add(-2 * imageGrace)
	for _, h := range []string{old, hashOf([]byte("used"))} {
		must(t, os.Chtimes(filepath.Join(o.Images, h), past, past))
	}
	must(t, os.WriteFile(filepath.Join(o.Images, "notes.txt"), nil, 0o600))
	must(t, os.Chtimes(filepath.Join(o.Images, "notes.txt"), past, past))
	must(t, b.Purge())
	for hash, want := range map[string]bool{young: true, old: false, hashOf([]byte("used")): true, "notes.txt": true} {
		if _, err := os.Stat(filepath.Join(o.Images, hash)); (err == nil) != want {
			t.Errorf("%s kept: %v", hash, err == nil)
		}
	}
	must(t, b.Delete("s1"))
	clock.t = clock.t.Add(RestoreFor)
	must(t, b.Purge())
	if _, err := b.Image(hashOf([]byte("used"))); err == nil {
		t.Error("the image of a purged session is still there")
	}
}

func TestADamagedImageIsAnErrorAndDoesNotStopAnExport(t *testing.T) {
	dir := t.TempDir()
	b := openIn(t, dir)
	q := user("m1", "look")
	q.Parts = append(q.Parts, chat.Part{Type: chat.PartImage, Image: &chat.Image{MIME: "image/png", Data: []byte("used")}})
	fill(t, b, "s1", q)
	must(t, os.WriteFile(filepath.Join(options(dir).Images, hashOf([]byte("used"))), []byte("USED"), 0o600))
	if _, err := b.Image(hashOf([]byte("used"))); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	must(t, Export(b, "s1", func([]byte) error { return nil }))
}

func TestTheFileShrinksWhenMostOfItIsFree(t *testing.T) {
	dir := t.TempDir()
	clock := &testClock{time.Now()}
	o := options(dir)
	o.Now = clock.now
	b, err := Open(o)
	must(t, err)
	defer b.Close()
	fill(t, b, "big", user("m", strings.Repeat("x", 1000)))
	fill(t, b, "small", user("m", "kept"))
	must(t, b.Rewrite("big", bigSession(8000), chat.View{}))
	must(t, b.Delete("big"))
	clock.t = clock.t.Add(RestoreFor)
	before := size(t, o.Path)
	must(t, b.Purge())
	if after := size(t, o.Path); after*2 > before {
		t.Fatalf("the file has %d bytes of %d before", after, before)
	}
	if l, err := b.Load("small"); err != nil || len(l.Messages) != 1 {
		t.Fatalf("%+v %v", l, err)
	}
	must(t, b.Append("small", assistant("m2", "still works")))
	if _, err := Open(o); !errors.Is(err, ErrLocked) {
		t.Fatalf("the new file is not locked: %v", err)
	}
	if left, _ := filepath.Glob(o.Path + "*" + tempSuffix); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestDeletedSessionsAreRemovedInPassing(t *testing.T) {
	clock := &testClock{time.Now()}
	o := options(t.TempDir())
	o.Now = clock.now
	b, err := Open(o)
	must(t, err)
	fill(t, b, "s1", user("m", "x"))
	fill(t, b, "s2", user("m", "x"))
	fill(t, b, "s3", user("m", "x"))
	must(t, b.Delete("s1"))
	clock.t = clock.t.Add(RestoreFor)
	must(t, b.Delete("s2"))
	if err := b.Restore("s1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the next delete: %v", err)
	}
	must(t, b.Restore("s2"))
	must(t, b.Delete("s2"))
	must(t, b.Close())
	clock.t = clock.t.Add(RestoreFor)
	b, err = Open(o)
	must(t, err)
	defer b.Close()
	if err := b.Restore("s2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after a restart: %v", err)
	}
}

func size(t *testing.T, path string) int64 {
	st, err := os.Stat(path)
	must(t, err)
	return st.Size()
}

func TestAClosedStoreSaysSo(t *testing.T) {
	b := openIn(t, t.TempDir())
	must(t, b.Close())
	must(t, b.Close())
	if _, err := b.List(Query{}); chat.ClassOf(err) != chat.ClassStore {
		t.Fatal(err)
	}
}

// TestMain runs the child's part of tests that need another process.
func TestMain(m *testing.M) {
	switch os.Getenv("PERCH_STORE_CHILD") {
	case "append":
		childAppend(os.Getenv("PERCH_STORE_DIR"))
	case "denied":
		_, err := Open(options(os.Getenv("PERCH_STORE_DIR")))
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, what, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PERCH_STORE_CHILD="+what, "PERCH_STORE_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// childAppend appends without end, saying after each message that it is stored.
func childAppend(dir string) {
	b, err := Open(options(dir))
	if err == nil && os.Getenv("PERCH_STORE_FIRST") != "" {
		err = b.Create(chat.SessionMeta{ID: "s1"})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	l, err := b.Load("s1")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n := len(l.Messages); ; n++ {
		id := fmt.Sprintf("m%d", n)
		_ = b.Checkpoint("s1", assistant(id, "half"))
		if err := b.Append("s1", user(id, strings.Repeat(id, 500))); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("stored", n)
	}
}

func TestNoStoredMessageIsLostWhenTheProcessIsKilled(t *testing.T) {
	dir := t.TempDir()
	stored := -1
	for round := range 8 {
		cmd := child(t, "append", dir)
		if round == 0 {
			cmd.Env = append(cmd.Env, "PERCH_STORE_FIRST=1")
		}
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 0; n < 5+round && lines.Scan(); n++ {
			if _, err := fmt.Sscanf(lines.Text(), "stored %d", &stored); err != nil {
				t.Fatalf("the child said %q", lines.Text())
			}
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() { // what it had said before it died
			fmt.Sscanf(lines.Text(), "stored %d", &stored)
		}
		_ = cmd.Wait()
		b := openIn(t, dir)
		l, err := b.Load("s1")
		must(t, err)
		if len(l.Messages) <= stored || l.SetAside != 0 {
			t.Fatalf("%d messages after %d were stored, %d set aside", len(l.Messages), stored+1, l.SetAside)
		}
		must(t, b.Close())
	}
}
