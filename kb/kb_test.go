package kb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"perch/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes a file and its folders.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// open opens a base and closes it with the test.
func open(t testing.TB, o Options) *Base {
	t.Helper()
	if o.Notice == nil {
		o.Notice = func(s string) { t.Log("notice:", s) }
	}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func add(t testing.TB, b *Base, paths ...string) Status {
	t.Helper()
	s, err := b.KBAdd(t.Context(), paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// found returns the base names of the documents found.
func found(t testing.TB, b *Base, query string) []string {
	t.Helper()
	hits, err := b.KBSearch(t.Context(), query, 10)
	if err != nil {
		t.Fatalf("search %q: %v", query, err)
	}
	var names []string
	for _, h := range hits {
		names = append(names, filepath.Base(h.Path))
	}
	return names
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come true", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// both runs a test over the backends that need no server.
func both(t *testing.T, f func(t *testing.T, o Options)) {
	t.Run("memory", func(t *testing.T) { f(t, Options{}) })
	t.Run("bolt", func(t *testing.T) { f(t, Options{Path: filepath.Join(t.TempDir(), "kb.db")}) })
}

func TestAFolderIsIndexedSearchedAndRemoved(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "boats.md"), "# Boats\n\nA sloop has one mast.\n\n## Rigging\n\nThe halyard raises the sail.\n")
		write(t, filepath.Join(dir, "sub", "soup.txt"), "Onion soup needs patience.\n")
		b := open(t, o)
		s := add(t, b, dir)
		if s.Documents != 2 || len(s.Folders) != 1 || s.Folders[0].Documents != 2 {
			t.Fatalf("status %+v", s)
		}
		hits, err := b.KBSearch(t.Context(), "raising sails with a halyard", 5)
		if err != nil || len(hits) == 0 {
			t.Fatalf("hits %v, error %v", hits, err)
		}
		if h := hits[0]; filepath.Base(h.Path) != "boats.md" || h.StartLine != 1 || h.EndLine != 7 || h.Matched[0] != "keyword" || len(h.Terms) < 2 {
			t.Errorf("hit %+v", h)
		}
		if err := b.KBRemove(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if n := found(t, b, "halyard"); len(n) != 0 {
			t.Errorf("still finds %v", n)
		}
		if s, _ := b.KBStatus(t.Context()); s.Documents != 0 || len(s.Folders) != 0 || len(s.Problems) != 0 {
			t.Errorf("status after removal %+v", s)
		}
	})
}

func TestChangesMovesAndDeletesAreFollowed(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		a, c := filepath.Join(dir, "a.txt"), filepath.Join(dir, "c.txt")
		write(t, a, "The walrus sleeps.\n")
		write(t, filepath.Join(dir, "b.txt"), "The heron stands.\n")
		b := open(t, o)
		add(t, b, dir)
		write(t, a, "The badger digs.\n")
		add(t, b, dir)
		if n := found(t, b, "walrus"); len(n) != 0 {
			t.Errorf("old text finds %v", n)
		}
		if n := found(t, b, "badger"); len(n) != 1 {
			t.Errorf("new text finds %v", n)
		}
		if err := os.Rename(a, c); err != nil {
			t.Fatal(err)
		}
		add(t, b, dir)
		if n := found(t, b, "badger"); len(n) != 1 || n[0] != "c.txt" {
			t.Errorf("after the move %v", n)
		}
		if err := os.Remove(c); err != nil {
			t.Fatal(err)
		}
		if s := add(t, b, dir); s.Documents != 1 {
			t.Errorf("%d documents", s.Documents)
		}
		if n := found(t, b, "badger"); len(n) != 0 {
			t.Errorf("deleted file is found: %v", n)
		}
	})
}

func TestTheWatchFindsAChangeWithinThreeSeconds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one.txt"), "first text\n")
	b := open(t, Options{Path: filepath.Join(t.TempDir(), "kb.db")})
	add(t, b, dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Watch(ctx) }()
	defer func() { cancel(); <-done }()
	eventually(t, "watching", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.watching != nil && len(b.watching.dirs) > 0 })
	for i, step := range []struct {
		do    func()
		query string
		want  int
	}{
		{func() { write(t, filepath.Join(dir, "two.txt"), "a marmot appears\n") }, "marmot", 1},
		{func() { write(t, filepath.Join(dir, "new", "deep", "x.txt"), "a lemur below\n") }, "lemur", 1},
		{func() { write(t, filepath.Join(dir, "two.txt"), "an okapi instead\n") }, "okapi", 1},
		{func() { os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "moved")) }, "lemur", 1},
		{func() { os.RemoveAll(filepath.Join(dir, "moved")) }, "lemur", 0},
		{func() { os.Remove(filepath.Join(dir, "two.txt")) }, "okapi", 0},
	} {
		start := time.Now()
		step.do()
		eventually(t, fmt.Sprintf("step %d", i), func() bool { return len(found(t, b, step.query)) == step.want })
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("step %d took %v", i, d)
		}
	}
}

func TestNoQueryIsAnError(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		lines := map[string]string{
			"operators.txt": "cats AND dogs OR NOT birds",
			"quotes.txt":    `he said "open the pod bay doors"`,
			"cpp.txt":       "C++ and C# are languages, std::vector<int> is a type, fmt.Errorf(\"%w\") wraps",
			"path.txt":      "see /usr/local/share/perch/weights.json and C:\\Users\\anna\\file.txt",
			"mail.txt":      "write to anna.schmidt+kb@example.co.uk please",
			"german.txt":    "Die Donaudampfschifffahrtsgesellschaft fährt über Österreich nach Übersee",
			"accents.txt":   "Le café est très naïf, déjà vu à Besançon",
			"han.txt":       "知识库在本地磁盘上，京都大学很有名",
			"wide.txt":      "ＦＵＬＬ　ＷＩＤＴＨ　ｔｅｘｔ",
			"emoji.txt":     "launch day 🚀 was fun 👩‍👩‍👧‍👦",
			"ident.txt":     "func getUserName(user_id int) string { return MAX_RETRY_COUNT }",
			"kana.txt":      "コンピューターで検索する",
			"hangul.txt":    "한국어 문서를 검색합니다",
			"thai.txt":      "ฐานความรู้อยู่ในเครื่อง",
			"russian.txt":   "Ёжик нашёл яблоки в саду",
		}
		for n, s := range lines {
			write(t, filepath.Join(dir, n), s+"\n")
		}
		b := open(t, o)
		add(t, b, dir)
		for q, want := range map[string]string{
			"cats AND dogs": "operators.txt", "NOT birds": "operators.txt", "OR": "operators.txt",
			`"open the pod bay doors"`: "quotes.txt", "pod bay*": "quotes.txt", "(bay": "quotes.txt",
			"C++": "cpp.txt", "C#": "cpp.txt", "std::vector": "cpp.txt", "vector<int>": "cpp.txt", `fmt.Errorf("%w")`: "cpp.txt",
			"/usr/local/share/perch/weights.json": "path.txt", "weights.json": "path.txt", `C:\Users\anna\file.txt`: "path.txt",
			"anna.schmidt+kb@example.co.uk": "mail.txt", "example.co.uk": "mail.txt",
			"Donaudampfschifffahrtsgesellschaft": "german.txt", "osterreich": "german.txt", "ÜBERSEE": "german.txt",
			"cafe tres naif": "accents.txt", "Besancon": "accents.txt", "café": "accents.txt",
			"知": "han.txt", "知识": "han.txt", "大学": "han.txt", "本地磁盘": "han.txt",
			"full width": "wide.txt", "ｆｕｌｌ": "wide.txt", "🚀": "emoji.txt", "👩": "emoji.txt",
			"getUserName": "ident.txt", "user name": "ident.txt", "user_id": "ident.txt", "MAX_RETRY_COUNT": "ident.txt",
			"max retry": "ident.txt", "get_user_name": "ident.txt",
			"コンピューター": "kana.txt", "検索": "kana.txt", "문서": "hangul.txt", "검색": "hangul.txt", "ความรู้": "thai.txt",
			"ежик": "russian.txt", "яблоко": "russian.txt",
		} {
			n := found(t, b, q)
			if len(n) == 0 || n[0] != want {
				t.Errorf("%q finds %v, want %s first", q, n, want)
			}
		}
		for _, q := range []string{
			"", " ", "*", ":", "\\", `"`, "((((", "AND", "NOT", "😀😀", strings.Repeat("word ", 2000), strings.Repeat("漢字", 5000),
			"\x00\xff\xfe", "a:b AND c:[1 TO 5]", "NEAR(a b)", "^", "-", "'; DROP TABLE docs; --", "\u202e", "title:cats~2",
		} {
			found(t, b, q)
		}
	})
}

func TestNothingRelatedFindsNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "apples and pears\n")
	b := open(t, Options{})
	add(t, b, dir)
	if n := found(t, b, "zyzzyva quux"); len(n) != 0 {
		t.Errorf("finds %v", n)
	}
}

func settings(change func(*config.KB)) func() config.KB {
	c := config.Default().KB
	change(&c)
	return func() config.KB { return c }
}
