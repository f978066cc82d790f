package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"perch/chat"
)

// killVariable makes the test binary change files of a folder until it is killed.
const killVariable = "PERCH_TEST_CHANGE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killVariable); dir != "" {
		s, err := Open(filepath.Join(dir, "data", "undo"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		work := filepath.Join(dir, "work")
		if err := s.BeforeWrite("r1", work); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		for i := 0; ; i++ {
			p := filepath.Join(work, "f", fmt.Sprint(i%50))
			if err := s.BeforeWrite("r1", p); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.WriteFile(p, []byte(fmt.Sprint("changed ", i)), 0o600)
			os.Remove(filepath.Join(work, "f", fmt.Sprint(i*7%50)))
			os.WriteFile(filepath.Join(work, fmt.Sprint("made", i%20)), []byte("x"), 0o644)
		}
	}
	os.Exit(m.Run())
}

// tree describes a folder: names, modes, times, contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		fmt.Fprintf(&b, "%s %v", rel, fi.Mode())
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			fmt.Fprintf(&b, " -> %s", to)
		case d.Type().IsRegular():
			c, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %v %q", fi.ModTime(), c)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func setUp(t *testing.T) (s *Store, work string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "data", "undo"))
	if err != nil {
		t.Fatal(err)
	}
	work = filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "sub", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, work, "a.txt", "hello\r\n\x00\xff", 0o640)
	put(t, work, "sub/run.sh", "#!/bin/sh\n", 0o755)
	put(t, work, "sub/secret", "s", 0o400)
	if err := os.Symlink("a.txt", filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	return s, work
}

func put(t *testing.T, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	os.Chtimes(p, old, old)
}

func before(t *testing.T, s *Store, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := s.BeforeWrite("r1", p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRevertGivesBackEveryByteModeAndTime(t *testing.T) {
	s, work := setUp(t)
	was := tree(t, work)
	before(t, s, work+"/a.txt", work+"/sub/run.sh", work+"/link", work+"/new/deep/f", work+"/sub/secret")
	os.WriteFile(work+"/a.txt", []byte("changed"), 0o644)
	os.Chmod(work+"/a.txt", 0o777)
	before(t, s, work+"/a.txt") // the second change of a run keeps nothing new
	os.WriteFile(work+"/a.txt", []byte("changed again"), 0o644)
	os.Remove(work + "/sub/run.sh")
	os.Remove(work + "/link")
	os.WriteFile(work+"/link", []byte("a file now"), 0o644)
	os.Chmod(work+"/sub/secret", 0o644)
	os.MkdirAll(work+"/new/deep", 0o755)
	os.WriteFile(work+"/new/deep/f", []byte("made"), 0o644)
	got, err := s.Revert("r1")
	if err != nil {
		t.Fatal(err)
	}
	if now := tree(t, work); now != was {
		t.Errorf("before:\n%s\nafter:\n%s", was, now)
	}
	if want := []string{"a.txt", "link", "new/deep/f", "sub/run.sh", "sub/secret"}; !slices.EqualFunc(got, want, func(a, b string) bool { return a == filepath.Join(work, b) }) {
		t.Errorf("reported %v", got)
	}
	if again, err := s.Revert("r1"); err != nil || len(again) != 0 {
		t.Errorf("a second revert changed %v, %v", again, err)
	}
}

func TestACommandsChangesAreReverted(t *testing.T) {
	s, work := setUp(t)
	was := tree(t, work)
	for i := range 2 {
		before(t, s, work)
		cmd := osexec.Command("sh", "-c", "echo x >> a.txt; chmod 600 a.txt; rm -rf sub; mkdir -p made/in; echo y > made/in/f; echo z > top; rm -f link; ln -s nowhere link; mkdir sub; echo other > sub/run.sh; chmod 700 .")
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		before(t, s, work) // the command has ended
		if i == 0 {
			continue
		}
	}
	// What the user makes afterwards stays.
	if err := os.WriteFile(work+"/mine", []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Revert("r1"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(work + "/mine"); err != nil || string(got) != "mine" {
		t.Errorf("the user's own file: %q %v", got, err)
	}
	os.Remove(work + "/mine")
	os.Chmod(work, 0o755)
	if now := tree(t, work); now != was {
		t.Errorf("before:\n%s\nafter:\n%s", was, now)
	}
}

func TestRevertWorksAfterAKillAtAnyMoment(t *testing.T) {
	for round := range 5 {
		dir := t.TempDir()
		work := filepath.Join(dir, "work")
		if err := os.MkdirAll(filepath.Join(work, "f"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			put(t, work, fmt.Sprint("f/", i), strings.Repeat(fmt.Sprint(i), 1000), 0o644)
		}
		was := tree(t, work)
		cmd := osexec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), killVariable+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Skipf("the test binary cannot be started again: %v", err)
		}
		if _, err := out.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(round*17) * time.Millisecond) // some moment
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		s, err := Open(filepath.Join(dir, "data", "undo"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Revert("r1"); err != nil {
			t.Fatal(err)
		}
		if now := tree(t, work); now != was {
			t.Fatalf("round %d: before:\n%.600s\nafter:\n%.600s", round, was, now)
		}
	}
}

func TestACutJournalLineCountsAsNotWritten(t *testing.T) {
	s, work := setUp(t)
	before(t, s, work+"/a.txt")
	j := filepath.Join(s.dir, "r1", "journal")
	f, err := os.OpenFile(j, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"kind":"file","path":"/cut`)
	f.Close()
	s2, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	before(t, s2, work+"/sub/run.sh")
	os.WriteFile(work+"/sub/run.sh", []byte("x"), 0o644)
	s3, _ := Open(s.dir)
	got, err := s3.Revert("r1")
	if err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
}

func TestCopiesAreTheUsersOnly(t *testing.T) {
	s, work := setUp(t)
	before(t, s, work)
	filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, _ error) error {
		if fi, _ := d.Info(); fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, fi.Mode())
		}
		return nil
	})
}

func TestALargeFolderIsSaidNotToBeKept(t *testing.T) {
	s, work := setUp(t)
	for i := range maxFolderFiles + 1 {
		if err := os.WriteFile(filepath.Join(work, "sub", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := s.BeforeWrite("r1", work)
	var large interface{ NotKept() string }
	if !errors.As(err, &large) || large.NotKept() == "" {
		t.Errorf("got %v", err)
	}
	before(t, s, work+"/a.txt") // single files still are
}

func TestPerchsOwnDataIsNeverPartOfAFolder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "data", "undo"))
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "data", "sessions.db"), []byte("now"), 0o600)
	before(t, s, dir)
	os.WriteFile(filepath.Join(dir, "data", "sessions.db"), []byte("later"), 0o600)
	os.WriteFile(filepath.Join(dir, "data", "new"), nil, 0o600)
	before(t, s, dir)
	if _, err := s.Revert("r1"); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "data", "sessions.db")); string(b) != "later" {
		t.Errorf("a revert changed Perch's data: %q", b)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "new")); err != nil {
		t.Error(err)
	}
}

func TestARunWithoutChangesCannotBeReverted(t *testing.T) {
	s, _ := setUp(t)
	for _, run := range []string{"r9", "", "../x", "."} {
		if _, err := s.Revert(run); err == nil {
			t.Errorf("%q: no error", run)
		}
	}
	if _, err := s.Revert("r9"); chat.ClassOf(err) != chat.ClassMisuse {
		t.Errorf("got %v", err)
	}
}

func TestOldCopiesAreDropped(t *testing.T) {
	s, work := setUp(t)
	before(t, s, work+"/a.txt")
	s.prune(time.Now().Add(keepFor - time.Hour))
	if _, err := os.Stat(filepath.Join(s.dir, "r1")); err != nil {
		t.Error("dropped too early")
	}
	s.prune(time.Now().Add(keepFor + time.Hour))
	if _, err := os.Stat(filepath.Join(s.dir, "r1")); err == nil {
		t.Error("kept too long")
	}
}
