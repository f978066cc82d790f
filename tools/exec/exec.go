package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/tools/places"
)

// Times of a command's end.
const (
	// DefaultTimeout is how long a command may take without another setting.
	DefaultTimeout = 2 * time.Minute
	// MaxTimeout bounds what a call may ask for; what takes longer belongs in the
	// background.
	MaxTimeout = time.Hour
	// killGrace is the time between SIGTERM and SIGKILL: enough to remove a lock
	// file, short enough for an abort within a second.
	killGrace = 500 * time.Millisecond
	// leftGrace is how long descendants may finish by themselves after the
	// command has ended, before they count as left behind: the last stage of a
	// pipeline may be a moment slower than the shell.
	leftGrace = 100 * time.Millisecond
	// drainDelay is how long the output is read after all processes are gone. A
	// process that is none of the command's may still hold the pipe.
	drainDelay = 300 * time.Millisecond
	// giveUp is when Perch stops waiting for the supervisor after it asked for
	// the kill: a process in uninterruptible sleep cannot be killed.
	giveUp = 1200 * time.Millisecond
)

// Config is what an [Executor] works with.
type Config struct {
	// Self is the program that is started again as supervisor; its main must call
	// [Main]. Empty is the running program.
	Self string
	// Sandbox returns the current settings; nil is the defaults.
	Sandbox func() config.Sandbox
	// Places knows the secret places; nil is those of the user's home.
	Places *places.Places
	// Scrub hides secrets in a text, at most [scrubOverlap] bytes long each; nil
	// hides nothing.
	Scrub func(string) string

	// kernel pretends another Landlock version, for tests; nil asks the kernel.
	kernel *int
	// bwrap is the bubblewrap program, for tests; nil looks for it.
	bwrap *string
}

// Executor runs commands. It is safe for several runs at once.
type Executor struct {
	c Config

	mu   sync.Mutex // protects jobs
	jobs map[string]*Job
	next int

	settle time.Duration // see settleTime
}

// New returns an executor.
func New(c Config) *Executor {
	if c.Sandbox == nil {
		c.Sandbox = func() config.Sandbox { return config.Default().Sandbox }
	}
	if c.Places == nil {
		home, _ := os.UserHomeDir()
		var own []string
		if p, err := config.DefaultPaths(); err == nil {
			own = []string{p.Data, filepath.Dir(p.ConfigFile), p.Runtime}
		}
		c.Places = places.New(home, own...)
	}
	if c.Scrub == nil {
		c.Scrub = func(s string) string { return s }
	}
	return &Executor{c: c, jobs: map[string]*Job{}, settle: settleTime}
}

// Command is what to run.
type Command struct {
	Session string
	// Shell is a command line for the shell; Argv is a program with arguments.
	// Exactly one is set.
	Shell string
	Argv  []string
	// Dir is the working folder; it is made if it does not exist.
	Dir string
	// Env is the environment to choose from: only allowlisted names and those of
	// the setting sandbox.env reach the child.
	Env []string
	// Set are variables that reach the child whatever their names.
	Set []string
	// Stdin is what the command reads; nil is nothing.
	Stdin []byte
	// Timeout of 0 is the setting.
	Timeout time.Duration
	// Read and Write are paths that the user granted beside the working folder.
	Read, Write []string
	// Network says that the user granted the network.
	Network bool
	// SpoolDir is where output goes that does not fit.
	SpoolDir string
	// Progress is told the newest line of output now and then; may be nil.
	Progress func(string)
}

// Result is what came of a command.
type Result struct {
	ExitCode int    // -1 when it was ended by a signal
	Signal   string // "SIGKILL"…, empty when it ended by itself
	TimedOut bool
	Aborted  bool
	Duration time.Duration
	// Output is stdout and stderr as they came, head and tail where it is long.
	Output string
	// Bytes counts all output; Spool is the file with the whole, if it was long.
	Bytes int64
	Spool string
	// Binary says that the output was no text; Output is empty then.
	Binary bool
	// Left names the processes that outlived the command and were ended.
	Left []string
	// Stuck names processes that could not be ended.
	Stuck       []string
	Confinement Confinement
}

// Confinement says how a child was confined.
type Confinement struct {
	// Active says that files outside the granted ones are closed to the child.
	Active bool `json:"active"`
	// Why says why it is not active, or what this kernel cannot close.
	Why string `json:"why,omitempty"`
	// ABI is the kernel's Landlock version.
	ABI int `json:"abi,omitempty"`
	// NoNetwork says that the child has no internet sockets.
	NoNetwork bool `json:"no_network,omitempty"`
	// NoBus says that the sockets of the desktop (session bus, display, agents)
	// are out of the child's sight.
	NoBus bool `json:"no_bus,omitempty"`
}

// String is a line for the model and the user.
func (c Confinement) String() string {
	if !c.Active {
		return "not confined: " + c.Why
	}
	s := "confined to the working folder, network allowed"
	if c.NoNetwork {
		s = "confined to the working folder, no network"
	}
	if c.NoBus {
		s += ", no desktop sockets"
	}
	return s
}

// Run runs a command to its end. Its error is a command that could not be
// started; one that fails, is aborted or times out has a result.
func (e *Executor) Run(ctx context.Context, c Command) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	timeout := e.timeout(c.Timeout)
	start := time.Now()
	col := newCollector(c.SpoolDir, e.c.Scrub)
	defer col.close()
	p, drained, err := e.start(ctx, c, col, false)
	if err != nil {
		return nil, err
	}
	res := &Result{Confinement: p.confinement}
	stopProgress := reportProgress(c.Progress, col)
	defer stopProgress()

	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-p.done:
	case <-ctx.Done():
		res.Aborted = true
	case <-t.C:
		res.TimedOut = true
	}
	if res.Aborted || res.TimedOut {
		p.kill()
		g := time.NewTimer(giveUp)
		defer g.Stop()
		select {
		case <-p.done:
		case <-g.C:
			p.abandon()
			res.Stuck = append(res.Stuck, "the command")
		}
	}
	d := time.NewTimer(drainDelay)
	defer d.Stop()
	select {
	case <-drained:
	case <-d.C:
		p.out.Close() // ends the reader
		<-drained
	}
	end := p.end()
	res.ExitCode, res.Signal = end.Code, end.Signal
	res.Left, res.Stuck = end.Left, append(res.Stuck, end.Stuck...)
	res.Duration = time.Since(start)
	if res.TimedOut || res.Aborted {
		res.Left = nil // they were meant to end
	}
	return res, col.result(res)
}

func (e *Executor) timeout(asked time.Duration) time.Duration {
	if asked <= 0 {
		asked = time.Duration(e.c.Sandbox().TimeoutSeconds) * time.Second
	}
	if asked <= 0 {
		asked = DefaultTimeout
	}
	return min(asked, MaxTimeout)
}

// start prepares and starts a command whose output goes to col. drained is
// closed when the output has ended.
func (e *Executor) start(ctx context.Context, c Command, col *collector, background bool) (p *process, drained chan struct{}, err error) {
	s, err := e.spec(c)
	if err != nil {
		return nil, nil, err
	}
	s.Background = background
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe for the output: %w", err)
	}
	p, err = launch(ctx, e.c.Self, s, c.Stdin, r, w)
	w.Close()
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	drained = make(chan struct{})
	go func() {
		defer close(drained)
		defer r.Close()
		col.readFrom(r)
	}()
	return p, drained, nil
}

// spec turns a command into what the second stage needs.
func (e *Executor) spec(c Command) (*spec, error) {
	if (c.Shell == "") == (len(c.Argv) == 0) {
		return nil, errors.New("a command is either a shell line or a program with arguments")
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, chat.NewError(chat.ClassInternal, "err.working_folder", "The working folder %s cannot be used: %v. Choose another one.", c.Dir, err).Wrap(err)
	}
	sb := e.c.Sandbox()
	s := &spec{Argv: c.Argv, Dir: c.Dir}
	s.Env = append(childEnviron(c.Env, sb.Env), c.Set...)
	if c.Shell != "" {
		s.Argv = shellArgv(c.Shell, s.Env)
	}
	if !sb.Off {
		s.Confine = true
		s.Network = c.Network
		s.Kernel = e.c.kernel
		e.allow(s, c, sb)
	}
	return s, nil
}

// process is a started command.
type process struct {
	confinement Confinement
	out         *os.File      // read end of its output
	done        chan struct{} // closed when the command and all its descendants are gone
	exited      chan struct{} // closed when the command itself has ended

	mu      sync.Mutex // protects what follows
	report  endReport
	killing func()
	forget  func()
}

// endReport says how a command ended.
type endReport struct {
	Code   int      `json:"code"`
	Signal string   `json:"signal,omitempty"`
	Left   []string `json:"left,omitempty"`
	Stuck  []string `json:"stuck,omitempty"`
}

func (p *process) kill() { p.killing() }

// abandon stops waiting for a command that cannot be ended.
func (p *process) abandon() { p.forget() }

func (p *process) end() endReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.report
}

func (p *process) setEnd(r endReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = r
}

// progressEvery is how often the newest line of output is reported.
const progressEvery = time.Second

// reportProgress tells the newest line of output until the returned function is
// called, which waits for the last word.
func reportProgress(tell func(string), col *collector) (stop func()) {
	if tell == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		last := ""
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				if line := col.lastLine(); line != "" && line != last {
					last = line
					tell(line)
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// Settings are the current settings of the executor.
func (e *Executor) Settings() config.Sandbox { return e.c.Sandbox() }

// Unconfined says why a command would not be confined now; "" when it would.
func (e *Executor) Unconfined() string {
	switch {
	case e.c.Sandbox().Off:
		return "the setting sandbox.off is on"
	case e.c.kernel != nil && *e.c.kernel == 0, e.c.kernel == nil && landlockVersion() == 0:
		return noLandlock
	}
	return ""
}

// WithoutLandlock returns a configuration that behaves as on a kernel without
// Landlock, so that what depends on it can be tested.
func WithoutLandlock(c Config) Config {
	none := 0
	c.kernel = &none
	return c
}
