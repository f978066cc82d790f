//go:build !linux && !freebsd && !openbsd && !netbsd

package place

import "fmt"

// New reports that this system's windows are left to the toolkit.
func New() (Desk, error) {
	return None{}, fmt.Errorf("placing windows is left to the toolkit on this system")
}
