package hub

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"perch/chat"
	"perch/control"
	"perch/harness"
	"perch/store"
)

func sessionError(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return chat.NewError(chat.ClassMisuse, "err.session_not_found", "There is no session %s. `perch sessions` lists them.", id).Wrap(err)
	}
	return err
}

func (h *Hub) lastSession() (string, error) {
	list, err := h.store.List(store.Query{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", chat.NewError(chat.ClassMisuse, "err.no_sessions", "There is no session yet. Ask something first.")
	}
	return list[0].ID, nil
}

// info is a session as others see it.
func (h *Hub) info(m chat.SessionMeta) control.SessionInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.infoLocked(m)
}

func (h *Hub) infoLocked(m chat.SessionMeta) control.SessionInfo {
	s := control.SessionInfo{
		ID: m.ID, Title: m.Title, Model: m.Model, Dir: m.Dir, Created: m.Created, Used: m.Used,
		Messages: m.Messages, Pinned: m.Pinned, Draft: m.Draft,
	}
	l := h.live[m.ID]
	s.Activity = l.activity(m.Outcome)
	if l != nil {
		s.Run = l.run
	}
	return s
}

// view is a session as a window shows it.
func (h *Hub) view(ctx context.Context, l *store.Loaded) control.SessionView {
	v := control.SessionView{
		SessionInfo: h.info(l.Meta), History: l.Messages, Marks: l.View.Marks, PinnedMessages: l.View.Pinned,
	}
	for i := range l.Meta.Pending {
		v.Pending = append(v.Pending, l.Meta.Pending[i].PlainText())
	}
	if c, err := h.runner.Occupancy(ctx, l.Meta.ID, ""); err == nil {
		v.Context = c
	}
	return v
}

// ListSessions lists sessions, newest first.
func (h *Hub) ListSessions(_ context.Context, q control.SessionQuery) ([]control.SessionInfo, error) {
	found, err := h.store.List(store.Query{Search: q.Search, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]control.SessionInfo, 0, len(found))
	for _, f := range found {
		s := h.infoLocked(f.SessionMeta)
		s.Snippet, s.Problem = f.Snippet, f.Problem
		out = append(out, s)
	}
	return out, nil
}

// CreateSession makes a session.
func (h *Hub) CreateSession(_ context.Context, n control.NewSession) (control.SessionInfo, error) {
	now := time.Now()
	m := chat.SessionMeta{ID: harness.NewID("s"), Title: n.Title, Titled: n.Title != "", Model: n.Model, Dir: n.Dir, Created: now, Used: now}
	if err := h.store.Create(m); err != nil {
		return control.SessionInfo{}, err
	}
	h.stateChanged()
	return h.info(m), nil
}

// ViewSession returns a session with its history.
func (h *Hub) ViewSession(ctx context.Context, id string) (control.SessionView, error) {
	if id == "last" {
		last, err := h.lastSession()
		if err != nil {
			return control.SessionView{}, err
		}
		id = last
	}
	l, err := h.store.Load(id)
	if err != nil {
		return control.SessionView{}, sessionError(id, err)
	}
	return h.view(ctx, l), nil
}

// PatchSession changes what is not nil.
func (h *Hub) PatchSession(_ context.Context, id string, p control.SessionPatch) (control.SessionInfo, error) {
	m, err := h.store.UpdateMeta(id, func(m *chat.SessionMeta) {
		if p.Title != nil {
			m.Title, m.Titled = *p.Title, true
		}
		if p.Model != nil {
			m.Model = *p.Model
		}
		if p.Dir != nil {
			m.Dir = *p.Dir
		}
		if p.Pinned != nil {
			m.Pinned = *p.Pinned
		}
		if p.Draft != nil {
			m.Draft = *p.Draft
		}
		if p.Seen {
			m.Outcome = ""
		}
	})
	if err != nil {
		return control.SessionInfo{}, sessionError(id, err)
	}
	if p.Draft == nil || p.Title != nil || p.Seen { // a draft alone concerns nobody else
		h.changed(id)
		h.stateChanged()
	}
	return h.info(m), nil
}

// running reports an error when a run is at work on the session.
func (h *Hub) notRunning(id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.live[id]; l != nil && l.run != "" {
		return chat.NewError(chat.ClassMisuse, "err.session_running", "This session is at work. Stop it first.")
	}
	return nil
}

// DeleteSession hides a session; it can be restored for a minute.
func (h *Hub) DeleteSession(ctx context.Context, id string) error {
	h.mu.Lock()
	if l := h.live[id]; l != nil && l.cancel != nil {
		l.cancel(context.Canceled)
	}
	h.mu.Unlock()
	if err := h.store.Delete(id); err != nil {
		return sessionError(id, err)
	}
	if h.o.SessionEnded != nil {
		h.o.SessionEnded(id)
	}
	h.stateChanged()
	return nil
}

// RestoreSession undoes a delete.
func (h *Hub) RestoreSession(_ context.Context, id string) error {
	if err := h.store.Restore(id); err != nil {
		return sessionError(id, err)
	}
	h.stateChanged()
	return nil
}

// ClearSession empties a session.
func (h *Hub) ClearSession(_ context.Context, id string) error {
	if err := h.notRunning(id); err != nil {
		return err
	}
	if err := h.store.Rewrite(id, nil, chat.View{}); err != nil {
		return sessionError(id, err)
	}
	h.refresh(id)
	return nil
}

func (h *Hub) refresh(id string) {
	h.mu.Lock()
	if l := h.live[id]; l != nil {
		for w := range l.watchers {
			w.refresh()
		}
	}
	h.mu.Unlock()
	h.stateChanged()
}

// ForkSession copies a history up to and including a message.
func (h *Hub) ForkSession(_ context.Context, id, message string) (control.SessionInfo, error) {
	old, err := h.store.Meta(id)
	if err != nil {
		return control.SessionInfo{}, sessionError(id, err)
	}
	now := time.Now()
	m := chat.SessionMeta{ID: harness.NewID("s"), Title: old.Title, Titled: old.Titled, Model: old.Model, Dir: old.Dir, Created: now, Used: now}
	if err := h.store.Fork(id, message, m); err != nil {
		return control.SessionInfo{}, sessionError(id, err)
	}
	h.stateChanged()
	if m, err = h.store.Meta(m.ID); err != nil {
		return control.SessionInfo{}, err
	}
	return h.info(m), nil
}

// TruncateSession removes a message and all after it.
func (h *Hub) TruncateSession(_ context.Context, id, message string) error {
	if err := h.notRunning(id); err != nil {
		return err
	}
	l, err := h.store.Load(id)
	if err != nil {
		return sessionError(id, err)
	}
	at := slices.IndexFunc(l.Messages, func(m chat.Message) bool { return m.ID == message })
	if at < 0 {
		return chat.NewError(chat.ClassMisuse, "err.message_not_found", "There is no such message in this session.")
	}
	v := l.View
	v.Marks = slices.DeleteFunc(slices.Clone(v.Marks), func(k chat.CompactionMark) bool {
		return slices.IndexFunc(l.Messages[:at], func(m chat.Message) bool { return m.ID == k.Before }) < 0
	})
	msgs, _ := chat.Repair(slices.Clone(l.Messages[:at]))
	if err := h.store.Rewrite(id, msgs, v); err != nil {
		return err
	}
	h.refresh(id)
	return nil
}

// PinMessage pins a message, so that it survives every compaction.
func (h *Hub) PinMessage(_ context.Context, id, message string, on bool) error {
	l, err := h.store.Load(id)
	if err != nil {
		return sessionError(id, err)
	}
	if !slices.ContainsFunc(l.Messages, func(m chat.Message) bool { return m.ID == message }) {
		return chat.NewError(chat.ClassMisuse, "err.message_not_found", "There is no such message in this session.")
	}
	v := l.View
	v.Pinned = slices.DeleteFunc(slices.Clone(v.Pinned), func(p string) bool { return p == message })
	if on {
		v.Pinned = append(v.Pinned, message)
		if err := h.runner.PinsFit(id, v.Pinned); err != nil {
			return err
		}
	}
	if err := h.store.SetView(id, v); err != nil {
		return err
	}
	h.refresh(id)
	return nil
}

// ExportSession writes a session as JSON lines.
func (h *Hub) ExportSession(_ context.Context, id string, write func(line []byte) error) error {
	if id == "last" {
		last, err := h.lastSession()
		if err != nil {
			return err
		}
		id = last
	}
	return sessionError(id, store.Export(h.o.Store, id, write))
}

// ImportSession reads what ExportSession wrote.
func (h *Hub) ImportSession(_ context.Context, next func() ([]byte, error)) (control.SessionInfo, error) {
	id, err := store.Import(h.o.Store, next)
	if err != nil {
		return control.SessionInfo{}, err
	}
	m, err := h.store.Meta(id)
	if err != nil {
		return control.SessionInfo{}, err
	}
	h.stateChanged()
	return h.info(m), nil
}

// Image returns the bytes of an image.
func (h *Hub) Image(_ context.Context, hash string) ([]byte, string, error) {
	b, err := h.store.Image(hash)
	if err != nil {
		return nil, "", chat.NewError(chat.ClassMisuse, "err.no_image", "That image is no longer on the disk.").Wrap(err)
	}
	return b, http.DetectContentType(b), nil
}

// Compact compacts a session by hand.
func (h *Hub) Compact(ctx context.Context, id string) error {
	if err := h.notRunning(id); err != nil {
		return err
	}
	defer h.refresh(id)
	return h.runner.Compact(ctx, id, "")
}

// UndoCompaction takes the last compaction back.
func (h *Hub) UndoCompaction(_ context.Context, id string) error {
	if err := h.notRunning(id); err != nil {
		return err
	}
	defer h.refresh(id)
	return h.runner.UndoCompaction(id)
}

// Revert puts back every file that a run changed.
func (h *Hub) Revert(_ context.Context, run string) ([]string, error) {
	if h.o.Revert == nil {
		return nil, chat.NewError(chat.ClassMisuse, "err.no_revert", "No copies of files are kept here.")
	}
	return h.o.Revert.Revert(run)
}

// Unqueue takes the pending messages back as a draft.
func (h *Hub) Unqueue(_ context.Context, id string) (string, error) {
	text := ""
	_, err := h.store.UpdateMeta(id, func(m *chat.SessionMeta) {
		text = joinDraft("", m.Pending)
		m.Pending = nil
	})
	if err != nil {
		return "", sessionError(id, err)
	}
	h.refresh(id)
	return text, nil
}
