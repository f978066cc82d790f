package auth

import (
	"bufio"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// refresher is a process that does nothing but renew a sign-in. It prints each
// access token before it is used.
func refresher(vendorURL string) {
	v := &vendor{Server: &httptest.Server{URL: vendorURL}}
	s := NewStore(Options{File: os.Getenv("AUTH_TEST_FILE"), Spec: v.spec, NoKeyring: true, Getenv: func(string) string { return "" }})
	ctx := context.Background()
	for {
		rec, _, err := s.lookup("vendor", true)
		if err == nil {
			c, e := s.Renew(ctx, "vendor", rec.credential())
			if err = e; err == nil {
				fmt.Println(c.Token.Reveal())
			}
		}
		if err != nil {
			fmt.Println("failed:", err)
			return
		}
	}
}

// A process is killed at random moments of its work. What it had begun to use
// is stored, and the file is whole. Only a token that was on its way from the
// server can be lost, which nothing on this side can prevent.
func TestAKillLeavesWhatWasUsedInTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for round := range 12 {
		v := newVendor(t)
		expired(t, path)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AUTH_TEST_REFRESHER="+v.URL, "AUTH_TEST_FILE="+path)
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		used := ""
		in := bufio.NewScanner(out)
		kill := time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() })
		for in.Scan() {
			if used == "" { // it works: the end comes within some refreshes
				kill.Reset(time.Duration(round*3+1) * time.Millisecond)
			}
			used = in.Text()
		}
		_ = cmd.Wait()
		kill.Stop()
		rec, place, err := v.store(t, path).lookup("vendor", true)
		if err != nil || place != PlaceFile {
			t.Fatalf("round %d: the store is damaged: %v", round, err)
		}
		var n, m int
		_, _ = fmt.Sscanf(used, "access-token-%d", &n)
		_, _ = fmt.Sscanf(rec.Access, "access-token-%d", &m)
		if n == 0 || m < n || rec.Refresh != fmt.Sprintf("refresh-token-%d", m) {
			t.Errorf("round %d: used %s, stored %s and %s", round, used, rec.Access, rec.Refresh)
		}
		v.mu.Lock()
		lost := v.refreshes - m
		v.mu.Unlock()
		if lost > 1 {
			t.Errorf("round %d: %d rotations were lost", round, lost)
		}
	}
}
