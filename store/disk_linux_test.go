package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"perch/chat"
)

// nobody is the uid that owns nothing.
const nobody = 65534

func TestFolderThatMayNotBeWrittenIsNamed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir, err := os.MkdirTemp("", "perch-store")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755)) // readable, not writable
	cmd := child(t, "denied", dir)
	exe := filepath.Join(dir, "test") // the test binary's own folder may be closed to others
	data, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(exe, data, 0o755))
	cmd.Path, cmd.Args[0], cmd.Dir = exe, exe, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.Output()
	must(t, err)
	if s := string(out); !strings.Contains(s, dir) || !strings.Contains(s, "may not be written") || !strings.Contains(s, "PERCH_HOME") {
		t.Fatalf("%s", s)
	}
}

func TestFullDiskIsAnErrorAndLosesNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	b, err := Open(options(dir))
	must(t, err)
	defer b.Close()
	fill(t, b, "s1")
	stored := 0
	for ; stored < 1000; stored++ {
		if err = b.Append("s1", user("m", strings.Repeat("x", 20000))); err != nil {
			break
		}
	}
	if chat.ClassOf(err) != chat.ClassStore || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("after %d: %v", stored, err)
	}
	if _, err := b.PutImage(make([]byte, 2<<20)); chat.ClassOf(err) != chat.ClassStore {
		t.Fatalf("image: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "data", "images", "*")); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
	for range 2 {
		l, err := b.Load("s1")
		must(t, err)
		if len(l.Messages) != stored {
			t.Fatalf("%d messages of %d", len(l.Messages), stored)
		}
		must(t, b.Close())
		b, err = Open(options(dir))
		must(t, err)
	}
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
	must(t, b.Append("s1", user("m", "there is room again")))
}
