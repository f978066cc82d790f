package popup

import (
	"os"
	"strings"
)

// imeActive reports whether an input method is at work on this desktop.
func imeActive() bool {
	m := os.Getenv("XMODIFIERS")
	_, name, ok := strings.Cut(m, "@im=")
	return ok && name != "" && name != "none" && name != "local"
}
