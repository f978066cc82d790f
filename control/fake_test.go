package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"perch/chat"
)

// fake is every service. It answers with what it was given, so that a test sees
// both directions of the wire.
type fake struct {
	mu   sync.Mutex // protects got
	got  []any
	fail error

	watching chan struct{} // one value for each watch that began
	blocked  chan struct{} // one value when a watcher's send failed
	ended    chan struct{} // one value for each watch that ended
}

func newFake() *fake {
	return &fake{watching: make(chan struct{}, 8), blocked: make(chan struct{}, 8), ended: make(chan struct{}, 8)}
}

func (f *fake) services() Services { return Services{f, f, f, f, f, f, f, f, f, f, f} }

func (f *fake) record(args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = args
	return f.fail
}

func (f *fake) last() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got
}

var (
	fakeInfo  = SessionInfo{ID: "s1", Title: "T „x“", Created: time.Unix(5, 6).UTC(), Used: time.Unix(7, 0).UTC(), Messages: 3, Activity: Running, Run: "r"}
	fakeView  = SessionView{SessionInfo: fakeInfo, History: []chat.Message{chat.UserText("hi\n")}, Marks: []CompactionMark{{ID: "k", Time: time.Unix(1, 0).UTC()}}, Pending: []string{"p"}, Context: Context{Window: 10, Prompt: 1}}
	fakeModel = Model{ID: "a/b", ContextWindow: 5, CostIn: 0.5}
	fakeCheck = ModelCheck{Model: "a/b", Error: chat.NewError(chat.ClassAuth, "err.key", "No key for %s.", "a")}
	fakeKB    = KBStatus{Folders: []KBFolder{{Path: "/n", Documents: 2}}, Documents: 2, Problems: []KBProblem{{"/n/x", "binary"}}}
	fakeHits  = []chat.SearchHit{{Source: chat.Source{Title: "t", Path: "/n"}, Snippet: "s", Score: 0.5, Matched: []string{"keyword"}}}
	fakeMem   = MemoryView{Profile: MemoryPart{Entries: []MemoryEntry{{Text: "x", Masked: "why"}}, Used: 1, Limit: 3000}}
	fakeAuth  = []AuthStatus{{Provider: "a", Kind: "key", Place: "keyring", Expires: time.Unix(9, 0).UTC()}}
	fakeRules = []Rule{{ID: "1", Tool: "t", Kind: chat.NeedWrite, Subject: "/x", Created: time.Unix(3, 0).UTC()}}
	fakeClip  = Clip{Text: "t", PNG: []byte{0, 1, 255}}
	fakeAck   = FrontAck{ID: 7, Visible: true, Session: "s1", OwnsSelection: true}
	fakeState = State{Activity: Waiting, Recent: []SessionInfo{fakeInfo}, Hotkey: HotkeyState{Combo: "f1", Problem: "taken"}, Model: "m"}
	fakeStats = Stats{Runs: 3, Usage: chat.Usage{Input: 5, Cost: 0.1}, ToolFailures: []chat.ToolFailures{{Tool: "t", Kind: chat.FailPanic, Count: 2}}, Timings: chat.Timings{Provider: 3 * time.Second}, Models: map[string]ModelStat{"m": {Runs: 1}}}
)

func (f *fake) ListSessions(_ context.Context, q SessionQuery) ([]SessionInfo, error) {
	return []SessionInfo{fakeInfo}, f.record(q)
}
func (f *fake) CreateSession(_ context.Context, n NewSession) (SessionInfo, error) {
	return fakeInfo, f.record(n)
}
func (f *fake) ViewSession(_ context.Context, id string) (SessionView, error) {
	return fakeView, f.record(id)
}
func (f *fake) PatchSession(_ context.Context, id string, p SessionPatch) (SessionInfo, error) {
	return fakeInfo, f.record(id, p)
}
func (f *fake) DeleteSession(_ context.Context, id string) error  { return f.record(id) }
func (f *fake) RestoreSession(_ context.Context, id string) error { return f.record(id) }
func (f *fake) ClearSession(_ context.Context, id string) error   { return f.record(id) }
func (f *fake) ForkSession(_ context.Context, id, m string) (SessionInfo, error) {
	return fakeInfo, f.record(id, m)
}
func (f *fake) TruncateSession(_ context.Context, id, m string) error { return f.record(id, m) }
func (f *fake) PinMessage(_ context.Context, id, m string, on bool) error {
	return f.record(id, m, on)
}
func (f *fake) ExportSession(_ context.Context, id string, write func([]byte) error) error {
	for _, l := range []string{`{"perch":"session"}`, `{"message":"äöü\n"}`} {
		if err := write([]byte(l)); err != nil {
			return err
		}
	}
	return f.record(id)
}
func (f *fake) ImportSession(_ context.Context, next func() ([]byte, error)) (SessionInfo, error) {
	var all []any
	for {
		line, err := next()
		if errors.Is(err, io.EOF) {
			return fakeInfo, f.record(all...)
		}
		if err != nil {
			return SessionInfo{}, err
		}
		all = append(all, string(line))
	}
}
func (f *fake) Image(_ context.Context, hash string) ([]byte, string, error) {
	return []byte{0, 255, 10}, "image/png", f.record(hash)
}
func (f *fake) Ask(_ context.Context, s string, a Ask) (AskReply, error) {
	return AskReply{Session: s, Run: "r1", NeedKey: "K"}, f.record(s, a)
}
func (f *fake) Stop(_ context.Context, run string) error { return f.record(run) }
func (f *fake) Answer(_ context.Context, run string, a Answer) error {
	return f.record(run, a)
}

// Watch sends frames until the watcher goes; session "big" sends large ones.
func (f *fake) Watch(ctx context.Context, session string, send func(Frame) error) error {
	if err := f.record(session); err != nil {
		return err
	}
	defer func() { f.ended <- struct{}{} }()
	if err := send(Frame{Snapshot: &Snapshot{View: fakeView, Live: &Live{Run: "r", Seq: 4, Text: "so far"}}}); err != nil {
		return err
	}
	f.watching <- struct{}{}
	switch session {
	case "big":
		text, _ := json.Marshal(string(make([]byte, 1<<20)))
		for {
			if err := send(Frame{Event: text}); err != nil {
				f.blocked <- struct{}{}
				return err
			}
		}
	case "short":
		return chat.NewError(chat.ClassStore, "err.x", "Späť 🙂 %s", "a")
	case "panic":
		panic("boom")
	}
	if err := send(Frame{Event: json.RawMessage(`{"type":"notice","run":"r","seq":5,"text":"x"}`)}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}
func (f *fake) Compact(_ context.Context, s string) error        { return f.record(s) }
func (f *fake) UndoCompaction(_ context.Context, s string) error { return f.record(s) }
func (f *fake) Revert(_ context.Context, run string) ([]string, error) {
	return []string{"/a"}, f.record(run)
}
func (f *fake) Unqueue(_ context.Context, s string) (string, error) { return "draft", f.record(s) }
func (f *fake) ListModels(context.Context) ([]Model, error)         { return []Model{fakeModel}, f.record() }
func (f *fake) CheckModel(_ context.Context, m string) (ModelCheck, error) {
	return fakeCheck, f.record(m)
}
func (f *fake) Discover(context.Context) ([]Found, error) {
	return []Found{{Kind: "key", Detail: "K"}}, f.record()
}
func (f *fake) EstimateTokens(_ context.Context, m, text string) (int, error) {
	return 42, f.record(m, text)
}
func (f *fake) Settings(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"model":"x"}`), f.record()
}
func (f *fake) Set(_ context.Context, key string, value any) error { return f.record(key, value) }
func (f *fake) KBStatus(context.Context) (KBStatus, error)         { return fakeKB, f.record() }
func (f *fake) KBAdd(_ context.Context, paths []string, progress func(KBStatus)) (KBStatus, error) {
	progress(KBStatus{Done: 1, Total: 2})
	return fakeKB, f.record(paths)
}
func (f *fake) KBRemove(_ context.Context, path string) error { return f.record(path) }
func (f *fake) KBSearch(_ context.Context, q string, k int) ([]chat.SearchHit, error) {
	return fakeHits, f.record(q, k)
}
func (f *fake) Memory(context.Context) (MemoryView, error)           { return fakeMem, f.record() }
func (f *fake) MemoryAdd(_ context.Context, part, text string) error { return f.record(part, text) }
func (f *fake) MemoryRemove(_ context.Context, text string) error    { return f.record(text) }
func (f *fake) MemoryReplace(_ context.Context, part string, e []string) error {
	return f.record(part, e)
}
func (f *fake) AuthStatus(context.Context) ([]AuthStatus, error) { return fakeAuth, f.record() }
func (f *fake) SetKey(_ context.Context, p, k string) (string, error) {
	return "keyring", f.record(p, k)
}
func (f *fake) Login(_ context.Context, p string, device bool, step func(LoginStep) error) error {
	if err := step(LoginStep{URL: "http://x", Code: "C"}); err != nil {
		return err
	}
	return f.record(p, device)
}
func (f *fake) Logout(_ context.Context, p string) error       { return f.record(p) }
func (f *fake) ListRules(context.Context) ([]Rule, error)      { return fakeRules, f.record() }
func (f *fake) RevokeRule(_ context.Context, id string) error  { return f.record(id) }
func (f *fake) ReadClipboard(context.Context) (Clip, error)    { return fakeClip, f.record() }
func (f *fake) ReadSelection(context.Context) (Clip, error)    { return fakeClip, f.record() }
func (f *fake) WriteClipboard(_ context.Context, c Clip) error { return f.record(c) }
func (f *fake) Screenshot(_ context.Context, s Shot) ([]byte, error) {
	return []byte("png"), f.record(s)
}
func (f *fake) PauseHotkey(_ context.Context, on bool) (HotkeyState, error) {
	return fakeState.Hotkey, f.record(on)
}
func (f *fake) Notify(_ context.Context, title, text, session string) error {
	return f.record(title, text, session)
}
func (f *fake) Command(_ context.Context, env DesktopEnv, c FrontCommand) (FrontAck, error) {
	return fakeAck, f.record(env, c)
}
func (f *fake) Attach(ctx context.Context, display string, pid int, send func(FrontCommand) error) error {
	if err := f.record(display, pid); err != nil {
		return err
	}
	return send(FrontCommand{ID: 3, What: "show", Session: "s1"})
}
func (f *fake) Ack(_ context.Context, display string, a FrontAck) error { return f.record(display, a) }
func (f *fake) BecomeTray(_ context.Context, env DesktopEnv) error      { return f.record(env) }
func (f *fake) State(context.Context) (State, error)                    { return fakeState, f.record() }
func (f *fake) WatchState(_ context.Context, send func(State) error) error {
	if err := send(fakeState); err != nil {
		return err
	}
	return f.record()
}
func (f *fake) Doctor(context.Context) ([]Check, error) {
	return []Check{{Name: "store", OK: true, Detail: "d"}}, f.record()
}
func (f *fake) Stats(context.Context) (Stats, error) { return fakeStats, f.record() }
func (f *fake) Quit(context.Context) error           { return f.record() }
