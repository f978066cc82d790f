package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parent starts a deaf helper, stops it, says its process id and waits to be
// killed.
func parent() {
	p, err := Start(Spec{Path: os.Args[0], Env: append(os.Environ(), role+"=deaf")})
	if err != nil {
		os.Exit(1)
	}
	if os.Getenv("CHILD_TEST_STOP") != "" {
		_ = p.Signal(syscall.SIGSTOP)
	}
	fmt.Println(p.PID())
	select {}
}

// TestHelperDiesWithItsParent holds that nobody is left behind after kill -9 of
// Perch, a suspended helper least of all.
func TestHelperDiesWithItsParent(t *testing.T) {
	for _, stop := range []string{"", "1"} {
		t.Run("stopped="+stop, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), role+"=parent", "CHILD_TEST_STOP="+stop)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			want := "S"
			if stop != "" {
				want = "T"
			}
			wait(t, "the helper to be in state "+want, func() bool { return state(pid) == want })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			wait(t, "the helper to be gone", func() bool { s := state(pid); return s == "" || s == "Z" })
		})
	}
}

// state is the letter of a process's state, "" when it is gone.
func state(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
