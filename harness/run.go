package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"perch/chat"
	"perch/config"
	"perch/providers"
	"perch/store"
)

// errConsumerGone is the cause of an abort by a consumer that stopped ranging.
var errConsumerGone = errors.New("nobody listens any more")

// run is one request at work. It lives on the goroutine that ranges over the
// stream; only tools run beside it.
type run struct {
	*Runner
	req    Request
	cfg    config.Config
	ctx    context.Context
	cancel context.CancelCauseFunc
	yield  func(chat.Event, error) bool
	seq    int64
	gone   bool // the consumer stopped ranging

	sess     *store.Loaded
	provider providers.Provider
	info     providers.ModelInfo
	tools    map[string]chat.Tool
	defs     []chat.ToolDef
	system   string
	memory   string // the prompt's section, as it was at the start
	env      *env
	win      window

	res       chat.Result
	calls     map[string]int // tool calls by name
	started   time.Time
	text      strings.Builder // the final text, joined over continued answers
	continued int
	empties   int
	repeat    repeats
	untrusted bool
	summaries summaryState
}

// emit yields an event. After the consumer has gone it does nothing.
func (x *run) emit(e chat.Event) {
	if x.gone {
		return
	}
	x.seq++
	chat.Stamp(e, x.req.Run, x.seq)
	if x.req.Record != nil {
		x.req.Record.event(e)
	}
	if !x.yield(e, nil) {
		x.gone = true
		x.cancel(errConsumerGone)
	}
}

func (x *run) notice(id, format string, args ...any) {
	n := &chat.Notice{ID: id, Text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		n.Args = append(n.Args, fmt.Sprint(a))
	}
	x.emit(n)
}

// work does the run and yields Done, whatever happens.
func (x *run) work() {
	stop, e := x.loop()
	if e != nil {
		stop = chat.StopError
		if e.Class == chat.ClassAborted || x.ctx.Err() != nil {
			stop, e = chat.StopAborted, chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.").Wrap(context.Cause(x.ctx))
		}
	}
	x.res.StopReason, x.res.Error = stop, e
	x.res.Text = x.text.String()
	x.res.Model = x.info.String()
	if x.info.ID == "" {
		x.res.Model = x.modelName()
	}
	if _, err := x.o.Store.UpdateMeta(x.req.Session, func(m *chat.SessionMeta) { m.Used = x.o.Now() }); err != nil && e == nil {
		x.res.Error = storeError(err)
	}
	if x.o.Ended != nil {
		x.o.Ended(x.res, x.calls)
	}
	x.emit(&chat.Done{Result: x.res})
}

// modelName is the model string of this run before it is resolved.
func (x *run) modelName() string {
	switch {
	case x.req.Model != "":
		return x.req.Model
	case x.sess.Meta.Model != "":
		return x.sess.Meta.Model
	}
	return x.cfg.Model
}

// loop is the run: from the user's message to the model's end.
func (x *run) loop() (chat.StopReason, *chat.Error) {
	if x.sess.Repair.Changed() {
		x.notice("notice.repaired", "This session was put right after an interruption.")
	}
	if x.sess.SetAside > 0 {
		x.notice("notice.set_aside", "%d entries of this session could not be read and were set aside.", x.sess.SetAside)
	}
	if e := x.resolve(); e != nil {
		// The question is kept all the same, so that nothing typed is lost.
		if err := x.appendQuestion(); err != nil {
			return "", storeError(err)
		}
		return "", e
	}
	if e := x.checkQuestion(); e != nil {
		return "", e
	}
	if err := x.appendQuestion(); err != nil {
		return "", storeError(err)
	}
	if e := x.takePending(); e != nil {
		return "", e
	}
	if x.req.Continue && x.answeredAlready() {
		return chat.StopEnd, nil
	}
	return x.turns()
}

// answeredAlready reports whether the history ends with an answer, so that there
// is nothing to continue.
func (x *run) answeredAlready() bool {
	n := len(x.sess.Messages)
	if n == 0 {
		return true
	}
	m := &x.sess.Messages[n-1]
	return m.Role == chat.RoleAssistant && !m.HasCalls() && !m.Interrupted && m.Stop != chat.StopOutputLimit
}

// turns alternates model calls and tool rounds until the run ends.
func (x *run) turns() (chat.StopReason, *chat.Error) {
	overflowed := false
	for {
		if err := x.ctx.Err(); err != nil {
			return "", chat.AsError(err)
		}
		if e := x.checkBudget(); e != nil {
			return "", e
		}
		if e := x.compactIfNeeded(); e != nil {
			return "", e
		}
		m, e := x.callModel()
		after := next(0)
		switch {
		case e != nil && e.Class == chat.ClassOverflow:
			after = nextOverflow
		case e != nil:
			return "", e
		default:
			after = afterAnswer(m, x.continued)
		}
		switch after {
		case nextOverflow:
			if m != nil {
				x.takeBack(m, "the context window is full")
			}
			if overflowed || x.compactAfterOverflow() != nil {
				return "", x.overflowError(e)
			}
			overflowed = true
			continue
		case nextEmpty:
			if x.empties >= emptyRetries {
				return "", chat.NewError(chat.ClassEmpty, "err.empty_answer",
					"%s gave an empty answer twice. Ask again, or choose another model.", x.info.String())
			}
			x.empties++
			x.res.Retries++
			x.takeBack(m, "empty answer")
			continue
		}
		overflowed = false
		if after == nextEnd && m.HasCalls() {
			// A refusal runs nothing; calls without results must not be stored.
			m.Parts = slices.DeleteFunc(m.Parts, func(p chat.Part) bool { return p.Type == chat.PartCall })
		}
		if !isEmpty(m) || m.HasCalls() {
			if err := x.append(*m); err != nil {
				return "", storeError(err)
			}
		}
		x.res.Message = m
		if stop, e, done := x.follow(m, after); done {
			return stop, e
		}
	}
}

// follow does what comes after a stored answer; done says that the run is over.
func (x *run) follow(m *chat.Message, after next) (stop chat.StopReason, e *chat.Error, done bool) {
	switch after {
	case nextTools, nextCutOff:
		x.text.Reset()
		x.continued, x.empties = 0, 0
		x.res.Rounds++
		stop, e := x.round(m, after == nextCutOff)
		if stop != "" || e != nil {
			return stop, e, true
		}
		if limit := x.cfg.Limits.Rounds; limit > 0 && x.res.Rounds >= limit {
			x.notice("notice.round_limit", "Stopped after %d tool rounds. Say \"go on\" to continue.", limit)
			return chat.StopRoundLimit, nil, true
		}
		if e := x.takePending(); e != nil {
			return "", e, true
		}
		return "", nil, false
	case nextContinue:
		x.continued++
		if err := x.append(harnessMessage(continueText, x.o.Now())); err != nil {
			return "", storeError(err), true
		}
		return "", nil, false
	}
	switch m.Stop {
	case chat.StopRefusal, chat.StopContentFilter:
		x.notice("notice.refusal", "The model refused to answer this. Ask it another way, or choose another model.")
		return chat.StopRefusal, nil, true
	case chat.StopOutputLimit:
		x.notice("notice.output_limit", "The answer was cut off by the output limit, also after asking for the rest. Say \"go on\" to continue.")
		return chat.StopOutputLimit, nil, true
	}
	return chat.StopEnd, nil, true
}

func harnessMessage(text string, now time.Time) chat.Message {
	return chat.Message{ID: NewID("m"), Role: chat.RoleUser, Kind: chat.KindHarness, Time: now, Parts: []chat.Part{chat.Text(text)}}
}

func withdrawnOf(m *chat.Message) chat.Withdrawn {
	var w chat.Withdrawn
	if m == nil {
		return w
	}
	for i := range m.Parts {
		switch m.Parts[i].Type {
		case chat.PartText:
			w.TextBytes += len(m.Parts[i].Text)
		case chat.PartThinking:
			w.ThinkingBytes += len(m.Parts[i].Text)
		}
	}
	return w
}

// takeBack withdraws an answer that is void, from the view and the final text.
func (x *run) takeBack(m *chat.Message, reason string) {
	x.emit(&chat.Retry{Attempt: 1, Reason: reason, Withdrawn: withdrawnOf(m)})
	s := x.text.String()
	keep := max(len(s)-withdrawnOf(m).TextBytes, 0)
	x.text.Reset()
	x.text.WriteString(s[:keep])
}

// resolve finds model, tools and prompt, all fixed for the whole run.
func (x *run) resolve() *chat.Error {
	p, info, err := x.o.Models.Resolve(x.ctx, x.modelName())
	if err != nil {
		return chat.AsError(err)
	}
	x.provider, x.info = p, info
	x.tools = map[string]chat.Tool{}
	for _, t := range x.o.Tools(x.ctx) {
		x.tools[t.Definition().Name] = t
	}
	spool := ""
	if x.o.SpoolDir != nil {
		if spool, err = x.o.SpoolDir(x.req.Session); err != nil {
			return storeError(err)
		}
	}
	x.env = newEnv(x, spool)
	x.memory = x.o.Memory()
	x.system = systemPrompt(promptData{
		OS: promptOS(), Dir: x.env.dir, Date: promptDate(x.o.Now()),
		Memory: x.memory, Skills: x.o.Skills(), Tools: len(x.tools) > 0 && info.Tools,
	})
	return x.fitTools()
}

// checkQuestion refuses a message that alone would fill the window.
func (x *run) checkQuestion() *chat.Error {
	m := x.question()
	n := x.win.est.Message(&m)
	if n > x.win.budget.message {
		return chat.NewError(chat.ClassBadRequest, "err.question_too_long",
			"This message has about %d tokens; %s takes at most %d in one message. Attach it as a file instead, so that the model can read it in parts.",
			n, x.info.String(), x.win.budget.message)
	}
	return nil
}

// question is the user's message of this run.
func (x *run) question() chat.Message {
	id := x.req.MessageID
	if id == "" {
		id = NewID("m")
		x.req.MessageID = id
	}
	m := chat.Message{ID: id, Role: chat.RoleUser, Time: x.o.Now()}
	text := x.req.Text
	if len(x.req.Files) > 0 {
		var b strings.Builder
		b.WriteString(text)
		b.WriteString("\n\nAttached files (read them with read_file):")
		for _, f := range x.req.Files {
			b.WriteString("\n- " + f)
		}
		text = b.String()
	}
	if strings.TrimSpace(text) != "" {
		m.Parts = append(m.Parts, chat.Text(text))
	}
	for i := range x.req.Images {
		m.Parts = append(m.Parts, chat.Part{Type: chat.PartImage, Image: &x.req.Images[i]})
	}
	return m
}

// appendQuestion stores the user's message before anything else happens, and
// gives a new session its title.
func (x *run) appendQuestion() error {
	if x.req.Continue {
		return nil
	}
	m := x.question()
	if err := x.append(m); err != nil {
		return err
	}
	if x.env != nil {
		x.env.noteAddresses(m.PlainText())
	}
	if x.sess.Meta.Title != "" {
		return nil
	}
	title := TitleFrom(x.req.Text)
	if title == "" && len(x.req.Images) > 0 {
		title = "Image"
	}
	_, err := x.o.Store.UpdateMeta(x.req.Session, func(m *chat.SessionMeta) {
		if m.Title == "" {
			m.Title = title
		}
	})
	return err
}

// takePending moves messages that were typed while the run worked into the
// history. It is called at clean boundaries only.
func (x *run) takePending() *chat.Error {
	meta, err := x.o.Store.Meta(x.req.Session)
	if err != nil {
		return storeError(err)
	}
	for _, m := range meta.Pending {
		// A kill between the append and the removal leaves it in both places.
		if indexOf(x.sess.Messages, m.ID) < 0 {
			if err := x.append(m); err != nil {
				return storeError(err)
			}
			x.env.noteAddresses(m.PlainText())
		}
	}
	if len(meta.Pending) == 0 {
		return nil
	}
	_, err = x.o.Store.UpdateMeta(x.req.Session, func(now *chat.SessionMeta) {
		now.Pending = slices.DeleteFunc(now.Pending, func(p chat.Message) bool {
			return slices.ContainsFunc(meta.Pending, func(t chat.Message) bool { return t.ID == p.ID })
		})
	})
	if err != nil {
		return storeError(err)
	}
	return nil
}

// append stores a message durably, then adds it to what the model sees.
func (x *run) append(m chat.Message) error {
	if err := storeImages(x.o.Store, &m); err != nil {
		return err
	}
	if x.win.est != nil {
		m.Tokens, m.TokensBy = x.win.est.Message(&m), x.win.est.Name()
	}
	if err := x.o.Store.Append(x.req.Session, m); err != nil {
		return err
	}
	x.sess.Messages = append(x.sess.Messages, m)
	x.win.add(m)
	if x.o.Appended != nil {
		x.o.Appended(x.req.Session, x.req.Run, m)
	}
	return nil
}

// checkBudget stops a run that has cost as much as the user allows.
func (x *run) checkBudget() *chat.Error {
	l := x.cfg.Limits
	if l.CostPerRun > 0 && x.res.Usage.Cost >= l.CostPerRun {
		return chat.NewError(chat.ClassBudget, "err.cost_per_run",
			"This run has cost $%s, the ceiling is $%s. Raise limits.cost_per_run in the settings to go on.", dollars(x.res.Usage.Cost), dollars(l.CostPerRun))
	}
	if l.CostPerDay > 0 {
		if day := x.o.SpentToday() + x.res.Usage.Cost; day >= l.CostPerDay {
			return chat.NewError(chat.ClassBudget, "err.cost_per_day",
				"Today's runs have cost $%s, the ceiling is $%s. Raise limits.cost_per_day in the settings to go on.", dollars(day), dollars(l.CostPerDay))
		}
	}
	return nil
}

// storeError classes a failure to write or read the store.
func storeError(err error) *chat.Error {
	var e *chat.Error
	if errors.As(err, &e) {
		return e
	}
	return chat.NewError(chat.ClassStore, "err.store",
		"The session could not be saved: %v. Make room on the disk or check the folder's permissions; the text is still in the window.", err).Wrap(err)
}
