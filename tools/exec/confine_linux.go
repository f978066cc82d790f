package exec

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// File descriptors of the second stage.
const (
	specFD   = 3
	reportFD = 4
	selfFD   = 5 // this program
)

// Resource limits of a command.
const (
	// spareProcesses is how many processes and threads a command may add to those
	// of the machine: a parallel build needs hundreds, a fork bomb ends here.
	spareProcesses = 4096
	// maxFileSize bounds one file, in bytes, so that one mistake does not fill
	// the disk: larger than any disk image a person builds by accident.
	maxFileSize = 64 << 30
	// oomScore lets the kernel choose the command before the user's programs
	// when memory runs out (of 1000).
	oomScore = 500
)

// Landlock versions (ABI) with which something can be closed.
const (
	abiRefer   = 2
	abiNetwork = 4
	abiIoctl   = 5
	abiScope   = 6
	abiUnix    = 9
)

// noLandlock says why nothing is confined.
const noLandlock = "this kernel has no Landlock"

// landlockVersion is the kernel's Landlock version, 0 for none. The system call
// is asked: the file /sys/kernel/security/lsm may be absent where Landlock works.
func landlockVersion() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil || v < 0 {
		return 0
	}
	return v
}

// ConfineMain is the second stage: it confines itself and becomes the command.
func ConfineMain([]string) int {
	// Confinement and exec must happen on the same thread.
	runtime.LockOSThread()
	unix.CloseOnExec(specFD)
	unix.CloseOnExec(reportFD)
	unix.CloseOnExec(selfFD)
	report := json.NewEncoder(os.NewFile(reportFD, "report"))
	fail := func(err error) int {
		report.Encode(status{Failed: err.Error()})
		return 1
	}
	s, err := readSpec(bufio.NewReader(os.NewFile(specFD, "spec")))
	if err != nil {
		return fail(fmt.Errorf("read what to run: %w", err))
	}
	if err := os.Chdir(s.Dir); err != nil {
		return fail(fmt.Errorf("enter the working folder: %w", err))
	}
	path, err := lookPath(s)
	if err != nil {
		return fail(err)
	}
	setLimits()
	c := Confinement{Why: "the setting sandbox.off is on"}
	if s.Confine {
		if c, err = confine(s); err != nil {
			return fail(err)
		}
	}
	report.Encode(status{Started: &c})
	err = unix.Exec(path, s.Argv, s.Env)
	if s.Bwrap != "" {
		fmt.Fprintf(os.Stderr, "perch: start %s: %v\n", s.Argv[0], err)
		return 126
	}
	return fail(fmt.Errorf("start %s: %w", s.Argv[0], err))
}

// lookPath finds the program in the child's own PATH.
func lookPath(s *spec) (string, error) {
	if strings.Contains(s.Argv[0], "/") {
		return s.Argv[0], nil
	}
	os.Setenv("PATH", lookup(s.Env, "PATH"))
	p, err := osexec.LookPath(s.Argv[0])
	if err != nil {
		return "", fmt.Errorf("there is no program %q in the PATH of the command", s.Argv[0])
	}
	return filepath.Abs(p)
}

// setLimits sets the resource limits; one that cannot be set stays as it is.
func setLimits() {
	set := func(what int, n uint64) {
		var l unix.Rlimit
		if unix.Getrlimit(what, &l) == nil {
			l.Cur = min(n, l.Max)
			unix.Setrlimit(what, &l)
		}
	}
	set(unix.RLIMIT_CORE, 0)
	set(unix.RLIMIT_FSIZE, maxFileSize)
	if n := threads(); n > 0 {
		set(unix.RLIMIT_NPROC, n+spareProcesses)
	}
	os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(oomScore)), 0)
}

// threads is how many the machine has: the limit counts all of the user's.
func threads() uint64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 4 {
		return 0
	}
	_, total, _ := strings.Cut(f[3], "/")
	n, _ := strconv.ParseUint(total, 10, 64)
	return n
}

// confine applies all that this kernel has to the calling process.
func confine(s *spec) (Confinement, error) {
	abi := landlockVersion()
	if s.Kernel != nil {
		abi = *s.Kernel
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return Confinement{}, fmt.Errorf("set no_new_privs: %w", err)
	}
	c := Confinement{ABI: abi}
	if abi == 0 {
		c.Why = noLandlock
	} else {
		if err := restrict(s, abi); err != nil {
			return Confinement{}, fmt.Errorf("confine the command: %w", err)
		}
		c.Active = true
		c.Why = missing(abi)
	}
	filtered, err := filterCalls(s.Network)
	if err != nil {
		return Confinement{}, fmt.Errorf("filter the command's system calls: %w", err)
	}
	c.NoBus = s.Bwrap != ""
	c.NoNetwork = !s.Network && (filtered || abi >= abiNetwork)
	return c, nil
}

// missing names what an old kernel leaves open.
func missing(abi int) string {
	if abi < abiScope {
		return fmt.Sprintf("this kernel's Landlock version %d cannot keep the command from signalling other programs", abi)
	}
	return ""
}

// restrict makes the Landlock rules and enforces them.
func restrict(s *spec, abi int) error {
	dirRead, fileRead := landlock.RODirs, landlock.ROFiles
	dirWrite := func(p ...string) landlock.FSRule {
		r := landlock.RWDirs(p...)
		if abi >= abiRefer {
			r = r.WithRefer() // renames between folders
		}
		if abi >= abiUnix {
			r = r.WithResolveUnix() // sockets of what the user granted
		}
		return r
	}
	var rules []landlock.Rule
	add := func(paths []string, dirs, files func(...string) landlock.FSRule) error {
		for _, p := range paths {
			fi, err := os.Stat(p)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ELOOP):
			case err != nil:
				return err
			case fi.IsDir():
				rules = append(rules, dirs(p).IgnoreIfMissing())
			default:
				rules = append(rules, files(p).IgnoreIfMissing())
			}
		}
		return nil
	}
	devices := func(p ...string) landlock.FSRule {
		r := landlock.RWFiles(p...)
		if abi >= abiIoctl {
			r = r.WithIoctlDev()
		}
		return r
	}
	deviceDirs := func(p ...string) landlock.FSRule {
		r := landlock.RWDirs(p...)
		if abi >= abiIoctl {
			r = r.WithIoctlDev()
		}
		return r
	}
	if err := errors.Join(
		add(s.Read, dirRead, fileRead),
		add(s.Write, dirWrite, landlock.RWFiles),
		add(s.Devices, deviceDirs, devices),
		add(s.List, func(p ...string) landlock.FSRule { return landlock.PathAccess(ll.AccessFSReadDir, p...) }, landlock.ROFiles),
	); err != nil {
		return err
	}
	cfg := landlock.V11
	if s.Network {
		cfg.HandledAccessNet = 0
	}
	return cfg.BestEffort().Restrict(rules...)
}
