package desktest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Ticks is the processor time a process has used, in clock ticks of 10 ms.
func Ticks(t testing.TB, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name before may hold anything, brackets too.
	f := strings.Fields(string(b[strings.LastIndex(string(b), ")")+1:]))
	var user, system int
	if _, err := fmt.Sscan(f[11]+" "+f[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return user + system
}

// ResidentMB is a process's resident memory in megabytes.
func ResidentMB(t testing.TB, pid int) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kb float64
			if _, err := fmt.Sscan(v, &kb); err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatalf("process %d has no memory", pid)
	return 0
}

// ProcState is the letter of a process's state: S sleeps, T is stopped, Z has
// ended; "" is gone.
func ProcState(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	rest := string(b[strings.LastIndex(string(b), ")")+1:])
	return rest[1:2]
}
