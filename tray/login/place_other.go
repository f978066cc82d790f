//go:build !linux && !windows

package login

import (
	"fmt"
	"os"
)

// Default is the place of this user: a desktop entry, which desktops that know
// none ignore.
func Default([]string) (Place, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return Place{}, fmt.Errorf("find the folder for settings: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return Place{}, fmt.Errorf("find the own program: %w", err)
	}
	return Place{Config: config, Exe: exe}, nil
}
