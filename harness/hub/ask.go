package hub

import (
	"context"
	"errors"
	"os"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness"
)

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
