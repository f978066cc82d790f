package exec

import (
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"perch/config"
	"perch/tools/places"
)

// nobody is an unprivileged user: root would pass the checks that are tested.
const nobody = 65534

// asNobody runs the calling test again as an unprivileged user and reports
// whether this is that second run.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // as the owner of the store is
		return true
	}
	home := t.TempDir()
	// t.TempDir lies in a folder that only root may enter.
	for d := home; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "PLANTED_KEY=planted-in-the-environment")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as an unprivileged user: %v\n%s", err, out)
	} else if strings.Contains(string(out), "SKIP") {
		t.Skip(string(out))
	}
	return false
}

func needLandlock(t *testing.T) {
	t.Helper()
	if landlockVersion() == 0 {
		t.Skip("this kernel has no Landlock")
	}
}

// plant puts secrets where a user has them.
func plant(t *testing.T, home string) (files []string) {
	t.Helper()
	for _, p := range []string{".ssh/id_ed25519", ".gnupg/key", ".aws/credentials", ".config/gcloud/creds", ".mozilla/profile", ".netrc", ".bash_history", ".local/share/perch/control.token", ".local/share/perch/sessions.db", ".config/perch/config.toml"} {
		f := filepath.Join(home, p)
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte("planted-secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func TestSecretPlacesAreClosedToACommand(t *testing.T) {
	if !asNobody(t) {
		return
	}
	needLandlock(t)
	b := newBench(t)
	b.c.Places = places.New(b.home, b.home+"/.local/share/perch", b.home+"/.config/perch")
	secrets := plant(t, b.home)
	for _, dir := range []string{b.dir, b.home} {
		for _, f := range secrets {
			link := filepath.Join(b.dir, "link")
			os.Remove(link)
			os.Symlink(f, link)
			for _, try := range []string{
				"cat %q", "cat < %q", "cp %q stolen; cat stolen", "ln %q hard && cat hard", "grep -r planted %q", "tar cf - %q | tar xOf -", "sh -c 'exec cat \"$0\"' %q", "mv %q stolen; cat stolen",
			} {
				c := b.command(fmt.Sprintf(try, f) + "; cat " + link)
				c.Dir = dir
				r, err := b.Run(context.Background(), c)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(r.Output, "planted") || !r.Confinement.Active {
					t.Errorf("in %s: %s gave %q (%v)", dir, c.Shell, r.Output, r.Confinement)
				}
				if got, err := os.ReadFile(f); err != nil || string(got) != "planted-secret" {
					t.Fatalf("in %s: %s changed the secret: %q %v", dir, c.Shell, got, err)
				}
			}
		}
		// A search of everything that is in reach finds none.
		c := b.command("grep -rs planted-secret $HOME /etc 2>/dev/null; env; true")
		c.Dir = dir
		r, err := b.Run(context.Background(), c)
		if err != nil || strings.Contains(r.Output, "planted-secret") || strings.Contains(r.Output, "planted-in-the-environment") {
			t.Errorf("in %s: found %q %v", dir, r.Output, err)
		}
	}
}

func TestWritesOutsideTheWorkingFolderFail(t *testing.T) {
	if !asNobody(t) {
		return
	}
	needLandlock(t)
	b := newBench(t)
	other := filepath.Join(b.home, "other")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(other, "file")
	if err := os.WriteFile(victim, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{
		"echo x > ../other/new", "echo x > out/new", "echo x >> " + victim, "rm " + victim, "mv " + victim + " .", "ln -s /etc/passwd ../other/l", "mkdir ../other/d", "touch ../other/new", "cp /bin/true ../other/true",
		": > " + victim, "truncate -s 0 " + victim, "chmod 600 x; dd if=/dev/zero of=" + victim + " bs=1 count=1 2>/dev/null", "echo x > ~/.bashrc", "mkdir -p ~/.config/autostart", "echo x > /proc/self/../../" + strings.TrimPrefix(b.home, "/") + "/x",
	} {
		b.run(t, shell)
		if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
			t.Fatalf("%s: the file is %q, %v", shell, got, err)
		}
		entries, _ := os.ReadDir(other)
		if len(entries) != 1 {
			t.Fatalf("%s: wrote into the other folder", shell)
		}
		for _, p := range []string{".bashrc", ".config", "x"} {
			if _, err := os.Lstat(filepath.Join(b.home, p)); err == nil {
				t.Fatalf("%s: made ~/%s", shell, p)
			}
		}
	}
	// What was granted works, and so do the working folder and temporary files.
	c := b.command("echo granted > " + other + "/new && echo here > here && mktemp >/dev/null && mv here there && mkdir d && mv there d/ && cat d/there")
	c.Write = []string{other}
	r, err := b.Run(context.Background(), c)
	if err != nil || r.ExitCode != 0 || r.Output != "here\n" {
		t.Errorf("%+v %v", r, err)
	}
	c = b.command("cat " + victim)
	if r, _ := b.Run(context.Background(), c); r.ExitCode == 0 {
		t.Error("a file outside was read without a grant")
	}
	c.Read = []string{victim}
	if r, _ := b.Run(context.Background(), c); r.Output != "mine" {
		t.Errorf("a granted file was not read: %q", r.Output)
	}
	b.c.Sandbox = func() config.Sandbox { return config.Sandbox{Read: []string{other}} }
	if r := b.run(t, "cat "+victim); r.Output != "mine" {
		t.Errorf("sandbox.read has no effect: %q", r.Output)
	}
}

func TestACommandCannotKillItsSupervisorNorPerch(t *testing.T) {
	if !asNobody(t) {
		return
	}
	needLandlock(t)
	if landlockVersion() < abiScope {
		t.Skip("this kernel's Landlock does not scope signals")
	}
	b := newBench(t)
	sleeper := osexec.Command("sleep", "300")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	r := b.run(t, fmt.Sprintf("for p in $PPID %d %d; do kill -9 $p 2>/dev/null && echo killed $p; kill -STOP $p 2>/dev/null && echo stopped $p; done; setsid sleep 200 & kill -9 -1; true", os.Getpid(), sleeper.Process.Pid))
	if strings.Contains(r.Output, "killed") || strings.Contains(r.Output, "stopped") {
		t.Errorf("got %q", r.Output)
	}
	if err := sleeper.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another program of the user was ended: %v", err)
	}
	wantNoSurvivor(t, b.dir)
	// Nor can it look into them.
	r = b.run(t, fmt.Sprintf("cat /proc/%d/environ /proc/$PPID/environ /proc/%d/environ /proc/%d/mem | head -c 4000 | tr '\\0' ' '; ls /proc/%d/fd /proc/%d/cwd/ 2>&1", os.Getpid(), sleeper.Process.Pid, os.Getpid(), os.Getpid(), os.Getpid()))
	if strings.Contains(r.Output, "planted") || strings.Contains(r.Output, "HOME=") {
		t.Errorf("read another process: %q", r.Output)
	}
}

func TestWithoutTheNetworkNoAddressIsReached(t *testing.T) {
	if !asNobody(t) {
		return
	}
	needLandlock(t)
	b := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("reached\n"))
			c.Close()
		}
	}()
	_, tcp, _ := net.SplitHostPort(l.Addr().String())
	_, udp, _ := net.SplitHostPort(u.LocalAddr().String())
	c := b.command("cat < /dev/tcp/127.0.0.1/" + tcp + "; echo x > /dev/udp/127.0.0.1/" + udp)
	r, err := b.Run(context.Background(), c)
	if err != nil || strings.Contains(r.Output, "reached") || !r.Confinement.NoNetwork {
		t.Errorf("without network: %+v %v", r, err)
	}
	u.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, _, err := u.ReadFrom(make([]byte, 10)); err == nil {
		t.Errorf("%d bytes of UDP arrived", n)
	}
	c.Network = true
	r, err = b.Run(context.Background(), c)
	if err != nil || r.Output != "reached\n" || r.Confinement.NoNetwork {
		t.Errorf("with network: %+v %v", r, err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(b.dir, "probe")
	if err := os.WriteFile(probe, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"mptcp", "sctp", "packet", "unix"} {
		c := b.command("")
		c.Argv = []string{probe, "-test.run", "^TestProbe$"}
		c.Set = []string{"PERCH_TEST_SOCKET=" + kind}
		r, err := b.Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if open := strings.Contains(r.Output, "socket opened"); open != (kind == "unix") || r.ExitCode != 0 {
			t.Errorf("%s: %q", kind, r.Output)
		}
	}
}

// TestProbe is run by a confined command and opens a socket.
func TestProbe(t *testing.T) {
	kind, ok := map[string][3]int{
		"mptcp": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, "sctp": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		"packet": {unix.AF_PACKET, unix.SOCK_RAW, 0}, "unix": {unix.AF_UNIX, unix.SOCK_STREAM, 0},
	}[os.Getenv("PERCH_TEST_SOCKET")]
	if !ok {
		t.Skip("only for a confined command")
	}
	fd, err := unix.Socket(kind[0], kind[1], kind[2])
	if err == nil {
		unix.Close(fd)
		fmt.Println("socket opened")
	}
}

func TestBubblewrapHides(t *testing.T) {
	if !asNobody(t) {
		return
	}
	needLandlock(t)
	bwrap := findBwrap()
	if bwrap == "" {
		t.Skip("there is no bubblewrap that works")
	}
	b := newBench(t, func(c *Config) { c.bwrap = &bwrap })
	plant(t, b.home)
	agent := filepath.Join(b.home, ".gnupg", "S.agent")
	l, err := net.Listen("unix", agent)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	probe := "python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(\"connected\")' " + agent
	without := newBench(t)
	without.home, without.dir = b.home, b.dir
	without.c.Places = b.c.Places
	if r := without.run(t, probe); !strings.Contains(r.Output, "connected") {
		t.Logf("without bubblewrap the socket is not reached either: %q", r.Output)
	}
	r := b.run(t, probe)
	if strings.Contains(r.Output, "connected") || !r.Confinement.NoBus || !r.Confinement.Active {
		t.Errorf("%+v", r)
	}
	if r := b.run(t, "ls "+b.home+"/.ssh; pwd; touch x && ls; exit 7"); r.ExitCode != 7 || !strings.HasSuffix(r.Output, b.dir+"\nx\n") {
		t.Errorf("%+v", r)
	}
	c := b.command("trap '' TERM; setsid sleep 300 & nohup sleep 300 & while :; do sleep 0.1; done")
	c.Timeout = 500 * time.Millisecond
	if r, err := b.Run(context.Background(), c); err != nil || !r.TimedOut || len(r.Stuck) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	wantNoSurvivor(t, b.dir)
	c.Shell, c.Argv = "", []string{b.dir + "/x"} // not executable
	if r, err := b.Run(context.Background(), c); err == nil && r.ExitCode != 126 {
		t.Errorf("%+v", r)
	}
}

func TestAKernelWithoutLandlockIsSaid(t *testing.T) {
	zero := 0
	b := newBench(t, func(c *Config) { c.kernel = &zero })
	r := b.run(t, "echo hello")
	if r.Output != "hello\n" || r.Confinement.Active || !strings.Contains(r.Confinement.String(), "not confined") {
		t.Errorf("%+v", r)
	}
	if b.Unconfined() == "" {
		t.Error("the executor does not say so before")
	}
	b = newBench(t, func(c *Config) { c.Sandbox = func() config.Sandbox { return config.Sandbox{Off: true} } })
	if r := b.run(t, "echo hello"); r.Confinement.Active || b.Unconfined() == "" {
		t.Errorf("%+v", r)
	}
	if landlockVersion() > 0 {
		b = newBench(t)
		if r := b.run(t, "grep NoNewPrivs /proc/self/status"); !r.Confinement.Active || !strings.Contains(r.Output, "1") || b.Unconfined() != "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestNobodySurvivesAKillOfPerch(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	perch := osexec.Command("/proc/self/exe")
	perch.Env = append(os.Environ(), holdVariable+"="+dir)
	if err := perch.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command and its children", func() bool { return len(workingIn(dir)) >= 4 })
	if err := perch.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	perch.Wait()
	start := time.Now()
	waitFor(t, "their end", func() bool { return len(workingIn(dir)) == 0 })
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("took %v", d)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestMemoryStaysFlatWhateverACommandPrints(t *testing.T) {
	if testing.Short() {
		t.Skip("a gigabyte of output")
	}
	b := newBench(t)
	for name, shell := range map[string]string{
		"1 GB of lines": "yes 'a line of some output that is long enough' | head -c 1000000000",
		"80 MB line":    "head -c 80000000 /dev/zero | tr '\\0' 'x'",
		"NULs":          "head -c 50000000 /dev/zero",
		"binary":        "head -c 50000000 /dev/urandom",
	} {
		before := peakMemory(t)
		r := b.run(t, shell)
		if grown := peakMemory(t) - before; grown > 40<<20 {
			t.Errorf("%s: memory grew by %d MB", name, grown>>20)
		}
		if r.Bytes < 50_000_000 || len(r.Output) > 200_000 || r.ExitCode != 0 {
			t.Errorf("%s: %d bytes, %d shown, %+v", name, r.Bytes, len(r.Output), r.ExitCode)
		}
		os.Remove(r.Spool)
	}
}

// peakMemory is the most memory that this process ever had.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Maxrss << 10
}

func TestParseStatReadsAnyName(t *testing.T) {
	for _, c := range []struct {
		line string
		want proc
		ok   bool
	}{
		{"12 (sleep) S 7 12 12 0", proc{12, 7, "sleep", 'S'}, true},
		{"12 (a) b (c)) Z 7 1", proc{12, 7, "a) b (c)", 'Z'}, true},
		{"broken", proc{}, false}, {"1 (x)", proc{}, false},
	} {
		if p, ok := parseStat([]byte(c.line)); ok != c.ok || ok && p != c.want {
			t.Errorf("%q: %+v %v", c.line, p, ok)
		}
	}
}

func TestAHomeAsWorkingFolderIsGrantedWithoutItsSecrets(t *testing.T) {
	b := newBench(t)
	plant(t, b.home)
	if err := os.MkdirAll(b.home+"/Documents", 0o755); err != nil {
		t.Fatal(err)
	}
	c := b.command("true")
	c.Dir = b.home
	s, err := b.spec(c)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(s.Write, b.home) || !slices.Contains(s.Write, b.home+"/Documents") || slices.Contains(s.Write, b.home+"/.ssh") {
		t.Errorf("writes: %v", s.Write)
	}
}
