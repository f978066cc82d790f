package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"
	"time"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/providers"
	"perch/store"
)

// Models turns a model string into a provider and what is known of the model.
type Models interface {
	Resolve(ctx context.Context, name string) (providers.Provider, providers.ModelInfo, error)
}

// Estimator counts tokens for one model.
type Estimator interface {
	// Name identifies the weights, so that counts made with others are redone.
	Name() string
	Text(s string) int
	Message(m *chat.Message) int
	Tools(defs []chat.ToolDef) int
}

// Permissions decides what a call may do and keeps what was answered.
type Permissions interface {
	// Decide says what becomes of a call that needs these.
	Decide(g Grants, tool string, needs []chat.Need) Decision
	// Answered keeps an answer for the session or for always.
	Answered(session, tool string, asked []chat.Need, v control.Verdict) error
	// Granted lists the subjects of a kind that a session may use of this tool.
	Granted(session, tool string, kind chat.NeedKind) []string
}

// Grants are what a run was given in advance.
type Grants struct {
	Session     string
	Allow       []chat.NeedKind // --allow
	Attached    []string        // desktop things that the user attached
	Interactive bool            // somebody can answer
	Untrusted   bool            // the run has read something from outside
}

// Decision is what becomes of a call.
type Decision struct {
	Verdict Verdict
	// Reason tells the model why a call is denied.
	Reason string
	// Asking are the needs that the question is about.
	Asking []chat.Need
}

// Verdict is allow, ask or deny.
type Verdict uint8

// The verdicts of [Permissions.Decide].
const (
	Allow Verdict = iota + 1
	AskUser
	Deny
)

// Approver asks the user. It is called after the Permission event was yielded
// and blocks until there is an answer or ctx ends; it never times out into yes.
type Approver interface {
	Approve(ctx context.Context, q *chat.Permission) (control.Answer, error)
}

// Snapshots keeps copies of files before a run changes them.
type Snapshots interface {
	BeforeWrite(run, path string) error
}

// Options are what a Runner works with. Store, Models, Tools and Estimator are
// required.
type Options struct {
	Store     store.Store
	Models    Models
	Estimator func(m providers.ModelInfo) Estimator
	// Tools returns the tools of a run. It is called once at its start.
	Tools       func(ctx context.Context) []chat.Tool
	Validate    func(def chat.ToolDef, input []byte) error
	Permissions Permissions // nil: everything is allowed that does not ask
	Approver    Approver    // nil: the answer is no
	Snapshots   Snapshots   // nil: nothing is kept
	Config      func() config.Config
	// Memory and Skills are sections of the system prompt.
	Memory func() string
	Skills func() string
	// SpoolDir returns the folder for files of a session.
	SpoolDir func(session string) (string, error)
	// Scrub removes known secrets from what a tool returns.
	Scrub func(string) string
	// Panicked is told of a panic inside a tool, with its stack.
	Panicked func(value any, stack []byte)
	// Appended is told of each message right after it was stored.
	Appended func(session, run string, m chat.Message)
	// Ended is told the outcome of each run, for the statistics.
	Ended func(res chat.Result, calls map[string]int)
	// SpentToday is the cost of all runs of the day in US dollars.
	SpentToday func() float64
	// Ratio and Learn keep the ratio of reported to estimated tokens per model.
	Ratio func(model string) float64
	Learn func(model string, reported, estimated int)
	// Now gives the time of messages and the date of the prompt; nil is time.Now.
	Now func() time.Time
}

// Request is one user request.
type Request struct {
	Session string
	Text    string
	Images  []chat.Image
	Files   []string
	Model   string // overrides the session's
	Environ []string
	Grants  Grants
	// Continue works on what the session holds already, without a new message.
	Continue bool
	// Record receives the run for replay, nil for none.
	Record *Recorder
	// Run is the id to use; empty makes one.
	Run string
	// MessageID is the id of the user's message; empty makes one.
	MessageID string
}

// Runner works requests. It may run several at once, on different sessions.
type Runner struct {
	o     Options
	facts facts
}

// New returns a runner.
func New(o Options) *Runner {
	if o.Config == nil {
		o.Config = config.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Memory == nil {
		o.Memory = func() string { return "" }
	}
	if o.Skills == nil {
		o.Skills = func() string { return "" }
	}
	if o.Scrub == nil {
		o.Scrub = func(s string) string { return s }
	}
	if o.SpentToday == nil {
		o.SpentToday = func() float64 { return 0 }
	}
	if o.Ratio == nil {
		o.Ratio = func(string) float64 { return 1 }
	}
	if o.Learn == nil {
		o.Learn = func(string, int, int) {}
	}
	if o.Tools == nil {
		o.Tools = func(context.Context) []chat.Tool { return nil }
	}
	return &Runner{o: o}
}

// Run works a request and returns its outcome: it drains [Runner.Stream].
func (r *Runner) Run(ctx context.Context, req Request) (chat.Result, error) {
	var res chat.Result
	for e, err := range r.Stream(ctx, req) {
		if err != nil {
			return res, err
		}
		if d, ok := e.(*chat.Done); ok {
			res = d.Result
		}
	}
	return res, nil
}

// Stream works a request and yields its events up to Done.
func (r *Runner) Stream(ctx context.Context, req Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		x, err := r.begin(ctx, req, yield)
		if err != nil {
			yield(nil, err)
			return
		}
		defer x.cancel(nil)
		x.work()
	}
}

// NewID returns a random id with a prefix that tells its kind.
func NewID(prefix string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails on supported systems
	return prefix + hex.EncodeToString(b[:])
}

// begin loads the session and prepares a run. Its errors are those for which no
// Done can be made: misuse, and a store that does not serve.
func (r *Runner) begin(ctx context.Context, req Request, yield func(chat.Event, error) bool) (*run, error) {
	if req.Session == "" {
		return nil, chat.NewError(chat.ClassMisuse, "err.no_session", "A run needs a session.")
	}
	if req.Text == "" && len(req.Images) == 0 && len(req.Files) == 0 && !req.Continue {
		return nil, chat.NewError(chat.ClassMisuse, "err.empty_question", "The question is empty. Type something first.")
	}
	sess, err := r.o.Store.Load(req.Session)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, chat.NewError(chat.ClassMisuse, "err.session_not_found", "There is no session %s. `perch sessions` lists them.", req.Session).Wrap(err)
		}
		return nil, err
	}
	if req.Run == "" {
		req.Run = NewID("r")
	}
	x := &run{
		Runner: r, req: req, yield: yield, cfg: r.o.Config(),
		sess: sess, env: nil, calls: map[string]int{}, started: time.Now(),
		res: chat.Result{Session: req.Session, ToolFailures: []chat.ToolFailures{}},
	}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	return x, nil
}
