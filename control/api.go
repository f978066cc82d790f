// Package control is the control socket: its protocol, its client and its
// server. It speaks HTTP with JSON over a Unix domain socket that only the user
// may open. Commands are requests; what happens is a streamed response of one
// JSON value a line. A watcher that closes its connection never ends a run.
//
// The server serves the interfaces of [Services], which the harness and the
// product fulfil; this package knows none of them. Every request but version,
// toggle and show needs the token from a 0600 file in Perch's data folder.
package control

import (
	"context"
	"encoding/json"
	"time"

	"perch/chat"
)

// Protocol is the version of this protocol. A client that finds another one
// offers a restart of the older side.
const Protocol = 1

// Version is the handshake.
type Version struct {
	Version  string `json:"version"` // of the program
	Commit   string `json:"commit,omitempty"`
	Protocol int    `json:"protocol"`
	PID      int    `json:"pid"`
	Tray     bool   `json:"tray"` // whether the owner has a tray icon
}

// DesktopEnv is the environment that leads to a desktop. It comes from the
// client that has one.
type DesktopEnv struct {
	Display        string `json:"display,omitempty"`
	WaylandDisplay string `json:"wayland_display,omitempty"`
	XAuthority     string `json:"xauthority,omitempty"`
	Bus            string `json:"bus,omitempty"` // DBUS_SESSION_BUS_ADDRESS
	SessionType    string `json:"session_type,omitempty"`
	RuntimeDir     string `json:"runtime_dir,omitempty"`
	Desktop        string `json:"desktop,omitempty"` // XDG_CURRENT_DESKTOP
	// Extra are further variables a desktop process needs: input methods
	// (XMODIFIERS, GTK_IM_MODULE…), locale.
	Extra map[string]string `json:"extra,omitempty"`
}

// Activity is what a session is doing.
type Activity string

// The activities of a session. Done means done since the user last looked.
const (
	Idle    Activity = ""
	Running Activity = "running"
	Waiting Activity = "waiting" // for an answer of the user
	Done    Activity = "done"
	Failed  Activity = "failed"
)

// SessionInfo is a session without its messages.
type SessionInfo struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Model    string    `json:"model"` // as chosen; "" is the default
	Dir      string    `json:"dir"`   // working folder; "" is the setting
	Created  time.Time `json:"created"`
	Used     time.Time `json:"used"`
	Messages int       `json:"messages"`
	Pinned   bool      `json:"pinned,omitempty"`
	Draft    string    `json:"draft,omitempty"`
	Activity Activity  `json:"activity,omitempty"`
	Run      string    `json:"run,omitempty"` // of the run at work
	// Snippet is what a search matched.
	Snippet string `json:"snippet,omitempty"`
	// Problem says what could not be read, "" when all is well.
	Problem string `json:"problem,omitempty"`
}

// SessionView is a session as a view shows it: every message, those before a
// compaction too.
type SessionView struct {
	SessionInfo
	History []chat.Message `json:"history"`
	// Marks say where compactions happened.
	Marks []CompactionMark `json:"marks,omitempty"`
	// PinnedMessages are the ids of messages that survive every compaction.
	PinnedMessages []string `json:"pinned_messages,omitempty"`
	// Pending are messages typed while a run works.
	Pending []string `json:"pending,omitempty"`
	Context Context  `json:"context"`
}

// CompactionMark says that the messages before Before were replaced by a summary.
type CompactionMark = chat.CompactionMark

// Context says how full the window is and with what, in tokens.
type Context struct {
	Window  int `json:"window"`
	Prompt  int `json:"prompt"`
	Tools   int `json:"tools"`
	Memory  int `json:"memory"` // part of Prompt
	History int `json:"history"`
}

// Share is the occupancy, 0…1 or more.
func (c Context) Share() float64 {
	if c.Window == 0 {
		return 0
	}
	return float64(c.Prompt+c.Tools+c.History) / float64(c.Window)
}

// NewSession asks for a session.
type NewSession struct {
	Title string `json:"title,omitempty"`
	Model string `json:"model,omitempty"`
	Dir   string `json:"dir,omitempty"`
	// Temporary keeps the session in memory only.
	Temporary bool `json:"temporary,omitempty"`
}

// SessionPatch changes what is not nil.
type SessionPatch struct {
	Title  *string `json:"title,omitempty"`
	Model  *string `json:"model,omitempty"`
	Dir    *string `json:"dir,omitempty"`
	Pinned *bool   `json:"pinned,omitempty"`
	Draft  *string `json:"draft,omitempty"`
	// Seen clears the Done and Failed marks.
	Seen bool `json:"seen,omitempty"`
}

// SessionQuery selects sessions, newest first.
type SessionQuery struct {
	Search string // words that must occur in a session's texts or title
	Limit  int    // 0 is all
}

// Ask starts a run, or steers the one at work on that session.
type Ask struct {
	Text string `json:"text"`
	// Images hold Data; Files are paths that are named to the model.
	Images []chat.Image `json:"images,omitempty"`
	Files  []string     `json:"files,omitempty"`
	Model  string       `json:"model,omitempty"` // for this run and the session from now on
	// Env is the client's allowlisted environment for the tools of this run.
	Env map[string]string `json:"env,omitempty"`
	// Allow are the kinds of need granted in advance.
	Allow []chat.NeedKind `json:"allow,omitempty"`
	// Interactive says that the client can answer questions. Without an
	// interactive client or popup the answer is no.
	Interactive bool `json:"interactive,omitempty"`
	// Keys are credentials for this run only, by variable name; kept in memory.
	Keys map[string]string `json:"keys,omitempty"`
	// Holds names the vendor variables that the client has, without values.
	Holds []string `json:"holds,omitempty"`
	// Record is a file to record the run to.
	Record string `json:"record,omitempty"`
	// Attached are desktop things that the user attached, which the run's tools
	// may then read without asking ("clipboard.read", "screenshot").
	Attached []string `json:"attached,omitempty"`
}

// AskReply says what became of an [Ask].
type AskReply struct {
	Session string `json:"session"`
	Run     string `json:"run"`
	// Steered is true when the text was queued for a run at work.
	Steered bool `json:"steered,omitempty"`
	// NeedKey is the variable whose value the owner lacks; nothing was started,
	// ask again with Keys.
	NeedKey string `json:"need_key,omitempty"`
}

// Verdict answers a permission question.
type Verdict string

// The answers to a permission question.
const (
	Once   Verdict = "once"
	InRun  Verdict = "session"
	Always Verdict = "always"
	No     Verdict = "no"
)

// Answer answers the permission question of one call of one run; the first
// answer counts.
type Answer struct {
	Call    string  `json:"call"`
	Verdict Verdict `json:"verdict"`
	// Words are the user's own, told to the model with a no.
	Words string `json:"words,omitempty"`
}

// Frame is one line of a watch. Exactly one field is set.
type Frame struct {
	// Snapshot replaces everything the view knew.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// Event follows the snapshot or the event before it.
	Event json.RawMessage `json:"event,omitempty"`
	// Message is a message of the user that entered the history, at its place
	// between the events. A view that showed it already knows it by its text.
	Message *chat.Message `json:"message,omitempty"`
	// Session is sent when title, draft, activity or context changed.
	Session *SessionInfo `json:"session,omitempty"`
	// Alive is a sign of life on a quiet stream.
	Alive bool `json:"alive,omitempty"`
}

// Snapshot is the state of a session at one moment, the run at work included.
type Snapshot struct {
	View SessionView `json:"view"`
	Live *Live       `json:"live,omitempty"`
}

// Live is the part of a run at work that the history does not hold yet.
type Live struct {
	Run string `json:"run"`
	Seq int64  `json:"seq"` // of the last event that the snapshot includes
	// Text and Thinking are of the answer that is streaming now.
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// Calls are those of the current round, with their results so far.
	Calls []LiveCall `json:"calls,omitempty"`
	// Question waits for an answer.
	Question *chat.Permission `json:"question,omitempty"`
	// Retry is set while the run waits for another attempt.
	Retry *chat.Retry `json:"retry,omitempty"`
}

// LiveCall is a tool call of the current round.
type LiveCall struct {
	Start    chat.ToolStart `json:"start"`
	Progress string         `json:"progress,omitempty"`
	End      *chat.ToolEnd  `json:"end,omitempty"`
}

// State is what tray and popup show of the whole program.
type State struct {
	Activity Activity      `json:"activity"` // the most urgent of all sessions
	Recent   []SessionInfo `json:"recent"`   // the ten newest
	Hotkey   HotkeyState   `json:"hotkey"`
	Problems []string      `json:"problems,omitempty"` // visible lines, such as a helper that had to be restarted
	Model    string        `json:"model"`              // the default, resolved
	Tray     bool          `json:"tray"`
	// FirstStart asks the popup to show the page that connects a model.
	FirstStart bool `json:"first_start,omitempty"`
}

// HotkeyState is the state of the global hotkey.
type HotkeyState struct {
	Combo  string `json:"combo"` // as in the settings
	Active bool   `json:"active"`
	Paused bool   `json:"paused,omitempty"`
	// Problem is a sentence with what to do: "taken by another program", "no
	// display", "Wayland without GlobalShortcuts portal".
	Problem string `json:"problem,omitempty"`
}

// Model is a model that can be chosen.
type Model struct {
	ID            string  `json:"id"` // provider/model
	Name          string  `json:"name,omitempty"`
	ContextWindow int     `json:"context_window"`
	MaxOutput     int     `json:"max_output"`
	Vision        bool    `json:"vision"`
	Reasoning     bool    `json:"reasoning"`
	Local         bool    `json:"local,omitempty"`
	Ready         bool    `json:"ready"` // credentials are there, or none are needed
	CostIn        float64 `json:"cost_in"`
	CostOut       float64 `json:"cost_out"`
}

// ModelCheck is the outcome of a connection test.
type ModelCheck struct {
	Model string      `json:"model"`
	OK    bool        `json:"ok"`
	Error *chat.Error `json:"error,omitempty"`
}

// Services are what the server serves. A nil one answers that it is not
// available here.
type Services struct {
	Sessions  Sessions
	Runs      Runs
	Models    Models
	Settings  Settings
	Knowledge Knowledge
	Memory    Memory
	Auth      Auth
	Rules     Rules
	Desktop   Desktop
	Front     Front
	Owner     Owner
}

// Owner is the process itself.
type Owner interface {
	// BecomeTray gives a detached owner a tray icon on that desktop.
	BecomeTray(ctx context.Context, env DesktopEnv) error
	// State returns the state and, if watch is not nil, sends every later one
	// until ctx ends.
	State(ctx context.Context) (State, error)
	WatchState(ctx context.Context, send func(State) error) error
	// Doctor runs the checks that only the owner can run.
	Doctor(ctx context.Context) ([]Check, error)
	Stats(ctx context.Context) (Stats, error)
	// Quit ends the owner after it has saved everything.
	Quit(ctx context.Context) error
}

// Check is one finding of the doctor.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Warn   bool   `json:"warn,omitempty"` // not OK but Perch works without it
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // how to mend it
}

// Stats are sums over all runs.
type Stats struct {
	Runs         int                  `json:"runs"`
	Failed       int                  `json:"failed"`
	Retries      int                  `json:"retries"`
	Compactions  int                  `json:"compactions"`
	Rounds       int                  `json:"rounds"`
	Refused      int                  `json:"refused"`
	Usage        chat.Usage           `json:"usage"`
	Today        chat.Usage           `json:"today"`
	ToolCalls    map[string]int       `json:"tool_calls,omitempty"`
	ToolFailures []chat.ToolFailures  `json:"tool_failures,omitempty"`
	Timings      chat.Timings         `json:"timings_ms"`
	Models       map[string]ModelStat `json:"models,omitempty"`
}

// ModelStat are the sums of one model.
type ModelStat struct {
	Runs  int        `json:"runs"`
	Usage chat.Usage `json:"usage"`
}

// Sessions are the stored conversations.
type Sessions interface {
	ListSessions(ctx context.Context, q SessionQuery) ([]SessionInfo, error)
	CreateSession(ctx context.Context, n NewSession) (SessionInfo, error)
	// ViewSession takes an id or "last".
	ViewSession(ctx context.Context, id string) (SessionView, error)
	PatchSession(ctx context.Context, id string, p SessionPatch) (SessionInfo, error)
	DeleteSession(ctx context.Context, id string) error
	// RestoreSession undoes a delete that is less than a minute old.
	RestoreSession(ctx context.Context, id string) error
	ClearSession(ctx context.Context, id string) error
	// ForkSession copies the history up to and including a message ("" is all).
	ForkSession(ctx context.Context, id, message string) (SessionInfo, error)
	// TruncateSession removes a message and all after it (edit and resend).
	TruncateSession(ctx context.Context, id, message string) error
	PinMessage(ctx context.Context, id, message string, on bool) error
	ExportSession(ctx context.Context, id string, write func(line []byte) error) error
	ImportSession(ctx context.Context, next func() ([]byte, error)) (SessionInfo, error)
	Image(ctx context.Context, hash string) (data []byte, mime string, err error)
}

// Runs are runs at work.
type Runs interface {
	Ask(ctx context.Context, session string, a Ask) (AskReply, error)
	Stop(ctx context.Context, run string) error
	Answer(ctx context.Context, run string, a Answer) error
	// Watch sends a snapshot and then frames until ctx ends or send fails. It
	// follows the session over all its runs. send is called from one goroutine.
	Watch(ctx context.Context, session string, send func(Frame) error) error
	Compact(ctx context.Context, session string) error
	UndoCompaction(ctx context.Context, session string) error
	// Revert puts back every file that a run changed and returns their paths.
	Revert(ctx context.Context, run string) ([]string, error)
	// Unqueue takes back a pending message as a draft.
	Unqueue(ctx context.Context, session string) (string, error)
}

// Models are the models that can be chosen.
type Models interface {
	ListModels(ctx context.Context) ([]Model, error)
	CheckModel(ctx context.Context, model string) (ModelCheck, error)
	// Discover looks for local servers and keys in the environment.
	Discover(ctx context.Context) ([]Found, error)
	// EstimateTokens counts a text for a model.
	EstimateTokens(ctx context.Context, model, text string) (int, error)
}

// Found is a way to connect a model that was found on this machine.
type Found struct {
	Kind     string `json:"kind"` // "server" or "key"
	Provider string `json:"provider"`
	Model    string `json:"model"`  // a good default
	Detail   string `json:"detail"` // the address or the variable's name
}

// Settings are config.toml.
type Settings interface {
	// Settings returns the effective settings as JSON with the keys of config.toml.
	Settings(ctx context.Context) (json.RawMessage, error)
	// Set writes one key ("context.compact_at") and keeps the file's comments.
	// A nil value removes it.
	Set(ctx context.Context, key string, value any) error
}

// KBStatus is the state of the knowledge base.
type KBStatus struct {
	Folders   []KBFolder  `json:"folders"`
	Documents int         `json:"documents"`
	Chunks    int         `json:"chunks"`
	Vectors   int         `json:"vectors"`
	Model     string      `json:"model,omitempty"` // of the vectors
	Working   string      `json:"working,omitempty"`
	Done      int         `json:"done,omitempty"` // files of the pass at work
	Total     int         `json:"total,omitempty"`
	Problems  []KBProblem `json:"problems,omitempty"`
}

// KBFolder is one indexed folder or file.
type KBFolder struct {
	Path      string    `json:"path"`
	Documents int       `json:"documents"`
	Chunks    int       `json:"chunks"`
	Skipped   int       `json:"skipped"`
	Indexed   time.Time `json:"indexed,omitzero"`
}

// KBProblem says why a file is not in the index.
type KBProblem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Knowledge is the knowledge base.
type Knowledge interface {
	KBStatus(ctx context.Context) (KBStatus, error)
	// KBAdd indexes folders or files and returns when they are searchable;
	// progress may be nil.
	KBAdd(ctx context.Context, paths []string, progress func(KBStatus)) (KBStatus, error)
	KBRemove(ctx context.Context, path string) error
	KBSearch(ctx context.Context, query string, k int) ([]chat.SearchHit, error)
}

// MemoryView is what is remembered.
type MemoryView struct {
	Profile MemoryPart `json:"profile"`
	Notes   MemoryPart `json:"notes"`
}

// MemoryPart is one part of the memory.
type MemoryPart struct {
	Entries []MemoryEntry `json:"entries"`
	Used    int           `json:"used"` // runes
	Limit   int           `json:"limit"`
}

// MemoryEntry is one remembered text. Masked says why it stays out of the prompt.
type MemoryEntry struct {
	Text   string `json:"text"`
	Masked string `json:"masked,omitempty"`
}

// Memory is the memory across sessions.
type Memory interface {
	Memory(ctx context.Context) (MemoryView, error)
	MemoryAdd(ctx context.Context, part, text string) error
	MemoryRemove(ctx context.Context, text string) error
	// MemoryReplace sets all entries of a part.
	MemoryReplace(ctx context.Context, part string, entries []string) error
}

// AuthStatus is the state of one provider's credentials.
type AuthStatus struct {
	Provider string    `json:"provider"`
	Kind     string    `json:"kind"`  // "key", "oauth", "none needed", ""
	Place    string    `json:"place"` // "keyring", "file", "environment", "config"
	Detail   string    `json:"detail,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// LoginStep is one step of a sign-in, for the user.
type LoginStep struct {
	// URL is to be opened; Code is to be typed there (device code).
	URL  string `json:"url,omitempty"`
	Code string `json:"code,omitempty"`
	Text string `json:"text,omitempty"`
	Done bool   `json:"done,omitempty"`
}

// Auth are credentials. No secret is ever returned.
type Auth interface {
	AuthStatus(ctx context.Context) ([]AuthStatus, error)
	SetKey(ctx context.Context, provider, key string) (place string, err error)
	// Login signs in by OAuth; device asks for the device-code flow.
	Login(ctx context.Context, provider string, device bool, step func(LoginStep) error) error
	Logout(ctx context.Context, provider string) error
}

// Rule is a permission given for always.
type Rule struct {
	ID      string        `json:"id"`
	Tool    string        `json:"tool"`
	Kind    chat.NeedKind `json:"kind"`
	Subject string        `json:"subject"` // a path, command prefix or host
	Created time.Time     `json:"created"`
}

// Rules are the permissions given for always.
type Rules interface {
	ListRules(ctx context.Context) ([]Rule, error)
	RevokeRule(ctx context.Context, id string) error
}

// Clip is the content of a clipboard or selection.
type Clip struct {
	Text string `json:"text,omitempty"`
	PNG  []byte `json:"png,omitempty"`
}

// Shot says what to take a picture of.
type Shot struct {
	What string `json:"what"` // "screen", "window", "region"
	// Rect is the region in pixels: x, y, width, height.
	Rect [4]int `json:"rect,omitempty"`
	// Window is an X11 window id; 0 is the one with the focus before the popup.
	Window uint32 `json:"window,omitempty"`
}

// Desktop is the desktop role's services.
type Desktop interface {
	ReadClipboard(ctx context.Context) (Clip, error)
	// ReadSelection reads the primary selection, the selected text.
	ReadSelection(ctx context.Context) (Clip, error)
	// WriteClipboard makes Perch the owner of that content.
	WriteClipboard(ctx context.Context, c Clip) error
	Screenshot(ctx context.Context, s Shot) (png []byte, err error)
	// CaptureHotkey pauses the hotkey while settings read a new one; Resume
	// registers again and reports the state.
	PauseHotkey(ctx context.Context, on bool) (HotkeyState, error)
	Notify(ctx context.Context, title, text, session string) error
}

// FrontCommand is an order to a popup.
type FrontCommand struct {
	ID int64 `json:"id"`
	// What is "show", "hide", "toggle", "settings", "knowledge", "sessions",
	// "prompt" or "quit".
	What    string `json:"what"`
	Session string `json:"session,omitempty"` // to open; "new" for a new one
	Prompt  string `json:"prompt,omitempty"`  // name of a prompt action
	// Pressed is when the hotkey was pressed, for the figures.
	Pressed time.Time `json:"pressed,omitzero"`
}

// FrontAck answers a command; it comes from the window's thread.
type FrontAck struct {
	ID      int64 `json:"id"`
	Visible bool  `json:"visible"`
	Focused bool  `json:"focused"`
	// Session is the one shown, so that notifications spare it.
	Session string `json:"session,omitempty"`
	// OwnsSelection says that the popup must not be suspended.
	OwnsSelection bool `json:"owns_selection,omitempty"`
}

// Front is the popup of each display.
type Front interface {
	// Command sends an order to the popup of that display, starting it if need
	// be, and waits for its answer.
	Command(ctx context.Context, env DesktopEnv, c FrontCommand) (FrontAck, error)
	// Attach is a popup's connection: it receives commands until ctx ends.
	Attach(ctx context.Context, display string, pid int, send func(FrontCommand) error) error
	// Ack answers a command, or (ID 0) reports a change of state.
	Ack(ctx context.Context, display string, a FrontAck) error
}
