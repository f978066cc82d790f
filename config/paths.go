package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// maxSocketPath is the longest path that fits a sockaddr_un, in bytes.
const maxSocketPath = 107

// Paths are the places of one Perch: one per user and PERCH_HOME.
type Paths struct {
	ConfigFile string // config.toml
	Data       string // sessions.db, kb.db, images, spool, log, tools, skills
	Runtime    string // control socket and lock
}

// DefaultPaths returns the places for this user, under PERCH_HOME where it is
// set, else by the XDG base directories. It creates nothing.
func DefaultPaths() (Paths, error) {
	if home := os.Getenv("PERCH_HOME"); home != "" {
		abs, err := filepath.Abs(home)
		if err != nil {
			return Paths{}, fmt.Errorf("resolve PERCH_HOME: %w", err)
		}
		return PathsIn(abs), nil
	}
	conf, err := os.UserConfigDir()
	if err != nil {
		return Paths{}, fmt.Errorf("no folder for settings: %w; set HOME or PERCH_HOME", err)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return Paths{}, fmt.Errorf("no folder for data: %w; set HOME or PERCH_HOME", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	run := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(run) {
		run = filepath.Join(data, "perch")
	}
	return Paths{
		ConfigFile: filepath.Join(conf, "perch", "config.toml"),
		Data:       filepath.Join(data, "perch"),
		Runtime:    filepath.Join(run, "perch"),
	}, nil
}

// PathsIn returns the places under one folder, as PERCH_HOME gives them.
func PathsIn(dir string) Paths {
	return Paths{
		ConfigFile: filepath.Join(dir, "config.toml"),
		Data:       filepath.Join(dir, "data"),
		Runtime:    filepath.Join(dir, "run"),
	}
}

// Socket is the control socket's path. Where the runtime folder's path is too
// long for a socket, it is a short hashed name in the system's temp folder.
func (p Paths) Socket() string {
	s := filepath.Join(p.Runtime, "control.sock")
	if len(s) <= maxSocketPath {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return filepath.Join("/tmp", fmt.Sprintf("perch-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])), "control.sock")
}

// Lock is the file whose lock the owner holds.
func (p Paths) Lock() string { return filepath.Join(p.Data, "owner.lock") }

// Token is the 0600 file with the control socket's token.
func (p Paths) Token() string { return filepath.Join(p.Data, "control.token") }

// SessionsDB, KnowledgeDB and Images are the stores.
func (p Paths) SessionsDB() string { return filepath.Join(p.Data, "sessions.db") }

// KnowledgeDB is the knowledge base's Bolt file.
func (p Paths) KnowledgeDB() string { return filepath.Join(p.Data, "kb.db") }

// Images is the folder of images by hash.
func (p Paths) Images() string { return filepath.Join(p.Data, "images") }

// Spool is the folder for tool output that did not fit a result.
func (p Paths) Spool() string { return filepath.Join(p.Data, "spool") }

// Log is the rotating log of all processes.
func (p Paths) Log() string { return filepath.Join(p.Data, "log", "perch.log") }

// Tools is the folder of user-defined tools.
func (p Paths) Tools() string { return filepath.Join(filepath.Dir(p.ConfigFile), "tools") }

// Skills is the folder of skills.
func (p Paths) Skills() string { return filepath.Join(filepath.Dir(p.ConfigFile), "skills") }

// Calibration is the folder of weights that the user fitted.
func (p Paths) Calibration() string { return filepath.Join(p.Data, "weights") }
