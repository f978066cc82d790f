package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/control"
)

// fakeOwner is a running Perch whose runs are scripts.
type fakeOwner struct {
	// script makes the events of a run; wait blocks until the run is stopped.
	script func(a control.Ask, emit func(chat.Event), wait func())
	// before answers an ask before any run begins.
	before func(a control.Ask) (control.AskReply, error)

	mu       sync.Mutex // protects the rest
	sessions []control.SessionInfo
	deleted  []string
	asks     []control.Ask
	answers  []control.Answer
	stops    int
	run      string
	stop     chan struct{}
	watchers map[chan control.Frame]bool
	answered chan struct{}
	imported []string
	memory   control.MemoryView
	keys     map[string]string
	fronts   []control.FrontCommand
	quit     func()
}

func newFakeOwner() *fakeOwner {
	return &fakeOwner{
		watchers: map[chan control.Frame]bool{}, answered: make(chan struct{}, 8), keys: map[string]string{}, quit: func() {},
		script: func(a control.Ask, emit func(chat.Event), _ func()) {
			emit(&chat.TextDelta{Text: "You said: " + a.Text})
			emit(&chat.Done{Result: chat.Result{Session: "s1", StopReason: chat.StopEnd, Model: "fake/m"}})
		},
	}
}

func (f *fakeOwner) services() control.Services {
	return control.Services{Sessions: f, Runs: f, Models: f, Knowledge: f, Memory: fakeMemory{f}, Auth: f, Front: f, Owner: f}
}

func (f *fakeOwner) ListSessions(_ context.Context, q control.SessionQuery) ([]control.SessionInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []control.SessionInfo
	for _, s := range f.sessions {
		if strings.Contains(s.Title, q.Search) {
			out = append(out, s)
		}
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

func (f *fakeOwner) CreateSession(_ context.Context, n control.NewSession) (control.SessionInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := control.SessionInfo{ID: fmt.Sprintf("s%d", len(f.sessions)+1), Dir: n.Dir, Used: time.Now()}
	f.sessions = append([]control.SessionInfo{s}, f.sessions...)
	return s, nil
}

func (f *fakeOwner) find(id string) (*control.SessionInfo, error) {
	for i := range f.sessions {
		if f.sessions[i].ID == id {
			return &f.sessions[i], nil
		}
	}
	return nil, chat.NewError(chat.ClassMisuse, "err.session_not_found", "There is no session %s.", id)
}

func (f *fakeOwner) ViewSession(_ context.Context, id string) (control.SessionView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(id)
	if err != nil {
		return control.SessionView{}, err
	}
	return control.SessionView{SessionInfo: *s, History: []chat.Message{
		{ID: "m1", Role: chat.RoleUser, Parts: []chat.Part{chat.Text("hello\x1b[31m")}},
		{ID: "m2", Role: chat.RoleAssistant, Interrupted: true, Parts: []chat.Part{chat.Text("hi"), {Type: chat.PartCall, Call: &chat.ToolCall{ID: "c", Name: "read_file", Input: `{"path":"a.txt"}`}}}},
		{ID: "m3", Role: chat.RoleTool, Result: &chat.ToolResult{CallID: "c", Name: "read_file", Text: "body\nmore"}},
	}}, nil
}

func (f *fakeOwner) PatchSession(_ context.Context, id string, p control.SessionPatch) (control.SessionInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.find(id)
	if err != nil {
		return control.SessionInfo{}, err
	}
	if p.Title != nil {
		s.Title = *p.Title
	}
	if p.Dir != nil {
		s.Dir = *p.Dir
	}
	s.Run = f.run
	return *s, nil
}

func (f *fakeOwner) DeleteSession(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.find(id); err != nil {
		return err
	}
	f.deleted = append(f.deleted, id)
	return nil
}

func (f *fakeOwner) RestoreSession(context.Context, string) error { return nil }
func (f *fakeOwner) ClearSession(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.find(id)
	return err
}
func (f *fakeOwner) ForkSession(_ context.Context, id, message string) (control.SessionInfo, error) {
	return control.SessionInfo{ID: id + "-" + message}, nil
}
func (f *fakeOwner) TruncateSession(context.Context, string, string) error  { return nil }
func (f *fakeOwner) PinMessage(context.Context, string, string, bool) error { return nil }
func (f *fakeOwner) ExportSession(_ context.Context, id string, write func([]byte) error) error {
	return errors.Join(write([]byte(`{"perch":"session"}`)), write([]byte(`{"message":{}}`)))
}
func (f *fakeOwner) ImportSession(_ context.Context, next func() ([]byte, error)) (control.SessionInfo, error) {
	for {
		line, err := next()
		if errors.Is(err, io.EOF) {
			return control.SessionInfo{ID: "new"}, nil
		}
		if err != nil {
			return control.SessionInfo{}, err
		}
		f.imported = append(f.imported, string(line))
	}
}
func (f *fakeOwner) Image(context.Context, string) ([]byte, string, error) { return nil, "", nil }

func (f *fakeOwner) Ask(_ context.Context, session string, a control.Ask) (control.AskReply, error) {
	f.mu.Lock()
	f.asks = append(f.asks, a)
	f.mu.Unlock()
	if f.before != nil {
		if r, err := f.before(a); err != nil || r.NeedKey != "" {
			return r, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run != "" {
		return control.AskReply{Session: session, Run: f.run, Steered: true}, nil
	}
	run := fmt.Sprintf("r%d", len(f.asks))
	f.run, f.stop = run, make(chan struct{})
	stop := f.stop
	go func() {
		var seq int64
		f.script(a, func(e chat.Event) {
			seq++
			if d, ok := e.(*chat.Done); ok && d.Result.Session == "" {
				d.Result.Session = session
			}
			raw, _ := json.Marshal(chat.Stamp(e, run, seq))
			f.mu.Lock()
			if _, ok := e.(*chat.Done); ok {
				f.run = ""
			}
			f.mu.Unlock()
			f.send(control.Frame{Event: raw})
		}, func() { <-stop })
	}()
	return control.AskReply{Session: session, Run: run}, nil
}

func (f *fakeOwner) send(fr control.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		w <- fr
	}
}

func (f *fakeOwner) Stop(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stops++
	if f.stops == 1 {
		close(f.stop)
	}
	return nil
}

func (f *fakeOwner) Answer(_ context.Context, _ string, a control.Answer) error {
	f.mu.Lock()
	f.answers = append(f.answers, a)
	f.mu.Unlock()
	f.answered <- struct{}{}
	return nil
}

func (f *fakeOwner) Watch(ctx context.Context, session string, send func(control.Frame) error) error {
	f.mu.Lock()
	if _, err := f.find(session); err != nil {
		f.mu.Unlock()
		return err
	}
	w := make(chan control.Frame, 1000)
	f.watchers[w] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, w)
		f.mu.Unlock()
	}()
	if err := send(control.Frame{Snapshot: &control.Snapshot{}}); err != nil {
		return err
	}
	for {
		select {
		case fr := <-w:
			if err := send(fr); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
func (f *fakeOwner) Compact(context.Context, string) error            { return nil }
func (f *fakeOwner) UndoCompaction(context.Context, string) error     { return nil }
func (f *fakeOwner) Revert(context.Context, string) ([]string, error) { return nil, nil }
func (f *fakeOwner) Unqueue(context.Context, string) (string, error)  { return "", nil }

func (f *fakeOwner) ListModels(context.Context) ([]control.Model, error) {
	return []control.Model{{ID: "a/ready", Ready: true, ContextWindow: 200_000, CostIn: 3, CostOut: 15}, {ID: "b/not"}}, nil
}
func (f *fakeOwner) CheckModel(_ context.Context, m string) (control.ModelCheck, error) {
	if m == "a/ready" {
		return control.ModelCheck{Model: m, OK: true}, nil
	}
	return control.ModelCheck{Model: m, Error: chat.NewError(chat.ClassAuth, "err.x", "No key.")}, nil
}
func (f *fakeOwner) Discover(context.Context) ([]control.Found, error) { return nil, nil }
func (f *fakeOwner) EstimateTokens(_ context.Context, model, text string) (int, error) {
	return len(model) + len(text), nil
}
func (f *fakeOwner) KBStatus(context.Context) (control.KBStatus, error) {
	return control.KBStatus{Folders: []control.KBFolder{{Path: "/n", Documents: 2, Chunks: 9}}, Documents: 2, Chunks: 9, Problems: []control.KBProblem{{Path: "/n/x", Reason: "binary"}}}, nil
}
func (f *fakeOwner) KBAdd(_ context.Context, paths []string, progress func(control.KBStatus)) (control.KBStatus, error) {
	progress(control.KBStatus{Done: 1, Total: 2, Working: paths[0]})
	return control.KBStatus{Documents: 2, Chunks: 9}, nil
}
func (f *fakeOwner) KBRemove(context.Context, string) error { return nil }
func (f *fakeOwner) KBSearch(_ context.Context, q string, k int) ([]chat.SearchHit, error) {
	if q == "nothing" {
		return nil, nil
	}
	return []chat.SearchHit{{Source: chat.Source{Title: "t", Path: "/n/a.md", StartLine: 3, EndLine: 5}, Snippet: "a\nb", Score: 0.75, Matched: []string{"keyword"}}}, nil
}
func (f *fakeOwner) AuthStatus(context.Context) ([]control.AuthStatus, error) {
	return []control.AuthStatus{{Provider: "a", Kind: "key", Place: "keyring"}, {Provider: "b"}}, nil
}
func (f *fakeOwner) SetKey(_ context.Context, p, k string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys[p] = k
	return "file", nil
}
func (f *fakeOwner) Login(_ context.Context, p string, device bool, step func(control.LoginStep) error) error {
	if p == "nokeys" {
		return chat.NewError(chat.ClassMisuse, "err.no_oauth", "%s has no sign-in.", p)
	}
	return errors.Join(step(control.LoginStep{URL: "http://x", Code: "ABC"}), step(control.LoginStep{Done: true}))
}
func (f *fakeOwner) Logout(context.Context, string) error { return nil }

func (f *fakeOwner) Command(_ context.Context, _ control.DesktopEnv, c control.FrontCommand) (control.FrontAck, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fronts = append(f.fronts, c)
	return control.FrontAck{Visible: true}, nil
}
func (f *fakeOwner) Attach(context.Context, string, int, func(control.FrontCommand) error) error {
	return nil
}
func (f *fakeOwner) Ack(context.Context, string, control.FrontAck) error { return nil }

func (f *fakeOwner) BecomeTray(context.Context, control.DesktopEnv) error { return nil }
func (f *fakeOwner) State(context.Context) (control.State, error)         { return control.State{}, nil }
func (f *fakeOwner) WatchState(context.Context, func(control.State) error) error {
	return nil
}
func (f *fakeOwner) Doctor(context.Context) ([]control.Check, error) {
	return []control.Check{{Name: "store", OK: true, Detail: "fine"}, {Name: "provider", Warn: true, Detail: "api_key=sk-verysecretvalue"}}, nil
}
func (f *fakeOwner) Stats(context.Context) (control.Stats, error) {
	return control.Stats{Runs: 7, Failed: 2, ToolCalls: map[string]int{"read_file": 4}, ToolFailures: []chat.ToolFailures{{Tool: "run_command", Kind: chat.FailTimeout, Count: 1}}, Models: map[string]control.ModelStat{"a/b": {Runs: 7}}}, nil
}
func (f *fakeOwner) Quit(context.Context) error { f.quit(); return nil }

// fakeMemory is the memory, apart from the type whose method has its name.
type fakeMemory struct{ f *fakeOwner }

func (m fakeMemory) Memory(context.Context) (control.MemoryView, error) { return m.f.memory, nil }
func (m fakeMemory) MemoryAdd(_ context.Context, part, text string) error {
	if strings.Contains(text, "ignore all") {
		return chat.NewError(chat.ClassMisuse, "err.memory_scan", "This looks like an instruction to the model.")
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.keys[part] = text
	return nil
}
func (m fakeMemory) MemoryRemove(context.Context, string) error { return nil }
func (m fakeMemory) MemoryReplace(_ context.Context, part string, entries []string) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.keys[part] = strings.Join(entries, "|")
	return nil
}

// rig is a folder with a fake owner that is started on demand.
type rig struct {
	t      *testing.T
	f      *fakeOwner
	paths  config.Paths
	env    map[string]string
	starts int
	tray   func() int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	return &rig{t: t, f: newFakeOwner(), paths: config.PathsIn(dir), env: map[string]string{"LANG": "en_US.UTF-8", "PATH": os.Getenv("PATH"), "HOME": dir}}
}

func (r *rig) start() error {
	r.starts++
	lock, err := control.AcquireOwner(r.paths)
	if err != nil {
		return err
	}
	v := r.f.services()
	s, err := control.NewServer(control.Options{Paths: r.paths, Version: control.Version{Version: "1.0"}, Services: v})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	var once sync.Once
	end := func() {
		once.Do(func() {
			s.Close()
			<-done
			lock.Release()
		})
	}
	r.f.quit = func() { go end() }
	r.t.Cleanup(end)
	return nil
}

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// run runs a command with what is piped in.
func (r *rig) run(stdin string, args ...string) result {
	r.t.Helper()
	return r.with(strings.NewReader(stdin), args...)
}

func (r *rig) with(stdin io.Reader, args ...string) result {
	r.t.Helper()
	var out, errs bytes.Buffer
	var environ []string
	for k, v := range r.env {
		environ = append(environ, k+"="+v)
	}
	code := Run(context.Background(), args, Env{
		Paths: r.paths, Version: control.Version{Version: "1.0", Commit: "abc"}, Stdin: stdin, Stdout: &out, Stderr: &errs,
		StartOwner: r.start, StartTray: func(context.Context) int { return r.tray() },
		Getenv: func(k string) string { return r.env[k] }, Environ: environ,
	})
	return result{code, out.String(), errs.String()}
}

// expect checks the exit code and that both outputs hold certain texts.
func (r *rig) expect(got result, code int, out, err string) {
	r.t.Helper()
	if got.code != code || !strings.Contains(got.out, out) || !strings.Contains(got.err, err) {
		r.t.Fatalf("exit code %d, want %d\nstdout: %s\nwant: %s\nstderr: %s\nwant: %s", got.code, code, got.out, out, got.err, err)
	}
}
