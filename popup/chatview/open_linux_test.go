package chatview

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"perch/chat"
	"perch/control"
	"perch/popup/transcript"
)

// openMost is the processor time that opening a session of 2,000 messages may
// take, twice the aim of 300 ms as a leave for slow machines.
const openMost = 600 * time.Millisecond

func cpuTime(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestLongSessionOpensFast(t *testing.T) {
	useTheme(t, "light")
	v := control.SessionView{SessionInfo: control.SessionInfo{ID: "s"}}
	for i := range 1000 {
		v.History = append(v.History,
			chat.Message{ID: fmt.Sprintf("u%d", i), Role: chat.RoleUser, Parts: []chat.Part{chat.Text("A question of ordinary length, number " + fmt.Sprint(i))}},
			chat.Message{ID: fmt.Sprintf("a%d", i), Role: chat.RoleAssistant, Parts: []chat.Part{chat.Text(sample)}})
	}
	tr := transcript.New()
	view, _ := show(t, transcript.New(), 640, 600)
	begin := cpuTime(t)
	c := tr.Reset(control.Snapshot{View: v})
	parsed := cpuTime(t) - begin
	view.Update(tr.Rows(), c)
	took := cpuTime(t) - begin
	t.Logf("2,000 messages, %d rows: parsed in %v, drawn after %v", len(tr.Rows()), parsed.Round(time.Millisecond), took.Round(time.Millisecond))
	if took > openMost && !raceEnabled {
		t.Errorf("opening took %v", took)
	}
	begin = cpuTime(t)
	view.Update(tr.Rows(), tr.Reset(control.Snapshot{View: v}))
	t.Logf("the same snapshot again: %v", (cpuTime(t) - begin).Round(time.Millisecond))
}
