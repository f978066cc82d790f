package config

import (
	"os"
	"path/filepath"

	"perch/chat"
)

// Modes of everything Perch keeps: the owner's only.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Make makes the folders for settings, data and runtime files with mode 0700,
// and closes data and runtime folders that are open to others.
func (p Paths) Make() error {
	for _, dir := range []string{filepath.Dir(p.ConfigFile), p.Data, p.Runtime} {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return noFolder(dir, err)
		}
	}
	for _, dir := range []string{p.Data, p.Runtime} {
		st, err := os.Stat(dir)
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(dir, dirMode)
		}
		if err != nil {
			return noFolder(dir, err)
		}
	}
	return nil
}

func noFolder(dir string, err error) error {
	return chat.NewError(chat.ClassStore, "err.folder",
		"The folder %s cannot be made or closed to others: %v. Check its owner and permissions, or set PERCH_HOME to a folder that can be written.", dir, err).Wrap(err)
}
