package tray

import (
	"strings"
	"sync"
	"time"

	"perch/assets"
	"perch/chat"
	"perch/config"
	"perch/tray/desktop"
)

const (
	// notePause is the least time between two notifications of one session.
	notePause = 5 * time.Second
	// maxNote is the longest body of a notification, in characters: about what
	// services show.
	maxNote = 200
)

// Outcome is what happened in a run and may be worth a word.
type Outcome struct {
	Session string
	Title   string
	// Result is set when the run has ended, Question when it waits for an answer.
	Result   *chat.Result
	Question *chat.Permission
	Took     time.Duration
}

// occasion is why a notification is shown.
type occasion int

const (
	nothing occasion = iota
	done
	failed
	question
)

// occasionOf decides whether an outcome is worth a notification. looking is
// whether the user has that session in front of them.
func occasionOf(o Outcome, set config.Notify, looking bool) occasion {
	if set.Off || looking {
		return nothing
	}
	if o.Question != nil {
		return question
	}
	if o.Result == nil || o.Result.StopReason == chat.StopAborted {
		return nothing
	}
	if o.Result.Error != nil {
		if o.Result.Error.Class == chat.ClassAborted {
			return nothing
		}
		return failed
	}
	if o.Took > time.Duration(set.AfterSeconds)*time.Second {
		return done
	}
	return nothing
}

// noteOf is the notification for an outcome.
func noteOf(o Outcome, why occasion, texts *assets.Texts) desktop.Note {
	n := desktop.Note{Title: oneLine(o.Title), Session: o.Session, Open: texts.T("note.open")}
	if n.Title == "" {
		n.Title = texts.T("tray.untitled")
	}
	switch why {
	case question:
		n.Body = texts.T("note.question", o.Question.Name, firstLine(o.Question.Detail))
	case failed:
		n.Body = texts.T("note.failed", texts.Error(o.Result.Error))
	case done:
		if n.Body = firstLine(o.Result.Text); n.Body == "" {
			n.Body = texts.T("note.done")
		}
	}
	n.Body = shorten(n.Body, maxNote)
	return n
}

// firstLine is the first line of a text that says something, without the signs
// of Markdown that begin it.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.Trim(line, "-=*_# ") == "" {
			continue
		}
		line = strings.TrimLeft(line, "#>*- ")
		return strings.NewReplacer("**", "", "__", "", "`", "").Replace(line)
	}
	return ""
}

// pacer lets a session have one notification in a while. What comes too early is
// kept, the newest only, and comes when the time is over.
type pacer struct {
	pause time.Duration
	show  func(Outcome)

	mu       sync.Mutex // guards what follows
	sessions map[string]*paced
	closed   bool
}

// paced is a session that was told about just now.
type paced struct {
	next *Outcome
	end  *time.Timer
}

func newPacer(pause time.Duration, show func(Outcome)) *pacer {
	return &pacer{pause: pause, show: show, sessions: map[string]*paced{}}
}

// tell shows an outcome now or later.
func (p *pacer) tell(o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if s := p.sessions[o.Session]; s != nil {
		s.next = &o
		return
	}
	p.begin(o)
}

// begin shows an outcome and starts the session's pause. mu is held.
func (p *pacer) begin(o Outcome) {
	s := &paced{}
	p.sessions[o.Session] = s
	s.end = time.AfterFunc(p.pause, func() { p.over(o.Session) })
	go p.show(o)
}

// over ends a pause.
func (p *pacer) over(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[session]
	if s == nil || p.closed {
		return
	}
	delete(p.sessions, session)
	if s.next != nil {
		p.begin(*s.next)
	}
}

// close drops what waits.
func (p *pacer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.sessions {
		s.end.Stop()
	}
}
