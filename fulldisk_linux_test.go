package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFullDiskIsToldAndCorruptsNothing fills the disk below a real perch, then
// makes room again.
func TestAFullDiskIsToldAndCorruptsNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small disk")
	}
	home := emptyHome(t, "model = \"builtin/perch\"\n")
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func(opts string) error {
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", opts, "tmpfs", data).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := mount("size=2m,mode=0700"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		perchIn(t, home, nil, "quit")
		exec.Command("umount", "-l", data).Run()
	})
	asked := 0
	var full outcome
	for ; asked < 200; asked++ {
		words := strings.Repeat(fmt.Sprintf("word%d ", asked), 2500)
		if full = perchIn(t, home, []byte(words), "ask", fmt.Sprintf("question %d", asked)); full.code != 0 {
			break
		}
	}
	if full.code == 0 {
		t.Fatal("the disk never became full")
	}
	if !strings.Contains(strings.ToLower(full.err), "disk") && !strings.Contains(full.err, "no space left") {
		t.Errorf("the user is not told: %s", full.err)
	}
	if err := mount("remount,size=64m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	if got := perchIn(t, home, nil, "ask", "2+2"); got.code != 0 || !strings.Contains(got.out, "4") {
		t.Errorf("with room again: code %d, %s%s", got.code, got.out, got.err)
	}
	list := perchIn(t, home, nil, "sessions")
	for i := range asked {
		if !strings.Contains(list.out, fmt.Sprintf("question %d", i)) {
			t.Errorf("question %d is lost", i)
		}
	}
	t.Logf("full after %d sessions: %s", asked, strings.TrimSpace(full.err))
}
