package desktop

import (
	"context"
	"os"
	"testing"
)

// TestMain lets the test binary play the role, as perch does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Argument {
		os.Exit(Main(context.Background(), os.Stdin, os.Stdout))
	}
	if os.Getenv("DESKTOP_TEST_PARENT") != "" {
		playSecretParent()
	}
	os.Exit(m.Run())
}
