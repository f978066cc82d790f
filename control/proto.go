package control

import (
	"errors"
	"net/http"

	"perch/chat"
)

// Routes of the protocol. Each is a POST with a JSON object as its body, which
// may be empty; /v1/version may be asked by GET, too. Answers are one JSON value;
// those marked as streams are one JSON value a line. A failure is an HTTP error
// status with {"error": …}; after the first line of a stream it is in the
// trailer Perch-Error. The three open ones need no token.
const (
	routeVersion = "/v1/version"
	routeToggle  = "/v1/toggle"
	routeShow    = "/v1/show"

	routeSessionsList     = "/v1/sessions/list"
	routeSessionsCreate   = "/v1/sessions/create"
	routeSessionsView     = "/v1/sessions/view"
	routeSessionsPatch    = "/v1/sessions/patch"
	routeSessionsDelete   = "/v1/sessions/delete"
	routeSessionsRestore  = "/v1/sessions/restore"
	routeSessionsClear    = "/v1/sessions/clear"
	routeSessionsFork     = "/v1/sessions/fork"
	routeSessionsTruncate = "/v1/sessions/truncate"
	routeSessionsPin      = "/v1/sessions/pin"
	routeSessionsExport   = "/v1/sessions/export" // stream
	routeSessionsImport   = "/v1/sessions/import" // the body is what export wrote
	routeSessionsImage    = "/v1/sessions/image"  // answers with the bytes

	routeRunsAsk     = "/v1/runs/ask"
	routeRunsStop    = "/v1/runs/stop"
	routeRunsAnswer  = "/v1/runs/answer"
	routeRunsWatch   = "/v1/runs/watch" // stream
	routeRunsCompact = "/v1/runs/compact"
	routeRunsUndo    = "/v1/runs/undo-compaction"
	routeRunsRevert  = "/v1/runs/revert"
	routeRunsUnqueue = "/v1/runs/unqueue"

	routeModelsList     = "/v1/models/list"
	routeModelsCheck    = "/v1/models/check"
	routeModelsDiscover = "/v1/models/discover"
	routeModelsTokens   = "/v1/models/tokens"

	routeSettingsGet = "/v1/settings/get"
	routeSettingsSet = "/v1/settings/set"

	routeKBStatus = "/v1/kb/status"
	routeKBAdd    = "/v1/kb/add" // stream
	routeKBRemove = "/v1/kb/remove"
	routeKBSearch = "/v1/kb/search"

	routeMemoryShow    = "/v1/memory/show"
	routeMemoryAdd     = "/v1/memory/add"
	routeMemoryRemove  = "/v1/memory/remove"
	routeMemoryReplace = "/v1/memory/replace"

	routeAuthStatus = "/v1/auth/status"
	routeAuthKey    = "/v1/auth/key"
	routeAuthLogin  = "/v1/auth/login" // stream
	routeAuthLogout = "/v1/auth/logout"

	routeRulesList   = "/v1/rules/list"
	routeRulesRevoke = "/v1/rules/revoke"

	routeClipboardRead  = "/v1/desktop/clipboard"
	routeSelectionRead  = "/v1/desktop/selection"
	routeClipboardWrite = "/v1/desktop/clipboard-set"
	routeScreenshot     = "/v1/desktop/screenshot"
	routeHotkeyPause    = "/v1/desktop/hotkey-pause"
	routeNotify         = "/v1/desktop/notify"

	routeFrontCommand = "/v1/front/command"
	routeFrontAttach  = "/v1/front/attach" // stream
	routeFrontAck     = "/v1/front/ack"

	routeOwnerTray   = "/v1/owner/tray"
	routeOwnerState  = "/v1/owner/state"
	routeOwnerWatch  = "/v1/owner/watch" // stream
	routeOwnerDoctor = "/v1/owner/doctor"
	routeOwnerStats  = "/v1/owner/stats"
	routeOwnerQuit   = "/v1/owner/quit"
)

// open are the routes that need no token: they tell nothing and do nothing that
// a key press could not do.
var open = map[string]bool{routeVersion: true, routeToggle: true, routeShow: true}

// trailerError carries a failure that came after a stream had begun.
const trailerError = "Perch-Error"

// Types of content.
const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
)

// none is the body of what needs none, and the answer of what has none.
type none struct{}

// The bodies of requests that are no type of the API.
type (
	reqID struct {
		ID string `json:"id"`
	}
	reqPatch struct {
		ID    string       `json:"id"`
		Patch SessionPatch `json:"patch"`
	}
	reqMessage struct {
		ID      string `json:"id"`
		Message string `json:"message"`
		On      bool   `json:"on,omitempty"`
	}
	reqList struct {
		Search string `json:"search,omitempty"`
		Limit  int    `json:"limit,omitempty"`
	}
	reqHash struct {
		Hash string `json:"hash"`
	}
	reqAsk struct {
		Session string `json:"session"`
		Ask
	}
	reqAnswer struct {
		Run string `json:"run"`
		Answer
	}
	reqText struct {
		Model string `json:"model,omitempty"`
		Text  string `json:"text"`
	}
	reqSet struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	reqPaths struct {
		Paths []string `json:"paths"`
	}
	reqSearch struct {
		Query string `json:"query"`
		K     int    `json:"k,omitempty"`
	}
	reqMemory struct {
		Part    string   `json:"part,omitempty"`
		Text    string   `json:"text,omitempty"`
		Entries []string `json:"entries,omitempty"`
	}
	reqAuth struct {
		Provider string `json:"provider"`
		Key      string `json:"key,omitempty"`
		Device   bool   `json:"device,omitempty"`
	}
	reqOn struct {
		On bool `json:"on"`
	}
	reqNotify struct {
		Title   string `json:"title"`
		Text    string `json:"text"`
		Session string `json:"session,omitempty"`
	}
	reqCommand struct {
		Env     DesktopEnv   `json:"env"`
		Command FrontCommand `json:"command"`
	}
	reqAttach struct {
		Display string `json:"display"`
		PID     int    `json:"pid"`
	}
	reqAck struct {
		Display string   `json:"display"`
		Ack     FrontAck `json:"ack"`
	}
)

// kbLine is a line of the stream of an indexing.
type kbLine struct {
	Progress *KBStatus `json:"progress,omitempty"`
	Result   *KBStatus `json:"result,omitempty"`
}

// failure is the body of an error answer.
type failure struct {
	Error *chat.Error `json:"error"`
}

// Errors that a client decides on.
var (
	// ErrNotRunning says that nobody serves the socket.
	ErrNotRunning = errors.New("perch is not running")
	// ErrNoAnswer says that the process that holds the socket does not answer.
	ErrNoAnswer = errors.New("perch does not answer")
	// ErrProtocol says that the running Perch speaks another version.
	ErrProtocol = errors.New("perch speaks another protocol")
	// ErrOwned says that another process owns this Perch.
	ErrOwned = errors.New("another perch owns this folder")
)

// statusOf is the HTTP status for a class of error. Clients go by the body.
func statusOf(c chat.Class) int {
	switch c {
	case chat.ClassMisuse, chat.ClassBadRequest:
		return http.StatusBadRequest
	case chat.ClassInternal, chat.ClassStore:
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}
