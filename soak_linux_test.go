package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness/harnesstest"
)

// soakRounds is how many times perch is killed: PERCH_SOAK, else a taste of it.
func soakRounds(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("PERCH_SOAK")); err == nil {
		return n
	}
	if testing.Short() {
		t.Skip("kills a real perch many times; run without -short")
	}
	return 8
}

// soakVendor does tool rounds, long answers and summaries, in small pieces.
func soakVendor(_ int, req harnesstest.VendorRequest) harnesstest.Step {
	if len(req.Tools) == 0 {
		return harnesstest.Step{Text: []string{"SUMMARY: ", "files were listed."}, Pause: 5 * time.Millisecond}
	}
	rounds := 0
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != "user"; i-- {
		if req.Messages[i].Role == "tool" {
			rounds++
		}
	}
	if rounds < 4 {
		return harnesstest.Step{
			Text: []string{"Let me ", "look. ", strings.Repeat("thinking aloud ", 20)}, Pause: 2 * time.Millisecond,
			Calls: []chat.ToolCall{
				{Name: "run_command", Input: fmt.Sprintf(`{"command":"seq %d %d"}`, rounds, rounds+400)},
				{Name: "list_files", Input: `{"path":"."}`},
			},
		}
	}
	s := harnesstest.Step{Pause: 3 * time.Millisecond}
	for i := range 60 {
		s.Text = append(s.Text, fmt.Sprintf("word %d ", i))
	}
	return s
}

// TestKilledAtAnyMomentNothingIsLost kills a real perch with SIGKILL at random
// times, over and over: no message that was seen is lost, no half message is
// there, every session loads and continues, and no request is ever refused.
func TestKilledAtAnyMomentNothingIsLost(t *testing.T) {
	rounds := soakRounds(t)
	refused := 0
	vendor := harnesstest.NewVendor(soakVendor)
	defer vendor.Close()
	home, paths := newHome(t, vendor.URL)
	toml, err := os.ReadFile(paths.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	small := strings.Replace(string(toml), "context_window = 100000", "context_window = 16000", 1)
	if err := os.WriteFile(paths.ConfigFile, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	seen := map[string]string{} // message id → text
	session := "new"
	compactions := 0
	for i := range rounds {
		cmd := exec.Command(binary(t, "perch"), ownerRole)
		cmd.Env = append(os.Environ(), "PERCH_HOME="+home, "DISPLAY=", "WAYLAND_DISPLAY=")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c := owner(t, paths)
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(20+rnd.IntN(900))*time.Millisecond)
		if session != "new" {
			v, err := c.ViewSession(context.Background(), session)
			if err != nil {
				t.Fatalf("round %d: the session does not load: %v", i, err)
			}
			checkSeen(t, i, v, seen)
			compactions = max(compactions, len(v.Marks))
		}
		reply, err := c.Ask(context.Background(), session, control.Ask{Text: fmt.Sprintf("question %d", i), Allow: []chat.NeedKind{chat.NeedExecute, chat.NeedRead}})
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		session = reply.Session
		c.Watch(ctx, session, func(f control.Frame) error {
			if f.Snapshot != nil {
				for _, m := range f.Snapshot.View.History {
					seen[m.ID] = m.PlainText()
				}
			}
			if f.Message != nil {
				seen[f.Message.ID] = f.Message.PlainText()
			}
			if f.Event != nil {
				if e, err := chat.UnmarshalEvent(f.Event); err == nil {
					if d, ok := e.(*chat.Done); ok && d.Result.Error != nil {
						refused++
						t.Errorf("round %d: the run failed: %v", i, d.Result.Error.Message)
					}
				}
			}
			return nil
		})
		cancel()
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		c.Close()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d messages, %d compactions, %d requests refused", rounds, len(seen), compactions, refused)
}

func checkSeen(t *testing.T, round int, v control.SessionView, seen map[string]string) {
	t.Helper()
	now := map[string]string{}
	for _, m := range v.History {
		now[m.ID] = m.PlainText()
	}
	for id, text := range seen {
		got, ok := now[id]
		if !ok {
			t.Errorf("round %d: message %s is lost: %.60q", round, id, text)
		} else if got != text {
			t.Errorf("round %d: message %s is %.60q, was %.60q", round, id, got, text)
		}
	}
	if !chat.Paired(v.History) {
		t.Errorf("round %d: calls and results are not paired", round)
	}
}
