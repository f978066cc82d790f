package popuptest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"perch/chat"
	"perch/control"
)

// ListSessions lists sessions, the newest first.
func (b *Backend) ListSessions(_ context.Context, q control.SessionQuery) ([]control.SessionInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listed++
	var out []control.SessionInfo
	for _, id := range b.order {
		s := b.sessions[id]
		if s == nil {
			continue
		}
		info := s.view.SessionInfo
		if q.Search != "" {
			if info.Snippet = find(&s.view, q.Search); info.Snippet == "" {
				continue
			}
		}
		out = append(out, info)
	}
	slices.SortStableFunc(out, func(a, c control.SessionInfo) int { return c.Used.Compare(a.Used) })
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

func find(v *control.SessionView, words string) string {
	low := strings.ToLower(words)
	if strings.Contains(strings.ToLower(v.Title), low) {
		return v.Title
	}
	for i := range v.History {
		if t := v.History[i].PlainText(); strings.Contains(strings.ToLower(t), low) {
			return t[:min(len(t), 80)]
		}
	}
	return ""
}

// CreateSession makes a session.
func (b *Backend) CreateSession(_ context.Context, n control.NewSession) (control.SessionInfo, error) {
	b.mu.Lock()
	b.next++
	id := fmt.Sprintf("s%d", b.next)
	b.mu.Unlock()
	b.Add(control.SessionView{SessionInfo: control.SessionInfo{ID: id, Title: n.Title, Model: n.Model, Dir: n.Dir, Created: time.Now(), Used: time.Now()}})
	v, _ := b.Session(id)
	return v.SessionInfo, nil
}

// ViewSession returns a session.
func (b *Backend) ViewSession(_ context.Context, id string) (control.SessionView, error) {
	v, ok := b.Session(id)
	if !ok {
		return v, notFound(id)
	}
	return v, nil
}

// PatchSession changes a session.
func (b *Backend) PatchSession(_ context.Context, id string, p control.SessionPatch) (control.SessionInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil {
		return control.SessionInfo{}, notFound(id)
	}
	for _, f := range []struct{ to, from *string }{{&s.view.Title, p.Title}, {&s.view.Model, p.Model}, {&s.view.Dir, p.Dir}, {&s.view.Draft, p.Draft}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if p.Pinned != nil {
		s.view.Pinned = *p.Pinned
	}
	info := s.view.SessionInfo
	b.broadcast(id, control.Frame{Session: &info})
	return info, nil
}

// DeleteSession removes a session until RestoreSession.
func (b *Backend) DeleteSession(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[id] == nil {
		return notFound(id)
	}
	b.deleted[id] = b.sessions[id]
	delete(b.sessions, id)
	return nil
}

// RestoreSession undoes a delete.
func (b *Backend) RestoreSession(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deleted[id] == nil {
		return notFound(id)
	}
	b.sessions[id] = b.deleted[id]
	delete(b.deleted, id)
	return nil
}

// ClearSession drops the messages.
func (b *Backend) ClearSession(_ context.Context, id string) error {
	return b.TruncateSession(context.Background(), id, "")
}

// ForkSession copies a session up to a message.
func (b *Backend) ForkSession(ctx context.Context, id, message string) (control.SessionInfo, error) {
	v, ok := b.Session(id)
	if !ok {
		return control.SessionInfo{}, notFound(id)
	}
	info, err := b.CreateSession(ctx, control.NewSession{Title: v.Title, Model: v.Model})
	if err != nil {
		return info, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range v.History {
		b.sessions[info.ID].view.History = append(b.sessions[info.ID].view.History, m)
		if m.ID == message {
			break
		}
	}
	return info, nil
}

// TruncateSession removes a message and all after it.
func (b *Backend) TruncateSession(_ context.Context, id, message string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil {
		return notFound(id)
	}
	at := slices.IndexFunc(s.view.History, func(m chat.Message) bool { return m.ID == message })
	if message == "" {
		at = 0
	}
	if at < 0 {
		return notFound(message)
	}
	s.view.History = slices.Clone(s.view.History[:at])
	b.broadcast(id, control.Frame{Snapshot: b.snapshot(s)})
	return nil
}

// PinMessage pins a message.
func (b *Backend) PinMessage(_ context.Context, id, message string, on bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil {
		return notFound(id)
	}
	s.view.PinnedMessages = slices.DeleteFunc(s.view.PinnedMessages, func(m string) bool { return m == message })
	if on {
		s.view.PinnedMessages = append(s.view.PinnedMessages, message)
	}
	return nil
}

// ExportSession writes the messages, one a line.
func (b *Backend) ExportSession(_ context.Context, id string, write func([]byte) error) error {
	v, ok := b.Session(id)
	if !ok {
		return notFound(id)
	}
	for _, m := range v.History {
		j, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("write message %s: %w", m.ID, err)
		}
		if err := write(j); err != nil {
			return err
		}
	}
	return nil
}

// ImportSession is not offered by the popup.
func (b *Backend) ImportSession(context.Context, func() ([]byte, error)) (control.SessionInfo, error) {
	return control.SessionInfo{}, notFound("import")
}

// Image has no stored images: those of scripts carry their data.
func (b *Backend) Image(_ context.Context, hash string) ([]byte, string, error) {
	return nil, "", chat.NewError(chat.ClassMisuse, "err.no_image", "There is no image %s.", hash)
}

// Stop ends a run.
func (b *Backend) Stop(_ context.Context, run string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.cancel[run]; c != nil {
		c()
	}
	return nil
}

// Answer answers a question.
func (b *Backend) Answer(_ context.Context, run string, a control.Answer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := b.answers[run+a.Call]
	if ch == nil {
		return notFound(a.Call)
	}
	b.answered = append(b.answered, a)
	b.waited = append(b.waited, time.Since(b.askedAt[run+a.Call]))
	for _, s := range b.sessions {
		if s.live != nil && s.live.Run == run {
			s.live.Question = nil
		}
	}
	select {
	case ch <- a:
	default:
	}
	return nil
}

// Watch sends a snapshot and what follows.
func (b *Backend) Watch(ctx context.Context, id string, send func(control.Frame) error) error {
	b.mu.Lock()
	s := b.sessions[id]
	if s == nil {
		b.mu.Unlock()
		return notFound(id)
	}
	ch := make(chan control.Frame, 4096)
	ch <- control.Frame{Snapshot: b.snapshot(s)}
	b.watchers[id] = append(b.watchers[id], ch)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.watchers[id] = slices.DeleteFunc(b.watchers[id], func(c chan control.Frame) bool { return c == ch })
		b.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-ch:
			if err := send(f); err != nil {
				return err
			}
		}
	}
}

// Compact marks a compaction.
func (b *Backend) Compact(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil || len(s.view.History) == 0 {
		return notFound(id)
	}
	last := s.view.History[len(s.view.History)-1].ID
	s.view.Marks = append(s.view.Marks, control.CompactionMark{ID: "k" + last, Before: last, Summary: "What was said before.", TokensBefore: 90000, TokensAfter: 12000})
	b.broadcast(id, control.Frame{Snapshot: b.snapshot(s)})
	return nil
}

// UndoCompaction takes the newest mark back.
func (b *Backend) UndoCompaction(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil || len(s.view.Marks) == 0 {
		return notFound(id)
	}
	s.view.Marks = slices.Clone(s.view.Marks)
	s.view.Marks[len(s.view.Marks)-1].Undone = true
	b.broadcast(id, control.Frame{Snapshot: b.snapshot(s)})
	return nil
}

// Revert reverts nothing.
func (b *Backend) Revert(context.Context, string) ([]string, error) {
	return []string{"/tmp/a.txt"}, nil
}

// Unqueue takes back what waits.
func (b *Backend) Unqueue(_ context.Context, id string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil {
		return "", notFound(id)
	}
	text := strings.Join(s.view.Pending, "\n")
	s.view.Pending = nil
	b.broadcast(id, control.Frame{Snapshot: b.snapshot(s)})
	return text, nil
}

// ListModels lists the models.
func (b *Backend) ListModels(context.Context) ([]control.Model, error) { return b.ModelList, nil }

// CheckModel finds every ready model well.
func (b *Backend) CheckModel(_ context.Context, model string) (control.ModelCheck, error) {
	for _, m := range b.ModelList {
		if m.ID == model && m.Ready {
			return control.ModelCheck{Model: model, OK: true}, nil
		}
	}
	return control.ModelCheck{Model: model, Error: chat.NewError(chat.ClassAuth, "err.no_key", "No key for %s. Enter one in the settings.", model)}, nil
}

// Discover says what FoundList holds.
func (b *Backend) Discover(context.Context) ([]control.Found, error) { return b.FoundList, nil }

// EstimateTokens counts four bytes a token.
func (b *Backend) EstimateTokens(_ context.Context, _, text string) (int, error) {
	return len(text) / 4, nil
}

// Settings are what Set wrote.
func (b *Backend) Settings(context.Context) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	root := map[string]any{}
	for k, v := range b.settings {
		at := root
		keys := strings.Split(k, ".")
		for _, part := range keys[:len(keys)-1] {
			next, ok := at[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[part] = next
			}
			at = next
		}
		at[keys[len(keys)-1]] = v
	}
	return json.Marshal(root)
}

// Set writes a setting.
func (b *Backend) Set(_ context.Context, key string, value any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if value == nil {
		delete(b.settings, key)
		return nil
	}
	b.settings[key] = value
	return nil
}

// Setting is a setting as it was written.
func (b *Backend) Setting(key string) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings[key]
}

// KBStatus is the state of the knowledge base.
func (b *Backend) KBStatus(context.Context) (control.KBStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kb, nil
}

// KBAdd adds folders.
func (b *Backend) KBAdd(_ context.Context, paths []string, progress func(control.KBStatus)) (control.KBStatus, error) {
	b.mu.Lock()
	for _, p := range paths {
		b.kb.Folders = append(b.kb.Folders, control.KBFolder{Path: p, Documents: 12, Chunks: 148, Indexed: time.Now()})
	}
	st := b.kb
	b.mu.Unlock()
	if progress != nil {
		progress(st)
	}
	return st, nil
}

// KBRemove removes a folder.
func (b *Backend) KBRemove(_ context.Context, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kb.Folders = slices.DeleteFunc(b.kb.Folders, func(f control.KBFolder) bool { return f.Path == path })
	return nil
}

// KBSearch finds one passage for any query.
func (b *Backend) KBSearch(_ context.Context, query string, _ int) ([]chat.SearchHit, error) {
	return []chat.SearchHit{{Source: chat.Source{Title: "notes.md", Path: "/home/ada/notes/notes.md", StartLine: 12, EndLine: 18}, Snippet: "… " + query + " …", Score: 0.82, Matched: []string{"keyword"}}}, nil
}

// Memory is what is remembered.
func (b *Backend) Memory(context.Context) (control.MemoryView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.memory, nil
}

func (b *Backend) part(name string) *control.MemoryPart {
	p := &b.memory.Notes
	if name == "profile" {
		p = &b.memory.Profile
	}
	p.Limit = 3000
	return p
}

// MemoryAdd adds an entry.
func (b *Backend) MemoryAdd(_ context.Context, part, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.part(part)
	p.Entries = append(p.Entries, control.MemoryEntry{Text: text})
	p.Used += len([]rune(text))
	return nil
}

// MemoryRemove removes an entry.
func (b *Backend) MemoryRemove(_ context.Context, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range []*control.MemoryPart{&b.memory.Profile, &b.memory.Notes} {
		p.Entries = slices.DeleteFunc(p.Entries, func(e control.MemoryEntry) bool { return e.Text == text })
	}
	return nil
}

// MemoryReplace sets all entries of a part.
func (b *Backend) MemoryReplace(_ context.Context, part string, entries []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.part(part)
	p.Entries, p.Used = nil, 0
	for _, e := range entries {
		p.Entries = append(p.Entries, control.MemoryEntry{Text: e})
		p.Used += len([]rune(e))
	}
	return nil
}

// AuthStatus is what Auths holds.
func (b *Backend) AuthStatus(context.Context) ([]control.AuthStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.Auths), nil
}

// SetKey notes that a provider has a key.
func (b *Backend) SetKey(_ context.Context, provider, _ string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Auths = append(slices.DeleteFunc(b.Auths, func(a control.AuthStatus) bool { return a.Provider == provider }),
		control.AuthStatus{Provider: provider, Kind: "key", Place: "keyring"})
	for i := range b.ModelList {
		if strings.HasPrefix(b.ModelList[i].ID, provider+"/") {
			b.ModelList[i].Ready = true
		}
	}
	return "keyring", nil
}

// Login signs in at once.
func (b *Backend) Login(ctx context.Context, provider string, _ bool, step func(control.LoginStep) error) error {
	if err := step(control.LoginStep{URL: "https://example.org/login", Code: "ABCD-1234"}); err != nil {
		return err
	}
	_, err := b.SetKey(ctx, provider, "")
	if err != nil {
		return err
	}
	return step(control.LoginStep{Done: true})
}

// Logout forgets a provider's key.
func (b *Backend) Logout(_ context.Context, provider string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Auths = slices.DeleteFunc(b.Auths, func(a control.AuthStatus) bool { return a.Provider == provider })
	return nil
}

// SetRules sets the standing permissions.
func (b *Backend) SetRules(r []control.Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = r
}

// ListRules lists the standing permissions.
func (b *Backend) ListRules(context.Context) ([]control.Rule, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rules), nil
}

// RevokeRule revokes one.
func (b *Backend) RevokeRule(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = slices.DeleteFunc(b.rules, func(r control.Rule) bool { return r.ID == id })
	return nil
}

// ReadClipboard is the clipboard.
func (b *Backend) ReadClipboard(context.Context) (control.Clip, error) { return b.Clipboard(), nil }

// ReadSelection is the clipboard, too.
func (b *Backend) ReadSelection(context.Context) (control.Clip, error) { return b.Clipboard(), nil }

// WriteClipboard takes the content over.
func (b *Backend) WriteClipboard(_ context.Context, c control.Clip) error {
	b.SetClipboard(c)
	return nil
}

// Screenshot is a small picture.
func (b *Backend) Screenshot(context.Context, control.Shot) ([]byte, error) {
	return Picture(320, 180), nil
}

// PauseHotkey reports the hotkey.
func (b *Backend) PauseHotkey(_ context.Context, on bool) (control.HotkeyState, error) {
	return control.HotkeyState{Combo: "ctrl+shift+space", Active: !on, Paused: on}, nil
}

// Notify drops the notification.
func (b *Backend) Notify(context.Context, string, string, string) error { return nil }

// Command is what perch sends, see Send.
func (b *Backend) Command(ctx context.Context, _ control.DesktopEnv, c control.FrontCommand) (control.FrontAck, error) {
	return b.Send(ctx, c)
}

// Attach hands the popup its orders.
func (b *Backend) Attach(ctx context.Context, _ string, _ int, send func(control.FrontCommand) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-b.commands:
			if err := send(c); err != nil {
				return err
			}
		}
	}
}

// Ack takes the popup's answers.
func (b *Backend) Ack(_ context.Context, _ string, a control.FrontAck) error {
	if a.ID != 0 {
		b.acks <- a
	}
	return nil
}

// BecomeTray does nothing.
func (b *Backend) BecomeTray(context.Context, control.DesktopEnv) error { return nil }

// State is the state of the whole.
func (b *Backend) State(ctx context.Context) (control.State, error) {
	recent, err := b.ListSessions(ctx, control.SessionQuery{Limit: 10})
	model := "anthropic/claude-sonnet-4-6"
	if b.FirstStart {
		model = "builtin/help"
	}
	return control.State{Recent: recent, Model: model, FirstStart: b.FirstStart, Hotkey: control.HotkeyState{Combo: "ctrl+shift+space", Active: true}}, err
}

// WatchState sends the state once.
func (b *Backend) WatchState(ctx context.Context, send func(control.State) error) error {
	s, err := b.State(ctx)
	if err != nil {
		return err
	}
	if err := send(s); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// Doctor finds nothing.
func (b *Backend) Doctor(context.Context) ([]control.Check, error) { return nil, nil }

// Stats are empty.
func (b *Backend) Stats(context.Context) (control.Stats, error) {
	return control.Stats{Runs: 42, Usage: chat.Usage{Input: 812000, Output: 96000, Cost: 3.87}, Today: chat.Usage{Cost: 0.21}}, nil
}

// Quit does nothing.
func (b *Backend) Quit(context.Context) error { return nil }
