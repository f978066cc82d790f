package login

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoginIsSetOneWayOnly(t *testing.T) {
	for _, systemd := range []bool{false, true} {
		dir := t.TempDir()
		reloads := 0
		p := Place{Config: dir, Exe: "/opt/per ch/perch", Systemd: systemd, Reload: func() error { reloads++; return nil }}
		if p.Enabled() {
			t.Fatal("on at the beginning")
		}
		for range 2 { // switching on twice is as good as once
			if err := p.Set(true); err != nil {
				t.Fatal(err)
			}
		}
		if !p.Enabled() {
			t.Error("not on")
		}
		file, other := p.entryFile(), p.unitFile()
		if systemd {
			file, other = other, file
			if b, err := os.ReadFile(p.wantFile()); err != nil || !strings.Contains(string(b), "WantedBy=graphical-session.target") {
				t.Errorf("the link leads nowhere: %v", err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(b), `="/opt/per ch/perch"`) {
			t.Errorf("%s: %v\n%s", file, err, b)
		}
		if _, err := os.Stat(other); err == nil {
			t.Errorf("%s is there, too", other)
		}
		// A desktop that changed its kind is followed.
		p.Systemd = !systemd
		if err := p.Set(true); err != nil || !p.Enabled() {
			t.Errorf("the other way: %v", err)
		}
		if err := p.Set(false); err != nil || p.Enabled() {
			t.Errorf("off: %v", err)
		}
		var left []string
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				left = append(left, path)
			}
			return nil
		})
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if reloads == 0 {
			t.Error("systemd was never told")
		}
	}
}

func TestPathsAreQuoted(t *testing.T) {
	for in, want := range map[string][2]string{
		"/usr/bin/perch": {`"/usr/bin/perch"`, `"/usr/bin/perch"`},
		"/a b/50%":       {`"/a b/50%%"`, `"/a b/50%%"`},
		`/a"b`:           {`"/a\\"b"`, `"/a\"b"`},
		"/a$b":           {`"/a\\$b"`, `"/a$$b"`},
		`/a\b`:           {`"/a\\\\b"`, `"/a\\b"`},
	} {
		if got := quoteDesktop(in); got != want[0] {
			t.Errorf("desktop entry %q: %s, want %s", in, got, want[0])
		}
		if got := quoteUnit(in); got != want[1] {
			t.Errorf("unit %q: %s, want %s", in, got, want[1])
		}
	}
}
