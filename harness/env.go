package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"perch/chat"
)

// progressBuffer is how many words of progress may wait for a slow consumer;
// further ones are dropped, the newest kept.
const progressBuffer = 16

// env is what a tool may use of its run. It is safe for a tool's own goroutines.
type env struct {
	x        *run
	dir      string
	spool    string
	progress chan string

	mu      sync.Mutex // protects everything below
	granted []chat.Need
	known   map[string]bool
	retired bool // the tool was given up; it may change nothing any more
}

func newEnv(x *run, spool string) *env {
	e := &env{x: x, spool: spool, progress: make(chan string, progressBuffer), known: map[string]bool{}}
	e.dir = ExpandDir(x.sess.Meta.Dir)
	if e.dir == "" {
		e.dir = ExpandDir(x.cfg.WorkingDir)
	}
	for i := range x.sess.Messages {
		if m := &x.sess.Messages[i]; m.Role == chat.RoleUser && m.Kind == chat.KindOrdinary {
			e.noteAddresses(m.PlainText())
		}
	}
	return e
}

// ExpandDir resolves a leading ~ and makes a path absolute.
func ExpandDir(p string) string {
	if p == "" {
		return ""
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			p = filepath.Join(home, p[1:])
		}
	}
	if abs, err := filepath.Abs(p); err == nil {
		return abs
	}
	return p
}

func (e *env) Session() string   { return e.x.req.Session }
func (e *env) Run() string       { return e.x.req.Run }
func (e *env) Dir() string       { return e.dir }
func (e *env) SpoolDir() string  { return e.spool }
func (e *env) Environ() []string { return slices.Clone(e.x.req.Environ) }

// Progress hands a word to the run. It never blocks: an old one makes room.
func (e *env) Progress(text string) {
	for {
		select {
		case e.progress <- text:
			return
		default:
		}
		select {
		case <-e.progress:
		default:
		}
	}
}

// beginCall forgets what the call before was granted.
func (e *env) beginCall(*chat.ToolCall) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.granted = nil
}

func (e *env) grant(needs []chat.Need) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.granted = append(e.granted, needs...)
}

func (e *env) retire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retired = true
}

// Granted reports whether this call was allowed a need of that kind and subject.
func (e *env) Granted(kind chat.NeedKind, subject string) bool {
	if kind == chat.NeedDesktop && slices.Contains(e.x.req.Grants.Attached, subject) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.granted, func(n chat.Need) bool { return n.Kind == kind && n.Subject == subject })
}

// Grants lists the subjects of a kind that this call was allowed, with those that
// the session was allowed before.
func (e *env) Grants(kind chat.NeedKind) []string {
	e.mu.Lock()
	var out []string
	for _, n := range e.granted {
		if n.Kind == kind {
			out = append(out, n.Subject)
		}
	}
	e.mu.Unlock()
	if e.x.o.Permissions != nil {
		for _, s := range e.x.o.Permissions.Granted(e.x.req.Session, "", kind) {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

func (e *env) BeforeWrite(path string) error {
	e.mu.Lock()
	retired := e.retired
	e.mu.Unlock()
	if retired || e.x.ctx.Err() != nil {
		return chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.")
	}
	if e.x.o.Snapshots == nil {
		return nil
	}
	return e.x.o.Snapshots.BeforeWrite(e.x.req.Run, path)
}

// Remember and Recall keep facts of the session in memory, for as long as the
// program runs: a file must be read again after a restart before it is edited.
func (e *env) Remember(key, value string) { e.x.facts.set(e.x.req.Session, key, value) }

func (e *env) Recall(key string) (string, bool) { return e.x.facts.get(e.x.req.Session, key) }

func (e *env) KnownAddress(url string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[normalAddress(url)]
}

func (e *env) AddAddress(url string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known[normalAddress(url)] = true
}

// noteAddresses remembers the addresses that the user wrote.
func (e *env) noteAddresses(text string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`<>"'()[]{}|`, r)
	}) {
		if strings.HasPrefix(w, "http://") || strings.HasPrefix(w, "https://") {
			e.AddAddress(strings.TrimRight(w, ".,;:!?"))
		}
	}
}

// normalAddress drops what does not change the page.
func normalAddress(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return strings.TrimSuffix(url, "/")
}

// facts are small things that tools remember per session.
type facts struct {
	mu sync.Mutex
	m  map[string]map[string]string
}

func (f *facts) set(session, key, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m == nil {
		f.m = map[string]map[string]string{}
	}
	if f.m[session] == nil {
		f.m[session] = map[string]string{}
	}
	f.m[session][key] = value
}

func (f *facts) get(session, key string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.m[session][key]
	return v, ok
}
