package exec

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"perch/tools/places"
)

// holdVariable makes the test binary a perch that runs a command in a folder and
// waits for it, to be killed.
const holdVariable = "PERCH_TEST_HOLD"

// The test binary is its own supervisor and second stage, as perch is.
func TestMain(m *testing.M) {
	if code, handled := Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if dir := os.Getenv(holdVariable); dir != "" {
		e := New(Config{Places: places.New(dir)})
		e.Run(context.Background(), Command{
			Shell: "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & nohup sleep 300 & while :; do sleep 1; done",
			Dir:   dir, SpoolDir: dir,
		})
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
