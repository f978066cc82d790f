package places

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func mkdir(t *testing.T, p ...string) {
	t.Helper()
	for _, d := range p {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no links here: %v", err)
	}
}

func TestResolveGoesWhereTheKernelWouldGo(t *testing.T) {
	base, _ := filepath.EvalSymlinks(t.TempDir())
	work, other := filepath.Join(base, "work"), filepath.Join(base, "other")
	mkdir(t, filepath.Join(work, "sub"), filepath.Join(other, "deep"))
	t.Setenv("HOME", filepath.Join(base, "home"))
	link(t, filepath.Join(other, "deep"), filepath.Join(work, "out"))
	link(t, "../other", filepath.Join(work, "rel"))
	link(t, "nowhere/x", filepath.Join(work, "dangling"))
	link(t, "loop", filepath.Join(work, "loop"))
	for _, c := range []struct{ name, want string }{
		{"a.txt", work + "/a.txt"},
		{"./sub/../a.txt", work + "/a.txt"},
		{"../other/x", other + "/x"},
		{"out/x", other + "/deep/x"},
		{"out/../x", other + "/x"}, // not work/x: the link is followed first
		{"rel/deep", other + "/deep"},
		{"dangling", work + "/nowhere/x"},
		{"new/folder/x", work + "/new/folder/x"},
		{"~/x", base + "/home/x"},
		{other + "//deep/.", other + "/deep"},
		{"/../../" + base[1:] + "/work", work},
	} {
		got, err := Resolve(work, c.name)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "a\x00b", "loop", "new/../../etc/passwd"} {
		if got, err := Resolve(work, bad); err == nil {
			t.Errorf("%q resolved to %q", bad, got)
		}
	}
}

func TestInsideComparesWholeNames(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b", "/a/b/c", true}, {"/a/b", "/a/bc", false},
		{"/", "/x", true}, {"/a/b", "/a", false}, {"", "/x", false},
	} {
		if got := Inside(c.dir, c.path); got != c.want {
			t.Errorf("Inside(%q, %q) = %v", c.dir, c.path, got)
		}
	}
}

func TestWhatTheKernelTellsOfAProcessIsSecret(t *testing.T) {
	p := New("/nonexistent")
	for path, want := range map[string]bool{"/proc/1/environ": true, "/proc/4242": true, "/proc/kcore": true, "/proc/cpuinfo": false, "/proc": false, "/proc/net/tcp": false} {
		if p.Secret(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc here")
	}
	if r, err := Resolve("/", "/proc/self/environ"); err != nil || !p.Secret(r) {
		t.Errorf("/proc/self/environ leads to %s, %v", r, err)
	}
	if got := p.Open("/proc"); len(got) != 1 || got[0] != "/proc" {
		t.Errorf("commands are granted only %d entries of /proc", len(got))
	}
}

func TestAHomeFolderIsOpenedWithoutItsSecrets(t *testing.T) {
	home, _ := filepath.EvalSymlinks(t.TempDir())
	mkdir(t, home+"/.ssh", home+"/Documents", home+"/.config/gcloud", home+"/.config/app", home+"/vault/keys", home+"/.local/share/perch/spool")
	if err := os.WriteFile(home+"/notes.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "vault/keys", home+"/.gnupg")
	link(t, "/etc", home+"/etc")
	p := New(home, home+"/.local/share/perch")
	got := p.Open(home)
	want := []string{home + "/.config/app", home + "/Documents", home + "/notes.txt"}
	if !slices.Equal(got, want) {
		t.Errorf("opened %v, want %v", got, want)
	}
	for _, s := range []string{"/.ssh/id", "/.ssh", "/vault/keys/x", "/.gnupg", "/.local/share/perch/sessions.db", "/.netrc"} {
		if !p.Secret(home + s) {
			t.Errorf("%s is not secret", s)
		}
	}
	for _, s := range []string{"/.sshx", "/Documents", "/.config/app/x"} {
		if p.Secret(home + s) {
			t.Errorf("%s is secret", s)
		}
	}
	if got := p.Open(home + "/Documents"); len(got) != 1 || !strings.HasSuffix(got[0], "Documents") {
		t.Errorf("a folder without secrets is not granted whole: %v", got)
	}
	if got := p.Open(home + "/.ssh"); got != nil {
		t.Errorf("a secret place was opened: %v", got)
	}
}
