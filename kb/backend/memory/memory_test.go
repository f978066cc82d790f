package memory

import (
	"testing"

	"perch/kb/backend"
	"perch/kb/backend/backendtest"
)

func TestSuite(t *testing.T) {
	backendtest.Run(t, true, func(*testing.T) backend.Backend { return New() })
}
