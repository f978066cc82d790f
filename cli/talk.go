package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
)

// stopTime is how long an interrupted run may take to say that it has ended: a
// running command has 1 s, the rest is for a busy machine.
const stopTime = 5 * time.Second

// talker is what a conversation needs of the running Perch.
type talker interface {
	control.Sessions
	control.Runs
}

// talk is a conversation on one session: a watch that is open from before the
// first question to the end, so that no event of any run is missed.
type talk struct {
	c       talker
	session string
	made    bool // by this command: an unused one is removed again
	frames  *queue
	cancel  context.CancelFunc
	ended   chan struct{}
}

// queue holds the frames that were not looked at yet. It has no bound, so that
// a slow terminal or pipe never holds the watch up.
type queue struct {
	mu     sync.Mutex // protects frames and err
	frames []control.Frame
	err    error         // why the watch ended
	wake   chan struct{} // has one value when there is something new
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) add(f control.Frame) {
	q.mu.Lock()
	q.frames = append(q.frames, f)
	q.mu.Unlock()
	q.signal()
}

func (q *queue) end(err error) {
	q.mu.Lock()
	q.err = err
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() ([]control.Frame, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.frames
	q.frames = nil
	if len(f) > 0 {
		return f, nil
	}
	return nil, q.err
}

// errWatchEnded is a watch that came to its end although a run is at work.
var errWatchEnded = chat.NewError(chat.ClassInternal, "err.connection_lost",
	"The connection to Perch broke. What it had begun goes on if it is still running; nothing stored is lost. Try again.")

// startTalk watches a session; id may be "" for a new one.
func startTalk(ctx context.Context, c talker, id, dir string) (*talk, error) {
	k := &talk{c: c, session: id, frames: newQueue(), ended: make(chan struct{})}
	if id == "" {
		info, err := c.CreateSession(ctx, control.NewSession{Dir: dir})
		if err != nil {
			return nil, err
		}
		k.session, k.made = info.ID, true
	} else if dir != "" {
		if _, err := c.PatchSession(ctx, id, control.SessionPatch{Dir: &dir}); err != nil {
			return nil, err
		}
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel = cancel
	ready := make(chan struct{})
	go func() {
		defer close(k.ended)
		var once sync.Once
		err := c.Watch(watch, k.session, func(f control.Frame) error {
			if !f.Alive {
				k.frames.add(f)
			}
			if f.Snapshot != nil {
				once.Do(func() { close(ready) })
			}
			return nil
		})
		if err == nil {
			err = errWatchEnded
		}
		k.frames.end(err)
		once.Do(func() { close(ready) })
	}()
	select {
	case <-ready:
	case <-ctx.Done():
		k.close()
		return nil, ctx.Err()
	}
	return k, nil
}

// close ends the watch, and removes a session that was made for nothing.
func (k *talk) close() {
	k.cancel()
	<-k.ended
}

// discard removes a session that this command made and that has no message.
func (k *talk) discard() {
	if k.made {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		_ = k.c.DeleteSession(ctx, k.session)
	}
}

// follower takes the events of a run.
type follower interface {
	// event gets each event once, in order; raw is its JSON.
	event(e chat.Event, raw []byte) error
}

// runHooks are what may happen beside the events of a run.
type runHooks struct {
	interrupt <-chan os.Signal
	// questions puts permission questions to the user; nil leaves them to others.
	questions questioner
	// typed is where typed lines come from. It is called when one is wanted, so
	// that what is typed for the shell stays there.
	typed func() <-chan string
	// steer takes lines that are typed while the run works; nil takes none.
	steer   func(text string)
	keyFor  func(name string) (string, bool)
	usedKey func(name string)
}

// questioner shows questions and reads answers.
type questioner interface {
	// show shows a question; nothing is taken for an answer yet.
	show(q *chat.Permission)
	// ready says that answers are taken from now on.
	ready()
	// read reads a line as the answer; ok is false if it is none, which has been
	// said then.
	read(q *chat.Permission, line string) (a control.Answer, ok bool)
	// settled says that the question was answered elsewhere or is void.
	settled()
}

// run asks and follows the run to its end. The error is of what kept the run
// from its end; how it ended is in the result.
func (k *talk) run(ctx context.Context, a control.Ask, view follower, h runHooks) (*chat.Result, error) {
	reply, err := k.c.Ask(ctx, k.session, a)
	if err == nil && reply.NeedKey != "" {
		value, ok := h.keyFor(reply.NeedKey)
		if !ok {
			return nil, noKey(reply.NeedKey)
		}
		h.usedKey(reply.NeedKey)
		a.Keys = map[string]string{reply.NeedKey: value}
		if reply, err = k.c.Ask(ctx, k.session, a); err == nil && reply.NeedKey != "" {
			return nil, noKey(reply.NeedKey)
		}
	}
	if err != nil {
		return nil, err
	}
	k.made = false
	return k.follow(ctx, reply.Run, view, h)
}

// follow follows a run to its end.
func (k *talk) follow(ctx context.Context, run string, view follower, h runHooks) (*chat.Result, error) {
	f := &following{talk: k, run: run, view: view, hooks: h, seen: map[string]bool{}}
	if h.steer != nil {
		f.typed = h.typed()
	}
	return f.follow(ctx)
}

// atWork is the run at work on the session, "" when there is none.
func (k *talk) atWork(ctx context.Context) string {
	info, err := k.c.PatchSession(ctx, k.session, control.SessionPatch{})
	if err != nil {
		return ""
	}
	return info.Run
}

// noKey is the error for a key that neither side has.
func noKey(name string) error {
	return chat.NewError(chat.ClassAuth, "err.no_key",
		"The provider needs a key: set %s, or store one with `perch auth login`. `perch models` lists what is ready.", name)
}

// following is a run that is being followed.
type following struct {
	*talk
	run   string
	view  follower
	hooks runHooks

	seq      int64
	text     []byte           // of the answer that is streaming
	seen     map[string]bool  // calls that have started ("s"+id) and ended ("e"+id)
	question *chat.Permission // that waits for the user's answer
	dead     <-chan time.Time // while that takes none yet
	typed    <-chan string
	stopped  <-chan time.Time // set after an interrupt
}

func (f *following) follow(ctx context.Context) (*chat.Result, error) {
	for {
		frames, err := f.frames.take()
		if err != nil {
			return nil, err
		}
		for i := range frames {
			if done, err := f.frame(ctx, &frames[i]); done != nil || err != nil {
				return done, err
			}
		}
		if len(frames) > 0 {
			continue
		}
		select {
		case <-f.frames.wake:
		case <-f.hooks.interrupt:
			if f.stopped != nil {
				return nil, context.Canceled // asked twice: do not wait any longer
			}
			f.stop()
		case <-f.stopped:
			return nil, context.Canceled
		case <-f.dead:
			f.dead = nil
			f.hooks.questions.ready()
		case line, ok := <-f.typed:
			f.line(ctx, line, ok)
		case <-ctx.Done():
			if f.stopped == nil {
				f.stop()
			}
			ctx = context.WithoutCancel(ctx)
		}
	}
}

// stop asks the run to stop; its Done says when it has.
func (f *following) stop() {
	f.settle()
	f.stopped = time.After(stopTime)
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = f.c.Stop(ctx, f.run) // a run that has ended meanwhile says so by its Done
}

// frame takes one line of the watch and returns the result when the run is done.
func (f *following) frame(ctx context.Context, fr *control.Frame) (*chat.Result, error) {
	switch {
	case fr.Event != nil:
		e, err := chat.UnmarshalEvent(fr.Event)
		if err != nil {
			return nil, chat.NewError(chat.ClassInternal, "err.event", "The running Perch sent what this one cannot read: %v. Restart it with `perch quit`.", err).Wrap(err)
		}
		if h := e.Header(); h.Run != f.run || h.Seq <= f.seq {
			return nil, nil
		}
		return f.take(ctx, e, fr.Event)
	case fr.Snapshot != nil && fr.Snapshot.Live != nil && fr.Snapshot.Live.Run == f.run && fr.Snapshot.Live.Seq > f.seq:
		return nil, f.catchUp(ctx, fr.Snapshot.Live)
	}
	return nil, nil
}

// take hands an event on.
func (f *following) take(ctx context.Context, e chat.Event, raw []byte) (*chat.Result, error) {
	f.seq = e.Header().Seq
	switch e := e.(type) {
	case *chat.TextDelta:
		f.text = append(f.text, e.Text...)
	case *chat.Retry:
		f.text = f.text[:max(0, len(f.text)-e.Withdrawn.TextBytes)]
	case *chat.ToolStart:
		f.text = f.text[:0]
		f.seen["s"+e.ID] = true
	case *chat.ToolProgress:
		f.answered(e.ID)
	case *chat.ToolEnd:
		f.seen["e"+e.ID] = true
		f.answered(e.ID)
	case *chat.Done:
		f.settle()
		if err := f.view.event(e, raw); err != nil {
			return nil, err
		}
		// Who asked has seen it: no mark in the tray is needed.
		_, _ = f.c.PatchSession(ctx, f.session, control.SessionPatch{Seen: true})
		return &e.Result, nil
	}
	if err := f.view.event(e, raw); err != nil {
		f.stop() // the reader has gone: nobody wants the rest
		return nil, err
	}
	if q, ok := e.(*chat.Permission); ok && f.hooks.questions != nil && f.stopped == nil {
		f.put(q)
	}
	return nil, nil
}

// catchUp makes up for events that the watch left out.
func (f *following) catchUp(ctx context.Context, l *control.Live) error {
	seq := l.Seq
	step := func(e chat.Event) error {
		chat.Stamp(e, f.run, seq)
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = f.take(ctx, e, raw)
		return err
	}
	if !strings.HasPrefix(l.Text, string(f.text)) {
		if err := step(&chat.Retry{Withdrawn: chat.Withdrawn{TextBytes: len(f.text)}}); err != nil {
			return err
		}
	}
	if rest := l.Text[len(f.text):]; rest != "" {
		if err := step(&chat.TextDelta{Text: rest}); err != nil {
			return err
		}
	}
	for i := range l.Calls {
		c := &l.Calls[i]
		if !f.seen["s"+c.Start.ID] {
			if err := step(&c.Start); err != nil {
				return err
			}
		}
		if c.End != nil && !f.seen["e"+c.Start.ID] {
			if err := step(c.End); err != nil {
				return err
			}
		}
	}
	if l.Question != nil && (f.question == nil || f.question.ID != l.Question.ID) {
		return step(l.Question)
	}
	f.seq = seq
	return nil
}

// put puts a question to the user.
func (f *following) put(q *chat.Permission) {
	f.settle()
	f.question, f.dead = q, time.After(deadTime)
	f.hooks.questions.show(q)
	if f.typed == nil {
		f.typed = f.hooks.typed()
	}
}

// line takes a typed line: as the answer to the question, if there is one, else
// as a word to the run.
func (f *following) line(ctx context.Context, line string, ok bool) {
	switch {
	case !ok: // nobody is there any more
		f.typed = nil
		if f.question != nil {
			f.answer(ctx, control.Answer{Verdict: control.No})
		}
	case f.question == nil:
		if f.hooks.steer != nil && strings.TrimSpace(line) != "" {
			f.hooks.steer(line)
		}
	case f.dead != nil: // typed before the question could be read
	default:
		if a, ok := f.hooks.questions.read(f.question, line); ok {
			f.answer(ctx, a)
		}
	}
}

// answer sends an answer. The first one counts, wherever it came from.
func (f *following) answer(ctx context.Context, a control.Answer) {
	a.Call = f.question.ID
	f.question, f.dead = nil, nil
	_ = f.c.Answer(ctx, f.run, a)
}

// answered ends the question about a call that goes on: it was answered elsewhere.
func (f *following) answered(call string) {
	if f.question != nil && f.question.ID == call {
		f.settle()
	}
}

// settle ends a question that is open.
func (f *following) settle() {
	if f.question != nil {
		f.question, f.dead = nil, nil
		f.hooks.questions.settled()
	}
}

// newest is the id of the session used last.
func newest(ctx context.Context, c control.Sessions) (string, error) {
	list, err := c.ListSessions(ctx, control.SessionQuery{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", chat.NewError(chat.ClassMisuse, "err.no_sessions", "There is no session yet. `perch ask` makes one.")
	}
	return list[0].ID, nil
}

// sessionID turns "last" into the id of the session used last.
func sessionID(ctx context.Context, c control.Sessions, id string) (string, error) {
	if id == "last" {
		return newest(ctx, c)
	}
	return id, nil
}

// folder is the absolute path of an existing folder; "" is the current one.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return "", errors.New("it is no folder")
	}
	return abs, nil
}
