package cli

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"perch/control"
)

// maxLog bounds one log file of a bundle: the newest part is what counts.
const maxLog = 8 << 20

// secretText is what looks like a credential. No log line holds one; the bundle
// leaves the machine, so it is looked at again.
var secretText = regexp.MustCompile(`(?i)((?:api[_-]?key|token|secret|password|authorization|bearer)["']?\s*[:= ]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"',}]+|\b(?:sk|pk|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{8,}|\bAIza[A-Za-z0-9_-]{20,}|(://[^/\s:@]+:)[^/\s@]+(@)`)

// redact masks what looks like a credential.
func redact(s string) string { return secretText.ReplaceAllString(s, "${1}${2}•••${3}") }

// writeBundle packs log, versions and findings, without secrets or message text.
func (a *app) writeBundle(path string, checks []control.Check) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return a.failed("cli.bad_file", path, reason(err))
	}
	zip := gzip.NewWriter(f)
	w := tar.NewWriter(zip)
	err = a.bundle(w, checks)
	for _, c := range []io.Closer{w, zip, f} {
		if cerr := c.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		os.Remove(path)
		return a.failed("cli.bad_file", path, reason(err))
	}
	return nil
}

func (a *app) bundle(w *tar.Writer, checks []control.Check) error {
	add := func(name string, data []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: "perch-report/" + name, Mode: 0o600, Size: int64(len(data)), ModTime: time.Now()}); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	found, err := json.MarshalIndent(checks, "", "  ")
	if err != nil {
		return err
	}
	if err := add("doctor.json", []byte(redact(string(found)))); err != nil {
		return err
	}
	if err := add("versions.txt", []byte(a.versions())); err != nil {
		return err
	}
	if a.settings().Log.Messages {
		// Such a log holds what was asked and answered.
		return add("log-left-out.txt", []byte(a.t("cli.bundle_no_log")+"\n"))
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(a.Paths.Log()), "*.log"))
	if err != nil {
		return err
	}
	for _, path := range logs {
		data, err := tail(path, maxLog)
		if err != nil {
			data = []byte(err.Error())
		}
		if err := add(filepath.Base(path), []byte(redact(string(data)))); err != nil {
			return err
		}
	}
	return nil
}

// versions says which programs on which system.
func (a *app) versions() string {
	var b strings.Builder
	fmt.Fprintln(&b, versionLine(a.Version))
	if c := a.client; c != nil {
		fmt.Fprintf(&b, "running: %s\n", versionLine(c.Version()))
	}
	fmt.Fprintf(&b, "system: %s/%s\n", runtime.GOOS, runtime.GOARCH)
	for _, path := range []string{"/etc/os-release", "/proc/version"} {
		if data, err := os.ReadFile(path); err == nil {
			fmt.Fprintf(&b, "%s:\n%s\n", path, data)
		}
	}
	env := desktopOf(a.Getenv, a.Environ)
	fmt.Fprintf(&b, "desktop: %q, session %q, display %q, wayland %q\n", env.Desktop, env.SessionType, env.Display, env.WaylandDisplay)
	return b.String()
}

// tail reads the last n bytes of a file.
func tail(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > n {
		if _, err := f.Seek(-n, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, n))
}
