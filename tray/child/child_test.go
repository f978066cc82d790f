package child

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"perch/control"
)

// role makes the test binary play a helper.
const role = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "echo": // writes back each line, until its input ends
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				os.Exit(0)
			}
			fmt.Print(line)
		}
	case "die":
		os.Exit(3)
	case "deaf": // neither reads nor ends
		select {}
	case "parent":
		parent()
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("perch/tray/child.startBound.func1.1"))
}

func helper(t *testing.T, as string, line func([]byte)) *Process {
	t.Helper()
	p, err := Start(Spec{Path: os.Args[0], Env: append(os.Environ(), role+"="+as), Line: line, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHelperAnswersLinesOfAnyLength(t *testing.T) {
	got := make(chan int, 3)
	p := helper(t, "echo", func(b []byte) { got <- len(bytes.TrimSpace(b)) })
	for _, n := range []int{1, 5000, 4 << 20} {
		if err := p.Send(strings.Repeat("x", n)); err != nil {
			t.Fatal(err)
		}
		if l := <-got; l != n+2 {
			t.Errorf("sent %d bytes, got %d back", n+2, l)
		}
	}
	p.Stop(10 * time.Second)
	if p.Err() != nil {
		t.Errorf("ended with %v although its input ended", p.Err())
	}
	if p.Send("late") == nil {
		t.Error("sending to an ended helper is no error")
	}
}

func TestDeafHelperIsKilledWhenStopped(t *testing.T) {
	p := helper(t, "deaf", nil)
	p.Stop(10 * time.Millisecond)
	if p.Err() == nil {
		t.Error("a deaf helper ended by itself")
	}
}

func TestDyingHelperIsStartedAgainUntilTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var ups, downs atomic.Int32
	wake := make(chan struct{}, 16)
	Keep(ctx, Plan{
		Start: func() (*Process, error) {
			return Start(Spec{Path: os.Args[0], Env: append(os.Environ(), role+"=die")})
		},
		Up: func(*Process) { ups.Add(1) },
		Down: func(err error, attempt int, wait time.Duration) {
			if err == nil {
				t.Error("an exit code of 3 is no error")
			}
			if downs.Add(1) == 3 {
				cancel()
			}
			wake <- struct{}{}
		},
		Wake: wake,
	})
	if ups.Load() != 3 || downs.Load() != 3 {
		t.Errorf("started %d times, ended %d times, want 3 and 3", ups.Load(), downs.Load())
	}
}

func TestBackoffGrowsToItsLimit(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: firstWait, 2: 2 * firstWait, 4: 8 * firstWait, 50: maxWait,
	} {
		if got := Backoff(n); got != want {
			t.Errorf("Backoff(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestHelperEnvironmentHoldsNoKeys(t *testing.T) {
	got := environ([]string{"PATH=/bin", "ANTHROPIC_API_KEY=secret", "LC_ALL=de_DE.UTF-8", "DISPLAY=:9", "AWS_SECRET=x"},
		control.DesktopEnv{Display: ":1", Bus: "unix:path=/b", Extra: map[string]string{
			"XMODIFIERS": "@im=fcitx", "OPENAI_API_KEY": "secret", "LD_PRELOAD": "/evil.so", "GTK_IM_MODULE": "fcitx"}})
	want := "DBUS_SESSION_BUS_ADDRESS=unix:path=/b DISPLAY=:1 GTK_IM_MODULE=fcitx LC_ALL=de_DE.UTF-8 PATH=/bin XMODIFIERS=@im=fcitx"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("environment\n%s\nwant\n%s", s, want)
	}
}
