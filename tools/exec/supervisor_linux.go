package exec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Times of the supervisor.
const (
	// killPoll is the time between two looks at who is left.
	killPoll = 5 * time.Millisecond
	// killLimit is how long SIGKILL is repeated before a process counts as stuck
	// (it sleeps in the kernel).
	killLimit = 400 * time.Millisecond
	// maxNamed bounds how many processes a report names.
	maxNamed = 10
)

// supervisor watches one command.
type supervisor struct {
	spec   *spec
	status *json.Encoder

	main   int // process id of the command
	exited chan unix.WaitStatus
	gone   chan struct{} // closed when no descendant is left
	killed chan struct{} // closed when the killing has ended
	stuck  []string
}

// SupervisorMain is the first stage: it stays outside the confinement, adopts
// every descendant of the command and ends them all when told, when the pipe
// from Perch ends, or (unless the command is one of the background) when the
// command itself has ended.
func SupervisorMain([]string) int {
	// The parent-death signal of the second stage is tied to this thread.
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	for _, fd := range []int{controlFD, statusFD, outputFD, stdinFD} {
		unix.CloseOnExec(fd)
	}
	s := &supervisor{
		status: json.NewEncoder(os.NewFile(statusFD, "status")),
		exited: make(chan unix.WaitStatus, 1), gone: make(chan struct{}), killed: make(chan struct{}),
	}
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	var err error
	if s.spec, err = readSpec(control); err != nil {
		return s.fail(fmt.Errorf("read what to run: %w", err))
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return s.fail(fmt.Errorf("become the subreaper of the command: %w", err))
	}
	confinement, err := s.startSecond()
	if err != nil {
		return s.fail(err)
	}
	s.status.Encode(status{Started: confinement})
	told := make(chan struct{})
	go func() {
		defer close(told)
		control.ReadByte() // "K", or the end of the pipe
	}()
	go s.reap()
	s.watch(told)
	return 0
}

func (s *supervisor) fail(err error) int {
	s.status.Encode(status{Failed: err.Error()})
	return 1
}

// startSecond starts the second stage and waits until it has become the command.
func (s *supervisor) startSecond() (*Confinement, error) {
	specR, specW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reportR.Close()
	out := os.NewFile(outputFD, "output")
	var in *os.File
	if s.spec.Stdin {
		in = os.NewFile(stdinFD, "stdin")
	} else if in, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer self.Close()
	// By its descriptor the program is found also after it was replaced, and from
	// inside bubblewrap.
	prog, argv := fmt.Sprintf("/proc/self/fd/%d", selfFD), []string{"perch", confineArg}
	if s.spec.Bwrap != "" {
		argv = append(bwrapArgs(s.spec), prog, confineArg)
		prog = s.spec.Bwrap
	}
	p, err := os.StartProcess(prog, argv, &os.ProcAttr{
		Files: []*os.File{in, out, out, specR, reportW, self}, Env: s.spec.Env, Dir: "/",
		Sys: &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	specR.Close()
	reportW.Close()
	in.Close()
	out.Close()
	if err != nil {
		specW.Close()
		return nil, fmt.Errorf("start the command's second stage: %w", err)
	}
	s.main = p.Pid
	p.Release()
	go func() {
		json.NewEncoder(specW).Encode(s.spec)
		specW.Close()
	}()
	d := json.NewDecoder(reportR)
	var word status
	if err := d.Decode(&word); err != nil {
		unix.Kill(s.main, unix.SIGKILL)
		return nil, errors.New("the second stage of the command ended before the command began")
	}
	// The pipe ends when the second stage becomes the command; before that there
	// can only be word of a failure. Bubblewrap keeps it open: then a failure is
	// told like a shell's, with exit code 126.
	if word.Failed == "" && s.spec.Bwrap == "" {
		d.Decode(&word)
	}
	if word.Failed != "" {
		return nil, errors.New(word.Failed)
	}
	return word.Started, nil
}

// reap collects every descendant that ends. As the subreaper is the parent of
// all that lost theirs, no child left means no descendant left.
func (s *supervisor) reap() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			close(s.gone)
			return
		case pid == s.main:
			s.exited <- ws
		}
	}
}

// watch waits for the end of everything and reports it.
func (s *supervisor) watch(told <-chan struct{}) {
	var end endReport
	select {
	case ws := <-s.exited:
		end = reportOf(ws)
		s.status.Encode(status{Exited: &end})
	case <-told:
		s.kill()
		select {
		case ws := <-s.exited:
			end = reportOf(ws)
		default:
			end = endReport{Code: -1, Signal: "SIGKILL", Stuck: s.stuck}
		}
		s.status.Encode(status{Gone: &end})
		return
	}
	if s.spec.Background {
		select {
		case <-s.gone:
		case <-told:
			s.kill()
		}
	} else {
		select {
		case <-s.gone:
		case <-told:
			s.kill()
		case <-time.After(leftGrace):
			end.Left = namesOf(descendants(os.Getpid()))
			s.kill()
		}
	}
	end.Stuck = s.stuck
	s.status.Encode(status{Gone: &end})
}

func reportOf(ws unix.WaitStatus) endReport {
	if ws.Signaled() {
		return endReport{Code: -1, Signal: unix.SignalName(ws.Signal())}
	}
	return endReport{Code: ws.ExitStatus()}
}

// kill ends every descendant: SIGTERM, a while to obey, then SIGKILL until none
// is left. Before SIGKILL they are stopped, so that none can fork on while the
// others are being ended.
func (s *supervisor) kill() {
	self := os.Getpid()
	for _, p := range descendants(self) {
		unix.Kill(p.pid, unix.SIGTERM)
		unix.Kill(p.pid, unix.SIGCONT)
	}
	if s.waitGone(killGrace) {
		return
	}
	for deadline := time.Now().Add(killLimit); time.Now().Before(deadline); {
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, p := range descendants(self) {
				unix.Kill(p.pid, sig)
			}
		}
		if s.waitGone(killPoll) {
			return
		}
	}
	if left := descendants(self); len(left) > 0 {
		s.stuck = namesOf(left)
	}
}

func (s *supervisor) waitGone(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.gone:
		return true
	case <-t.C:
		return false
	}
}

// proc is one line of the process table.
type proc struct {
	pid, parent int
	name        string
	state       byte
}

// descendants lists all living processes below root.
func descendants(root int) []proc {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	children := map[int][]proc{}
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if p, ok := parseStat(b); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var out []proc
	todo := []int{root}
	for len(todo) > 0 {
		for _, c := range children[todo[0]] {
			todo = append(todo, c.pid)
			if c.state != 'Z' && c.state != 'X' {
				out = append(out, c)
			}
		}
		todo = todo[1:]
	}
	return out
}

// parseStat reads /proc/PID/stat. The name stands in parentheses and may hold
// any character, so the last one ends it.
func parseStat(b []byte) (proc, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return proc{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	rest := strings.Fields(string(b[end+1:]))
	if err != nil || len(rest) < 2 {
		return proc{}, false
	}
	parent, err := strconv.Atoi(rest[1])
	return proc{pid: pid, parent: parent, name: string(b[open+1 : end]), state: rest[0][0]}, err == nil
}

func namesOf(ps []proc) []string {
	var out []string
	for i, p := range ps {
		if i == maxNamed {
			out = append(out, fmt.Sprintf("and %d more", len(ps)-i))
			break
		}
		out = append(out, p.name)
	}
	return slices.Clip(out)
}
