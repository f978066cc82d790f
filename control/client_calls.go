package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"perch/chat"
)

// ListSessions implements [Sessions].
func (c *Client) ListSessions(ctx context.Context, q SessionQuery) ([]SessionInfo, error) {
	return get[[]SessionInfo](ctx, c, routeSessionsList, reqList(q))
}

// CreateSession implements [Sessions].
func (c *Client) CreateSession(ctx context.Context, n NewSession) (SessionInfo, error) {
	return get[SessionInfo](ctx, c, routeSessionsCreate, n)
}

// ViewSession implements [Sessions].
func (c *Client) ViewSession(ctx context.Context, id string) (SessionView, error) {
	return get[SessionView](ctx, c, routeSessionsView, reqID{id})
}

// PatchSession implements [Sessions].
func (c *Client) PatchSession(ctx context.Context, id string, p SessionPatch) (SessionInfo, error) {
	return get[SessionInfo](ctx, c, routeSessionsPatch, reqPatch{id, p})
}

// DeleteSession implements [Sessions].
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.do(ctx, routeSessionsDelete, reqID{id})
}

// RestoreSession implements [Sessions].
func (c *Client) RestoreSession(ctx context.Context, id string) error {
	return c.do(ctx, routeSessionsRestore, reqID{id})
}

// ClearSession implements [Sessions].
func (c *Client) ClearSession(ctx context.Context, id string) error {
	return c.do(ctx, routeSessionsClear, reqID{id})
}

// ForkSession implements [Sessions].
func (c *Client) ForkSession(ctx context.Context, id, message string) (SessionInfo, error) {
	return get[SessionInfo](ctx, c, routeSessionsFork, reqMessage{ID: id, Message: message})
}

// TruncateSession implements [Sessions].
func (c *Client) TruncateSession(ctx context.Context, id, message string) error {
	return c.do(ctx, routeSessionsTruncate, reqMessage{ID: id, Message: message})
}

// PinMessage implements [Sessions].
func (c *Client) PinMessage(ctx context.Context, id, message string, on bool) error {
	return c.do(ctx, routeSessionsPin, reqMessage{id, message, on})
}

// ExportSession implements [Sessions].
func (c *Client) ExportSession(ctx context.Context, id string, write func(line []byte) error) error {
	return c.lines(ctx, routeSessionsExport, reqID{id}, write)
}

// ImportSession implements [Sessions]. next is called until it returns io.EOF,
// from another goroutine.
func (c *Client) ImportSession(ctx context.Context, next func() ([]byte, error)) (SessionInfo, error) {
	var info SessionInfo
	// A stream cannot be sent twice: make sure of the token first.
	if _, err := c.secret(true); err != nil {
		return info, err
	}
	var failed error // of next: the cause of a request that breaks off
	resp, err := c.send(ctx, routeSessionsImport, typeLines, func() io.Reader {
		return linesBody(func() ([]byte, error) {
			line, err := next()
			if err != nil && !errors.Is(err, io.EOF) {
				failed = err
			}
			return line, err
		})
	})
	if err != nil {
		if failed != nil {
			err = failed
		}
		return info, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&info); err != nil {
		return info, c.lost(ctx, err)
	}
	return info, nil
}

// Image implements [Sessions].
func (c *Client) Image(ctx context.Context, hash string) ([]byte, string, error) {
	resp, err := c.post(ctx, routeSessionsImage, reqHash{hash})
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, "", c.lost(ctx, err)
	}
	return data, resp.Header.Get("Content-Type"), nil
}

// Ask implements [Runs].
func (c *Client) Ask(ctx context.Context, session string, a Ask) (AskReply, error) {
	return get[AskReply](ctx, c, routeRunsAsk, reqAsk{session, a})
}

// Stop implements [Runs].
func (c *Client) Stop(ctx context.Context, run string) error {
	return c.do(ctx, routeRunsStop, reqID{run})
}

// Answer implements [Runs].
func (c *Client) Answer(ctx context.Context, run string, a Answer) error {
	return c.do(ctx, routeRunsAnswer, reqAnswer{run, a})
}

// Watch implements [Runs].
func (c *Client) Watch(ctx context.Context, session string, send func(Frame) error) error {
	return values(ctx, c, routeRunsWatch, reqID{session}, send)
}

// Compact implements [Runs].
func (c *Client) Compact(ctx context.Context, session string) error {
	return c.do(ctx, routeRunsCompact, reqID{session})
}

// UndoCompaction implements [Runs].
func (c *Client) UndoCompaction(ctx context.Context, session string) error {
	return c.do(ctx, routeRunsUndo, reqID{session})
}

// Revert implements [Runs].
func (c *Client) Revert(ctx context.Context, run string) ([]string, error) {
	return get[[]string](ctx, c, routeRunsRevert, reqID{run})
}

// Unqueue implements [Runs].
func (c *Client) Unqueue(ctx context.Context, session string) (string, error) {
	return get[string](ctx, c, routeRunsUnqueue, reqID{session})
}

// ListModels implements [Models].
func (c *Client) ListModels(ctx context.Context) ([]Model, error) {
	return get[[]Model](ctx, c, routeModelsList, none{})
}

// CheckModel implements [Models].
func (c *Client) CheckModel(ctx context.Context, model string) (ModelCheck, error) {
	return get[ModelCheck](ctx, c, routeModelsCheck, reqID{model})
}

// Discover implements [Models].
func (c *Client) Discover(ctx context.Context) ([]Found, error) {
	return get[[]Found](ctx, c, routeModelsDiscover, none{})
}

// EstimateTokens implements [Models].
func (c *Client) EstimateTokens(ctx context.Context, model, text string) (int, error) {
	return get[int](ctx, c, routeModelsTokens, reqText{model, text})
}

// Settings implements [Settings].
func (c *Client) Settings(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, routeSettingsGet, none{})
}

// Set implements [Settings].
func (c *Client) Set(ctx context.Context, key string, value any) error {
	return c.do(ctx, routeSettingsSet, reqSet{key, value})
}

// KBStatus implements [Knowledge].
func (c *Client) KBStatus(ctx context.Context) (KBStatus, error) {
	return get[KBStatus](ctx, c, routeKBStatus, none{})
}

// KBAdd implements [Knowledge].
func (c *Client) KBAdd(ctx context.Context, paths []string, progress func(KBStatus)) (KBStatus, error) {
	var result *KBStatus
	err := values(ctx, c, routeKBAdd, reqPaths{paths}, func(l kbLine) error {
		switch {
		case l.Result != nil:
			result = l.Result
		case l.Progress != nil && progress != nil:
			progress(*l.Progress)
		}
		return nil
	})
	if err != nil {
		return KBStatus{}, err
	}
	if result == nil {
		return KBStatus{}, c.lost(ctx, io.ErrUnexpectedEOF)
	}
	return *result, nil
}

// KBRemove implements [Knowledge].
func (c *Client) KBRemove(ctx context.Context, path string) error {
	return c.do(ctx, routeKBRemove, reqID{path})
}

// KBSearch implements [Knowledge].
func (c *Client) KBSearch(ctx context.Context, query string, k int) ([]chat.SearchHit, error) {
	return get[[]chat.SearchHit](ctx, c, routeKBSearch, reqSearch{query, k})
}

// Memory implements [Memory].
func (c *Client) Memory(ctx context.Context) (MemoryView, error) {
	return get[MemoryView](ctx, c, routeMemoryShow, none{})
}

// MemoryAdd implements [Memory].
func (c *Client) MemoryAdd(ctx context.Context, part, text string) error {
	return c.do(ctx, routeMemoryAdd, reqMemory{Part: part, Text: text})
}

// MemoryRemove implements [Memory].
func (c *Client) MemoryRemove(ctx context.Context, text string) error {
	return c.do(ctx, routeMemoryRemove, reqMemory{Text: text})
}

// MemoryReplace implements [Memory].
func (c *Client) MemoryReplace(ctx context.Context, part string, entries []string) error {
	return c.do(ctx, routeMemoryReplace, reqMemory{Part: part, Entries: entries})
}

// AuthStatus implements [Auth].
func (c *Client) AuthStatus(ctx context.Context) ([]AuthStatus, error) {
	return get[[]AuthStatus](ctx, c, routeAuthStatus, none{})
}

// SetKey implements [Auth].
func (c *Client) SetKey(ctx context.Context, provider, key string) (string, error) {
	return get[string](ctx, c, routeAuthKey, reqAuth{Provider: provider, Key: key})
}

// Login implements [Auth].
func (c *Client) Login(ctx context.Context, provider string, device bool, step func(LoginStep) error) error {
	return values(ctx, c, routeAuthLogin, reqAuth{Provider: provider, Device: device}, step)
}

// Logout implements [Auth].
func (c *Client) Logout(ctx context.Context, provider string) error {
	return c.do(ctx, routeAuthLogout, reqAuth{Provider: provider})
}

// ListRules implements [Rules].
func (c *Client) ListRules(ctx context.Context) ([]Rule, error) {
	return get[[]Rule](ctx, c, routeRulesList, none{})
}

// RevokeRule implements [Rules].
func (c *Client) RevokeRule(ctx context.Context, id string) error {
	return c.do(ctx, routeRulesRevoke, reqID{id})
}

// ReadClipboard implements [Desktop].
func (c *Client) ReadClipboard(ctx context.Context) (Clip, error) {
	return get[Clip](ctx, c, routeClipboardRead, none{})
}

// ReadSelection implements [Desktop].
func (c *Client) ReadSelection(ctx context.Context) (Clip, error) {
	return get[Clip](ctx, c, routeSelectionRead, none{})
}

// WriteClipboard implements [Desktop].
func (c *Client) WriteClipboard(ctx context.Context, clip Clip) error {
	return c.do(ctx, routeClipboardWrite, clip)
}

// Screenshot implements [Desktop].
func (c *Client) Screenshot(ctx context.Context, s Shot) ([]byte, error) {
	return get[[]byte](ctx, c, routeScreenshot, s)
}

// PauseHotkey implements [Desktop].
func (c *Client) PauseHotkey(ctx context.Context, on bool) (HotkeyState, error) {
	return get[HotkeyState](ctx, c, routeHotkeyPause, reqOn{on})
}

// Notify implements [Desktop].
func (c *Client) Notify(ctx context.Context, title, text, session string) error {
	return c.do(ctx, routeNotify, reqNotify{title, text, session})
}

// Command implements [Front]. A plain toggle or show needs no token.
func (c *Client) Command(ctx context.Context, env DesktopEnv, cmd FrontCommand) (FrontAck, error) {
	route := routeFrontCommand
	if cmd.Session == "" && cmd.Prompt == "" {
		switch cmd.What {
		case "toggle":
			route = routeToggle
		case "show":
			route = routeShow
		}
	}
	return get[FrontAck](ctx, c, route, reqCommand{env, cmd})
}

// Attach implements [Front].
func (c *Client) Attach(ctx context.Context, display string, pid int, send func(FrontCommand) error) error {
	return values(ctx, c, routeFrontAttach, reqAttach{display, pid}, send)
}

// Ack implements [Front].
func (c *Client) Ack(ctx context.Context, display string, a FrontAck) error {
	return c.do(ctx, routeFrontAck, reqAck{display, a})
}

// BecomeTray implements [Owner].
func (c *Client) BecomeTray(ctx context.Context, env DesktopEnv) error {
	return c.do(ctx, routeOwnerTray, env)
}

// State implements [Owner].
func (c *Client) State(ctx context.Context) (State, error) {
	return get[State](ctx, c, routeOwnerState, none{})
}

// WatchState implements [Owner].
func (c *Client) WatchState(ctx context.Context, send func(State) error) error {
	return values(ctx, c, routeOwnerWatch, none{}, send)
}

// Doctor implements [Owner].
func (c *Client) Doctor(ctx context.Context) ([]Check, error) {
	return get[[]Check](ctx, c, routeOwnerDoctor, none{})
}

// Stats implements [Owner].
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, routeOwnerStats, none{})
}

// Quit implements [Owner].
func (c *Client) Quit(ctx context.Context) error { return c.do(ctx, routeOwnerQuit, none{}) }
