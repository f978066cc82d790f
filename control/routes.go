package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"perch/chat"
)

// absent is the error of a service that this Perch does not have.
func absent(what string) error {
	return chat.NewError(chat.ClassMisuse, "err.not_here", "The running Perch does not offer %s here. `perch doctor` says what is missing.", what)
}

func (s *Server) routes(mux *http.ServeMux) {
	v := s.o.Services
	call(mux, routeVersion, func(context.Context, none) (Version, error) { return s.version(), nil })
	s.frontRoutes(mux, v.Front)
	if v.Sessions != nil {
		sessionRoutes(mux, v.Sessions)
	}
	if v.Runs != nil {
		runRoutes(mux, v.Runs)
	}
	if v.Models != nil {
		modelRoutes(mux, v.Models)
	}
	if v.Settings != nil {
		call(mux, routeSettingsGet, func(ctx context.Context, _ none) (json.RawMessage, error) { return v.Settings.Settings(ctx) })
		do(mux, routeSettingsSet, func(ctx context.Context, r reqSet) error { return v.Settings.Set(ctx, r.Key, r.Value) })
	}
	if v.Knowledge != nil {
		knowledgeRoutes(mux, v.Knowledge)
	}
	if v.Memory != nil {
		call(mux, routeMemoryShow, func(ctx context.Context, _ none) (MemoryView, error) { return v.Memory.Memory(ctx) })
		do(mux, routeMemoryAdd, func(ctx context.Context, r reqMemory) error { return v.Memory.MemoryAdd(ctx, r.Part, r.Text) })
		do(mux, routeMemoryRemove, func(ctx context.Context, r reqMemory) error { return v.Memory.MemoryRemove(ctx, r.Text) })
		do(mux, routeMemoryReplace, func(ctx context.Context, r reqMemory) error {
			return v.Memory.MemoryReplace(ctx, r.Part, r.Entries)
		})
	}
	if v.Auth != nil {
		authRoutes(mux, v.Auth)
	}
	if v.Rules != nil {
		call(mux, routeRulesList, func(ctx context.Context, _ none) ([]Rule, error) { return v.Rules.ListRules(ctx) })
		do(mux, routeRulesRevoke, func(ctx context.Context, r reqID) error { return v.Rules.RevokeRule(ctx, r.ID) })
	}
	if v.Desktop != nil {
		desktopRoutes(mux, v.Desktop)
	}
	if v.Owner != nil {
		ownerRoutes(mux, v.Owner)
	}
	for route, what := range missing(v) {
		stream(mux, route, func(context.Context, *answer, none) error { return absent(what) })
	}
}

// missing are the routes of services that are nil, with what they are.
func missing(v Services) map[string]string {
	out := map[string]string{}
	add := func(isNil bool, what string, routes ...string) {
		if isNil {
			for _, r := range routes {
				out[r] = what
			}
		}
	}
	add(v.Sessions == nil, "sessions", routeSessionsList, routeSessionsCreate, routeSessionsView, routeSessionsPatch, routeSessionsDelete,
		routeSessionsRestore, routeSessionsClear, routeSessionsFork, routeSessionsTruncate, routeSessionsPin, routeSessionsExport,
		routeSessionsImport, routeSessionsImage)
	add(v.Runs == nil, "runs", routeRunsAsk, routeRunsStop, routeRunsAnswer, routeRunsWatch, routeRunsCompact, routeRunsUndo, routeRunsRevert, routeRunsUnqueue)
	add(v.Models == nil, "models", routeModelsList, routeModelsCheck, routeModelsDiscover, routeModelsTokens)
	add(v.Settings == nil, "settings", routeSettingsGet, routeSettingsSet)
	add(v.Knowledge == nil, "the knowledge base", routeKBStatus, routeKBAdd, routeKBRemove, routeKBSearch)
	add(v.Memory == nil, "the memory", routeMemoryShow, routeMemoryAdd, routeMemoryRemove, routeMemoryReplace)
	add(v.Auth == nil, "sign-in", routeAuthStatus, routeAuthKey, routeAuthLogin, routeAuthLogout)
	add(v.Rules == nil, "rules", routeRulesList, routeRulesRevoke)
	add(v.Desktop == nil, "a desktop", routeClipboardRead, routeSelectionRead, routeClipboardWrite, routeScreenshot, routeHotkeyPause, routeNotify)
	add(v.Owner == nil, "its own state", routeOwnerTray, routeOwnerState, routeOwnerWatch, routeOwnerDoctor, routeOwnerStats, routeOwnerQuit)
	return out
}

func (s *Server) version() Version {
	v := s.o.Version
	v.Protocol, v.PID = Protocol, pid
	if s.o.Tray != nil {
		v.Tray = s.o.Tray()
	}
	return v
}

func (s *Server) frontRoutes(mux *http.ServeMux, f Front) {
	command := func(ctx context.Context, r reqCommand) (FrontAck, error) {
		if f == nil {
			return FrontAck{}, absent("a popup")
		}
		return f.Command(ctx, r.Env, r.Command)
	}
	call(mux, routeFrontCommand, command)
	for route, what := range map[string]string{routeToggle: "toggle", routeShow: "show"} {
		call(mux, route, func(ctx context.Context, r reqCommand) (FrontAck, error) {
			// Without the token no session can be named.
			r.Command = FrontCommand{ID: r.Command.ID, What: what, Pressed: r.Command.Pressed}
			return command(ctx, r)
		})
	}
	stream(mux, routeFrontAttach, func(ctx context.Context, a *answer, r reqAttach) error {
		if f == nil {
			return absent("a popup")
		}
		if err := a.begin(); err != nil {
			return err
		}
		return f.Attach(ctx, r.Display, r.PID, func(c FrontCommand) error { return a.value(c) })
	})
	do(mux, routeFrontAck, func(ctx context.Context, r reqAck) error {
		if f == nil {
			return absent("a popup")
		}
		return f.Ack(ctx, r.Display, r.Ack)
	})
}

func sessionRoutes(mux *http.ServeMux, v Sessions) {
	call(mux, routeSessionsList, func(ctx context.Context, r reqList) ([]SessionInfo, error) {
		return v.ListSessions(ctx, SessionQuery(r))
	})
	call(mux, routeSessionsCreate, func(ctx context.Context, r NewSession) (SessionInfo, error) { return v.CreateSession(ctx, r) })
	call(mux, routeSessionsView, func(ctx context.Context, r reqID) (SessionView, error) { return v.ViewSession(ctx, r.ID) })
	call(mux, routeSessionsPatch, func(ctx context.Context, r reqPatch) (SessionInfo, error) { return v.PatchSession(ctx, r.ID, r.Patch) })
	do(mux, routeSessionsDelete, func(ctx context.Context, r reqID) error { return v.DeleteSession(ctx, r.ID) })
	do(mux, routeSessionsRestore, func(ctx context.Context, r reqID) error { return v.RestoreSession(ctx, r.ID) })
	do(mux, routeSessionsClear, func(ctx context.Context, r reqID) error { return v.ClearSession(ctx, r.ID) })
	call(mux, routeSessionsFork, func(ctx context.Context, r reqMessage) (SessionInfo, error) {
		return v.ForkSession(ctx, r.ID, r.Message)
	})
	do(mux, routeSessionsTruncate, func(ctx context.Context, r reqMessage) error { return v.TruncateSession(ctx, r.ID, r.Message) })
	do(mux, routeSessionsPin, func(ctx context.Context, r reqMessage) error { return v.PinMessage(ctx, r.ID, r.Message, r.On) })
	stream(mux, routeSessionsExport, func(ctx context.Context, a *answer, r reqID) error {
		return v.ExportSession(ctx, r.ID, a.line)
	})
	stream(mux, routeSessionsImage, func(ctx context.Context, a *answer, r reqHash) error {
		data, mime, err := v.Image(ctx, r.Hash)
		if err != nil {
			return err
		}
		return a.whole(mime, data)
	})
	mux.HandleFunc(routeSessionsImport, func(_ http.ResponseWriter, r *http.Request) {
		a := r.Context().Value(answerKey{}).(*answer)
		info, err := v.ImportSession(r.Context(), lineReader(r.Body))
		if err != nil {
			a.fail(err)
			return
		}
		b, err := json.Marshal(info)
		if err == nil {
			err = a.whole(typeJSON, append(b, '\n'))
		}
		if err != nil {
			a.fail(err)
		}
	})
}

// lineReader returns the lines of r without their line ends, then io.EOF.
func lineReader(r io.Reader) func() ([]byte, error) {
	buf := bufio.NewReaderSize(r, 64<<10)
	return func() ([]byte, error) {
		line, err := readLine(buf)
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
}

// readLine reads one line of any length up to maxLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, chat.NewError(chat.ClassMisuse, "err.too_large", "The request is larger than %d MB. Attach large things as files.", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

func runRoutes(mux *http.ServeMux, v Runs) {
	call(mux, routeRunsAsk, func(ctx context.Context, r reqAsk) (AskReply, error) { return v.Ask(ctx, r.Session, r.Ask) })
	do(mux, routeRunsStop, func(ctx context.Context, r reqID) error { return v.Stop(ctx, r.ID) })
	do(mux, routeRunsAnswer, func(ctx context.Context, r reqAnswer) error { return v.Answer(ctx, r.Run, r.Answer) })
	stream(mux, routeRunsWatch, func(ctx context.Context, a *answer, r reqID) error {
		return v.Watch(ctx, r.ID, func(f Frame) error { return a.value(f) })
	})
	do(mux, routeRunsCompact, func(ctx context.Context, r reqID) error { return v.Compact(ctx, r.ID) })
	do(mux, routeRunsUndo, func(ctx context.Context, r reqID) error { return v.UndoCompaction(ctx, r.ID) })
	call(mux, routeRunsRevert, func(ctx context.Context, r reqID) ([]string, error) { return v.Revert(ctx, r.ID) })
	call(mux, routeRunsUnqueue, func(ctx context.Context, r reqID) (string, error) { return v.Unqueue(ctx, r.ID) })
}

func modelRoutes(mux *http.ServeMux, v Models) {
	call(mux, routeModelsList, func(ctx context.Context, _ none) ([]Model, error) { return v.ListModels(ctx) })
	call(mux, routeModelsCheck, func(ctx context.Context, r reqID) (ModelCheck, error) { return v.CheckModel(ctx, r.ID) })
	call(mux, routeModelsDiscover, func(ctx context.Context, _ none) ([]Found, error) { return v.Discover(ctx) })
	call(mux, routeModelsTokens, func(ctx context.Context, r reqText) (int, error) { return v.EstimateTokens(ctx, r.Model, r.Text) })
}

func knowledgeRoutes(mux *http.ServeMux, v Knowledge) {
	call(mux, routeKBStatus, func(ctx context.Context, _ none) (KBStatus, error) { return v.KBStatus(ctx) })
	stream(mux, routeKBAdd, func(ctx context.Context, a *answer, r reqPaths) error {
		var broken error // a reader that is gone does not stop the indexing by itself; its context does
		st, err := v.KBAdd(ctx, r.Paths, func(st KBStatus) {
			if broken == nil {
				broken = a.value(kbLine{Progress: &st})
			}
		})
		if err != nil {
			return err
		}
		return a.value(kbLine{Result: &st})
	})
	do(mux, routeKBRemove, func(ctx context.Context, r reqID) error { return v.KBRemove(ctx, r.ID) })
	call(mux, routeKBSearch, func(ctx context.Context, r reqSearch) ([]chat.SearchHit, error) { return v.KBSearch(ctx, r.Query, r.K) })
}

func authRoutes(mux *http.ServeMux, v Auth) {
	call(mux, routeAuthStatus, func(ctx context.Context, _ none) ([]AuthStatus, error) { return v.AuthStatus(ctx) })
	call(mux, routeAuthKey, func(ctx context.Context, r reqAuth) (string, error) { return v.SetKey(ctx, r.Provider, r.Key) })
	stream(mux, routeAuthLogin, func(ctx context.Context, a *answer, r reqAuth) error {
		return v.Login(ctx, r.Provider, r.Device, func(s LoginStep) error { return a.value(s) })
	})
	do(mux, routeAuthLogout, func(ctx context.Context, r reqAuth) error { return v.Logout(ctx, r.Provider) })
}

func desktopRoutes(mux *http.ServeMux, v Desktop) {
	call(mux, routeClipboardRead, func(ctx context.Context, _ none) (Clip, error) { return v.ReadClipboard(ctx) })
	call(mux, routeSelectionRead, func(ctx context.Context, _ none) (Clip, error) { return v.ReadSelection(ctx) })
	do(mux, routeClipboardWrite, func(ctx context.Context, c Clip) error { return v.WriteClipboard(ctx, c) })
	call(mux, routeScreenshot, func(ctx context.Context, s Shot) ([]byte, error) { return v.Screenshot(ctx, s) })
	call(mux, routeHotkeyPause, func(ctx context.Context, r reqOn) (HotkeyState, error) { return v.PauseHotkey(ctx, r.On) })
	do(mux, routeNotify, func(ctx context.Context, r reqNotify) error { return v.Notify(ctx, r.Title, r.Text, r.Session) })
}

func ownerRoutes(mux *http.ServeMux, v Owner) {
	do(mux, routeOwnerTray, func(ctx context.Context, env DesktopEnv) error { return v.BecomeTray(ctx, env) })
	call(mux, routeOwnerState, func(ctx context.Context, _ none) (State, error) { return v.State(ctx) })
	stream(mux, routeOwnerWatch, func(ctx context.Context, a *answer, _ none) error {
		return v.WatchState(ctx, func(st State) error { return a.value(st) })
	})
	call(mux, routeOwnerDoctor, func(ctx context.Context, _ none) ([]Check, error) { return v.Doctor(ctx) })
	call(mux, routeOwnerStats, func(ctx context.Context, _ none) (Stats, error) { return v.Stats(ctx) })
	do(mux, routeOwnerQuit, func(ctx context.Context, _ none) error { return v.Quit(ctx) })
}
