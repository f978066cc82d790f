package exec

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is its own supervisor and second stage, as perch is.
func TestMain(m *testing.M) {
	if code, handled := Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
