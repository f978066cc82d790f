// Package hub holds the runs at work and everybody who watches them. It fulfils
// the session and run services of the control socket.
//
// One goroutine per run ranges over the runner's stream; each watcher gets a
// snapshot and then the events after it, at its own pace. A watcher that closes
// its connection never ends a run, and a slow one never holds it up: it gets
// deltas merged. Permission, ToolEnd and Done are never dropped.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/harness"
	"perch/store"
)

// Reverter puts back the files that a run changed.
type Reverter interface {
	Revert(run string) ([]string, error)
}

// Options are what a hub works with. Store and Runner options are required.
type Options struct {
	Store  store.Store
	Runner harness.Options // Store, Approver, Appended and Ended are set by the hub
	Config func() config.Config
	Revert Reverter
	Log    *slog.Logger
	// CanAsk reports whether a popup can put a question to the user.
	CanAsk func() bool
	// NeedKey names the variable whose value the owner lacks for a model and the
	// client holds; "" for none. WithKeys puts keys of a client into a context.
	NeedKey  func(model string, holds []string) string
	WithKeys func(ctx context.Context, keys map[string]string) context.Context
	// Asked returns the desktop things that the user asks for with a message
	// itself, as by a slash command; nil is none.
	Asked func(text string) []string
	// Outcome is told of every run that ended and of every question, for
	// notifications.
	Outcome func(o Outcome)
	// SessionEnded is told when a session is deleted or the hub closes, so that
	// its background processes end.
	SessionEnded func(session string)
	// Model is the default model, resolved, for the state.
	Model func() string
	// Environ is the environment of tools where a client sends none.
	Environ func() []string
}

// Outcome is what a notification may tell.
type Outcome struct {
	Session  chat.SessionMeta
	Run      string
	Result   *chat.Result     // nil while the run goes on
	Question *chat.Permission // set when the run waits for an answer
	Took     time.Duration
}

// Hub holds the runs at work.
type Hub struct {
	o      Options
	store  *cachedStore
	runner *harness.Runner
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // protects everything below
	live     map[string]*live
	states   map[chan struct{}]struct{}
	problems []string
	closed   bool
}

// New returns a hub. Close ends its runs.
func New(o Options) *Hub {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Config == nil {
		o.Config = config.Default
	}
	h := &Hub{o: o, store: newCachedStore(o.Store), live: map[string]*live{}, states: map[chan struct{}]struct{}{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	ro := o.Runner
	ro.Store, ro.Approver, ro.Appended, ro.Ended = h.store, h, h.appended, h.ended
	if ro.Config == nil {
		ro.Config = o.Config
	}
	if ro.SpentToday == nil {
		ro.SpentToday = h.spentToday
	}
	ro.Panicked = func(v any, stack []byte) {
		o.Log.Error("a tool panicked", "value", fmt.Sprint(v), "stack", string(stack))
	}
	h.runner = harness.New(ro)
	return h
}

// Close stops every run, waits for them and leaves all sessions ready to go on.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.wg.Wait()
}

// Busy reports whether anything is at work: runs, questions, watchers.
func (h *Hub) Busy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.live {
		if l.run != "" || len(l.watchers) > 0 {
			return true
		}
	}
	return false
}

// Trim lets go of what is only kept for speed. Call it when nothing happens.
func (h *Hub) Trim() { h.store.trim() }

// session returns the live part of a session, made on demand. mu is held.
func (h *Hub) session(id string) *live {
	l := h.live[id]
	if l == nil {
		l = &live{id: id, watchers: map[*watcher]struct{}{}}
		h.live[id] = l
	}
	return l
}

// forget drops the live part of a session that nobody needs. mu is held.
func (h *Hub) forget(l *live) {
	if l.run == "" && len(l.watchers) == 0 {
		delete(h.live, l.id)
	}
}

// Ask starts a run, or steers the one at work on that session.
func (h *Hub) Ask(ctx context.Context, session string, a control.Ask) (control.AskReply, error) {
	if a.Text == "" && len(a.Images) == 0 && len(a.Files) == 0 {
		return control.AskReply{}, chat.NewError(chat.ClassMisuse, "err.empty_question", "The question is empty. Type something first.")
	}
	// A model that nobody knows must not stay with the session.
	if a.Model != "" {
		if _, _, err := h.o.Runner.Models.Resolve(ctx, a.Model); err != nil {
			return control.AskReply{}, chat.AsError(err)
		}
	}
	id, err := h.resolveSession(session, a)
	if err != nil {
		return control.AskReply{}, err
	}
	meta, err := h.store.Meta(id)
	if err != nil {
		return control.AskReply{}, sessionError(id, err)
	}
	model := a.Model
	if model == "" {
		model = meta.Model
	}
	if h.o.NeedKey != nil && len(a.Keys) == 0 {
		if need := h.o.NeedKey(model, a.Holds); need != "" {
			return control.AskReply{Session: id, NeedKey: need}, nil
		}
	}
	if a.Model != "" && a.Model != meta.Model {
		if _, err := h.store.UpdateMeta(id, func(m *chat.SessionMeta) { m.Model = a.Model }); err != nil {
			return control.AskReply{}, err
		}
	}
	if run, err := h.steer(id, a); err != nil || run != "" {
		return control.AskReply{Session: id, Run: run, Steered: run != ""}, err
	}
	run, err := h.start(id, a, false)
	return control.AskReply{Session: id, Run: run}, err
}

func (h *Hub) resolveSession(session string, a control.Ask) (string, error) {
	switch session {
	case "", "new":
		info, err := h.CreateSession(context.Background(), control.NewSession{Model: a.Model})
		return info.ID, err
	case "last":
		return h.lastSession()
	}
	return session, nil
}

// steer stores a message for the run at work; "" when there is none.
func (h *Hub) steer(id string, a control.Ask) (string, error) {
	h.mu.Lock()
	l := h.live[id]
	if l == nil || l.run == "" {
		h.mu.Unlock()
		return "", nil
	}
	run := l.run
	h.mu.Unlock()
	m, err := h.pendingMessage(a)
	if err != nil {
		return "", err
	}
	if _, err := h.store.UpdateMeta(id, func(s *chat.SessionMeta) { s.Pending = append(s.Pending, m) }); err != nil {
		return "", err
	}
	h.mu.Lock()
	again := l.run != run // it ended meanwhile
	h.mu.Unlock()
	if again {
		if _, err := h.start(id, control.Ask{Env: a.Env, Allow: a.Allow, Interactive: a.Interactive}, true); err != nil && !errors.Is(err, errRunning) {
			return "", err
		}
	}
	h.changed(id)
	return run, nil
}

func (h *Hub) pendingMessage(a control.Ask) (chat.Message, error) {
	m := chat.Message{ID: harness.NewID("m"), Role: chat.RoleUser, Time: time.Now(), Parts: []chat.Part{chat.Text(a.Text)}}
	for i := range a.Images {
		img := a.Images[i]
		hash, err := h.store.PutImage(img.Data)
		if err != nil {
			return m, err
		}
		img.Hash, img.Size, img.Data = hash, len(img.Data), nil
		m.Parts = append(m.Parts, chat.Part{Type: chat.PartImage, Image: &img})
	}
	return m, nil
}

var errRunning = errors.New("the session is running already")

// start begins a run on a goroutine of its own.
func (h *Hub) start(id string, a control.Ask, cont bool) (string, error) {
	run := harness.NewID("r")
	ctx, cancel := context.WithCancelCause(h.ctx)
	if h.o.WithKeys != nil && len(a.Keys) > 0 {
		ctx = h.o.WithKeys(ctx, a.Keys)
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		cancel(nil)
		return "", chat.NewError(chat.ClassMisuse, "err.closing", "Perch is ending. Start it again and ask then.")
	}
	l := h.session(id)
	if l.run != "" {
		h.mu.Unlock()
		cancel(nil)
		return "", errRunning
	}
	limit, n := h.o.Config().Limits.Concurrency, 0
	for _, other := range h.live {
		if other.run != "" {
			n++
		}
	}
	if limit > 0 && n >= limit {
		h.forget(l)
		h.mu.Unlock()
		cancel(nil)
		return "", chat.NewError(chat.ClassMisuse, "err.too_many_runs", "%d sessions are running already, the limit is %d. Wait for one to end, or stop one.", n, limit)
	}
	l.begin(run, cancel)
	h.mu.Unlock()

	req := harness.Request{
		Session: id, Run: run, Text: a.Text, Images: a.Images, Files: a.Files, Model: a.Model, Continue: cont,
		Environ: h.environ(a.Env),
		Grants: harness.Grants{
			Allow: a.Allow, Attached: h.attached(a),
			Interactive: a.Interactive || (h.o.CanAsk != nil && h.o.CanAsk()),
		},
	}
	done, err := h.record(&req, a.Record)
	if err != nil {
		h.mu.Lock()
		l.end()
		h.forget(l)
		h.mu.Unlock()
		cancel(nil)
		return "", err
	}
	h.wg.Add(1)
	go func() {
		defer h.wg.Done()
		defer cancel(nil)
		defer done()
		h.follow(ctx, l, req, a)
	}()
	h.stateChanged()
	return run, nil
}

// attached are the desktop things that the user attached or asked for.
func (h *Hub) attached(a control.Ask) []string {
	if h.o.Asked == nil {
		return a.Attached
	}
	return append(h.o.Asked(a.Text), a.Attached...)
}

// record opens the file that a run is recorded to.
func (h *Hub) record(req *harness.Request, path string) (done func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, chat.NewError(chat.ClassMisuse, "err.record", "The recording cannot be written: %v. Choose another file.", err).Wrap(err)
	}
	rec := harness.NewRecorder(f)
	req.Record = rec
	return func() {
		if err := errors.Join(rec.Flush(), f.Close()); err != nil {
			h.o.Log.Error("a recording was not written whole", "error", err.Error())
		}
	}, nil
}

func (h *Hub) environ(env map[string]string) []string {
	if env == nil && h.o.Environ != nil {
		return h.o.Environ()
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	return out
}

// follow ranges over one run and hands its events on. No panic ends the owner:
// it fails its run only.
func (h *Hub) follow(ctx context.Context, l *live, req harness.Request, a control.Ask) {
	started := time.Now()
	var result *chat.Result
	func() {
		defer func() {
			if p := recover(); p != nil {
				h.o.Log.Error("a run panicked", "run", req.Run, "value", fmt.Sprint(p))
				result = h.failRun(l, req, chat.NewError(chat.ClassInternal, "err.panic", "Something broke inside Perch: %v. The session is kept; ask again.", p))
			}
		}()
		for e, err := range h.runner.Stream(ctx, req) {
			if err != nil {
				result = h.failRun(l, req, chat.AsError(err))
				break
			}
			if d, ok := e.(*chat.Done); ok {
				result = &d.Result
				break
			}
			h.apply(l, e)
			if q, ok := e.(*chat.Permission); ok {
				h.outcome(l.id, Outcome{Run: req.Run, Question: q, Took: time.Since(started)})
			}
		}
	}()
	h.finish(l, req, a, result, time.Since(started))
}

// failRun makes the Done of a run that could not make its own.
func (h *Hub) failRun(l *live, req harness.Request, e *chat.Error) *chat.Result {
	return &chat.Result{Session: l.id, StopReason: chat.StopError, Error: e, ToolFailures: []chat.ToolFailures{}, Model: req.Model}
}

// finish ends a run: messages that came too late for it start the next one, or
// return to the entry as a draft when the user stopped it.
func (h *Hub) finish(l *live, req harness.Request, a control.Ask, res *chat.Result, took time.Duration) {
	if res == nil {
		res = h.failRun(l, req, chat.NewError(chat.ClassInternal, "err.no_outcome", "The run ended without an outcome. Ask again."))
	}
	outcome := "done"
	switch res.StopReason {
	case chat.StopError:
		outcome = "failed"
	case chat.StopAborted:
		outcome = ""
	}
	_, err := h.store.UpdateMeta(l.id, func(m *chat.SessionMeta) {
		m.Outcome = outcome
		if res.StopReason == chat.StopAborted && h.ctx.Err() == nil {
			m.Draft = joinDraft(m.Draft, m.Pending)
			m.Pending = nil
		}
	})
	if err != nil {
		h.o.Log.Error("the end of a run was not saved", "session", l.id, "error", err.Error())
	}
	h.mu.Lock()
	l.done(res)
	l.end()
	h.forget(l)
	h.mu.Unlock()
	h.outcome(l.id, Outcome{Run: req.Run, Result: res, Took: took})
	// Read again after the end: what steer stores later, it starts itself.
	meta, err := h.store.Meta(l.id)
	if err == nil && len(meta.Pending) > 0 && res.StopReason != chat.StopError && h.ctx.Err() == nil {
		if _, err := h.start(l.id, control.Ask{Env: a.Env, Allow: a.Allow, Interactive: a.Interactive, Keys: a.Keys}, true); err != nil && !errors.Is(err, errRunning) {
			h.o.Log.Warn("the pending message could not be sent", "session", l.id, "error", err.Error())
		}
	}
	h.changed(l.id)
	h.stateChanged()
}

func (h *Hub) outcome(session string, o Outcome) {
	if h.o.Outcome == nil {
		return
	}
	meta, err := h.store.Meta(session)
	if err != nil {
		return
	}
	o.Session = meta
	h.o.Outcome(o)
}

func joinDraft(draft string, pending []chat.Message) string {
	for i := range pending {
		if draft != "" {
			draft += "\n"
		}
		draft += pending[i].PlainText()
	}
	return draft
}

// Stop aborts a run. Stopping one that has ended is no error.
func (h *Hub) Stop(_ context.Context, run string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.live {
		if l.run == run {
			l.cancel(context.Canceled)
		}
	}
	return nil
}

// Answer answers the permission question of a call; the first answer counts.
func (h *Hub) Answer(_ context.Context, run string, a control.Answer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.live {
		if l.run != run || l.question == nil || l.question.perm.ID != a.Call || l.question.answered {
			continue
		}
		l.question.answered = true
		l.question.answer <- a // buffered, and sent once
		return nil
	}
	return chat.NewError(chat.ClassMisuse, "err.no_question", "This question is no longer open: it was answered elsewhere or the run has ended.")
}

// Approve waits for the answer to a question that was yielded just before.
func (h *Hub) Approve(ctx context.Context, q *chat.Permission) (control.Answer, error) {
	h.mu.Lock()
	var l *live
	for _, c := range h.live {
		if c.run == q.Run {
			l = c
		}
	}
	if l == nil || l.question == nil {
		h.mu.Unlock()
		return control.Answer{}, harness.ErrNobody
	}
	answer := l.question.answer
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		l.question = nil
		h.mu.Unlock()
		h.changed(l.id)
		h.stateChanged()
	}()
	h.stateChanged()
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return control.Answer{}, ctx.Err()
	}
}
