package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"perch/chat"
	"perch/config"
	"perch/tools/outside"
)

// state is what a server is doing.
type state uint8

const (
	starting state = iota
	ready
	failed
	needsSignIn
)

// server is one connector: its process or address, kept connected by one
// goroutine.
type server struct {
	m    *Manager
	name string
	cfg  config.Connector

	ctx    context.Context
	cancel context.CancelFunc
	// settled is closed when the first start has come to an end, good or bad.
	settled chan struct{}
	// waited says that a run has waited for settled already.
	waited atomic.Bool
	// gone is closed when the goroutine has ended and the process is dead.
	gone chan struct{}
	// retry asks for another start at once.
	retry chan struct{}
	// relist asks for the list of tools again.
	relist chan struct{}

	progress progressMap

	mu      sync.Mutex // protects what follows
	state   state
	session *sdk.ClientSession
	// changed is closed and replaced whenever state or session change.
	changed chan struct{}
	problem string
	tools   []chat.Tool
	// legacy asks for the handshake of older protocol versions: some old servers
	// do not answer a method that they do not know.
	legacy bool
	// asked says that the server wanted its user to sign in.
	asked bool
}

func newServer(m *Manager, name string, cfg config.Connector) *server {
	s := &server{
		m: m, name: name, cfg: cfg,
		settled: make(chan struct{}), gone: make(chan struct{}), changed: make(chan struct{}),
		retry: make(chan struct{}, 1), relist: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// start begins to keep the server connected, in the background.
func (s *server) start() {
	go func() {
		defer close(s.gone)
		var once sync.Once
		settle := func() { once.Do(func() { close(s.settled) }) }
		defer settle()
		defer func() {
			if p := recover(); p != nil {
				s.set(failed, nil, fmt.Sprintf("it crashed: %v", p))
				s.say("notice.connector.crashed", "had to be given up: %v", p)
			}
		}()
		s.keep(settle)
	}()
}

func (s *server) stop() { s.cancel() }

// say sends a notice about this server. Its first argument in the catalogues is
// the server's name.
func (s *server) say(id, format string, args ...any) {
	n := &chat.Notice{ID: id, Args: []string{s.name}, Text: "The connector " + s.name + " " + fmt.Sprintf(format, args...)}
	for _, a := range args {
		n.Args = append(n.Args, fmt.Sprint(a))
	}
	if s.m.notices != nil {
		s.m.notices(n)
		return
	}
	s.m.notice(n.Text)
}

// set changes the state and wakes who waits for it.
func (s *server) set(st state, session *sdk.ClientSession, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.session, s.problem = st, session, problem
	close(s.changed)
	s.changed = make(chan struct{})
}

// keep connects, waits for the loss, and connects again, until the server is
// stopped. A notice comes once an outage.
func (s *server) keep(settle func()) {
	if err := checkConfig(s.cfg); err != nil {
		s.set(failed, nil, err.Error())
		s.say("notice.connector.unusable", "cannot be used: %v. Mend [connectors.%s] in config.toml.", err, s.name)
		return
	}
	wait := s.m.restartMin
	told := false
	for s.ctx.Err() == nil {
		began := time.Now()
		c, err := s.connect()
		if err == nil {
			s.set(ready, c.session, "")
			settle()
			told = false
			lost := s.attend(c)
			s.set(starting, nil, lost)
			c.close()
			if s.ctx.Err() != nil {
				return
			}
			if time.Since(began) > steady {
				wait = s.m.restartMin
			}
			s.say("notice.connector.lost", "was lost (%s) and is being started again.", lost)
			told = true
		} else {
			if s.ctx.Err() != nil {
				return
			}
			st := failed
			if errors.Is(err, errSignIn) {
				st = needsSignIn
			}
			s.set(st, nil, err.Error())
			if !told || st == needsSignIn {
				s.say("notice.connector.unavailable", "is not available: %v", err)
				told = true
			}
			settle()
			if st == needsSignIn {
				if !s.pause(0) {
					return
				}
				s.set(starting, nil, "")
				continue
			}
		}
		if !s.pause(wait) {
			return
		}
		wait = min(2*wait, restartMax)
	}
}

// pause waits before the next start, or (d = 0) until it is asked for. It is
// false when the server is stopped.
func (s *server) pause(d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-after:
	case <-s.retry:
	case <-s.ctx.Done():
	}
	return s.ctx.Err() == nil
}

// attend watches a connected server and returns why it was lost.
func (s *server) attend(c *connection) string {
	ended := make(chan error, 1)
	go func() { ended <- c.session.Wait() }()
	for {
		select {
		case err := <-ended:
			s.set(starting, nil, "") // before anybody calls a dead session
			return s.lost(c, err)
		case <-c.died():
			s.set(starting, nil, "")
			return s.lost(c, nil)
		case <-s.relist:
			ctx, cancel := context.WithTimeout(s.ctx, s.m.startTimeout)
			err := s.list(ctx, c.session)
			cancel()
			if err != nil && s.ctx.Err() == nil {
				s.say("notice.connector.list", "changed its tools, but does not list them: %v", err)
			}
		case <-s.ctx.Done():
			return "stopped"
		}
	}
}

// lost says why a server is gone, with its last words.
func (s *server) lost(c *connection, err error) string {
	why := "it closed the connection"
	if err != nil && !errors.Is(err, sdk.ErrConnectionClosed) {
		why = shorten(err.Error())
	}
	if c.proc != nil {
		// A dying process closes its output a moment before it is dead.
		t := time.NewTimer(stopGrace)
		defer t.Stop()
		select {
		case <-c.proc.ended:
			why = c.ending()
		case <-t.C:
		}
	}
	return why
}

// errorWords bounds what is repeated of a server's own words, in runes.
const errorWords = 300

func shorten(s string) string {
	r := []rune(strings.Join(strings.Fields(outside.Clean(s)), " "))
	if len(r) > errorWords {
		r = append(r[:errorWords:errorWords], '…')
	}
	return string(r)
}

// giveUp takes a session that is known to be dead out of use, before the
// goroutine that watches it has seen so.
func (s *server) giveUp(session *sdk.ClientSession) {
	s.mu.Lock()
	mine := s.session == session && s.state == ready
	s.mu.Unlock()
	if mine {
		s.set(starting, nil, "")
		go func() { _ = session.Close() }() // wakes the watcher, should it not know yet
	}
}

// client is a client whose handlers belong to this server.
func (s *server) client() *sdk.Client {
	ask := func(c chan struct{}) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return sdk.NewClient(&sdk.Implementation{Name: "perch", Version: s.m.version}, &sdk.ClientOptions{
		// No roots, sampling or elicitation: a server gets nothing of the user's that
		// was not in a call.
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { ask(s.relist) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.progress.report(r.Params)
		},
	})
}

// current returns the session, waiting a little for one that is just starting.
func (s *server) current(ctx context.Context) (*sdk.ClientSession, error) {
	wait := time.NewTimer(startWait)
	defer wait.Stop()
	select {
	case s.retry <- struct{}{}: // a call is reason enough not to wait out a pause
	default:
	}
	for {
		s.mu.Lock()
		st, session, problem, changed := s.state, s.session, s.problem, s.changed
		s.mu.Unlock()
		if st == ready {
			select {
			case <-s.retry:
			default:
			}
			return session, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, fmt.Errorf("the connector %s was switched off", s.name)
		case <-wait.C:
			if problem == "" {
				problem = "it is still being started"
			}
			return nil, fmt.Errorf("the connector %s is not available: %s", s.name, problem)
		}
	}
}

// startWait is how long a call waits for a server that is being started again.
const startWait = 5 * time.Second

// currentTools are the tools to offer: also those of a server that is just being
// started again, and none of one that does not start any more.
func (s *server) currentTools() []chat.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == failed || s.state == needsSignIn {
		return nil
	}
	return s.tools
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[state]string{starting: "starting", ready: "ready", failed: "failed", needsSignIn: "sign_in"}
	return Status{Name: s.name, State: names[s.state], Tools: len(s.tools), Problem: s.problem}
}
