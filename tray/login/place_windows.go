package login

import (
	"fmt"
	"os"
	"path/filepath"
)

// Default is the place of this user. The folder of programs that start with
// Windows takes links, which need COM to be made; a desktop entry there would
// do nothing. The start at login is therefore set by the user here.
func Default([]string) (Place, error) {
	return Place{}, fmt.Errorf("put a link to %s into the Startup folder (shell:startup) to start Perch at login", filepath.Base(os.Args[0]))
}
