package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxJobs bounds the background commands of all sessions: each is a process
// tree that nobody watches.
const maxJobs = 16

// Job is a command that runs in the background of a session.
type Job struct {
	ID      string
	Session string
	Command string
	Started time.Time
	// Spool is the file with its output so far.
	Spool       string
	Confinement Confinement

	p   *process
	col *collector
}

// Done is closed when the command and all its descendants are gone.
func (j *Job) Done() <-chan struct{} { return j.p.done }

// Stop ends the command and waits until it is gone, at most about a second.
func (j *Job) Stop() {
	j.p.kill()
	t := time.NewTimer(giveUp)
	defer t.Stop()
	select {
	case <-j.p.done:
	case <-t.C:
		j.p.abandon()
	}
}

// Running reports whether any process of the command is left.
func (j *Job) Running() bool {
	select {
	case <-j.p.done:
		return false
	default:
		return true
	}
}

// settleTime is how long a background command is watched at its start, so that
// one that fails at once (a port in use, a typing error) is reported as failed.
const settleTime = 700 * time.Millisecond

// Start runs a command in the background: it lives until it ends, until
// [Executor.CloseSession], or until Perch ends. Where the command ends within a
// moment, res is what came of it and the job is nil.
func (e *Executor) Start(ctx context.Context, c Command) (job *Job, res *Result, err error) {
	if c.SpoolDir == "" {
		return nil, nil, errors.New("a background command needs a folder for its output")
	}
	e.mu.Lock()
	full := len(e.jobs) >= maxJobs
	e.next++
	id := fmt.Sprintf("job%d", e.next)
	e.mu.Unlock()
	if full {
		return nil, nil, fmt.Errorf("%d commands run in the background already: stop one of them first", maxJobs)
	}
	start := time.Now()
	col := newCollector(c.SpoolDir, e.c.Scrub)
	spool, err := col.spoolNow()
	if err != nil {
		return nil, nil, fmt.Errorf("keep the output of the background command: %w", err)
	}
	p, drained, err := e.start(ctx, c, col, true)
	if err != nil {
		col.close()
		return nil, nil, err
	}
	name := c.Shell
	if name == "" {
		name = strings.Join(c.Argv, " ")
	}
	j := &Job{ID: id, Session: c.Session, Command: name, Started: start, Spool: spool, Confinement: p.confinement, p: p, col: col}
	e.mu.Lock()
	e.jobs[id] = j
	e.mu.Unlock()
	go func() {
		<-p.done
		t := time.NewTimer(drainDelay)
		defer t.Stop()
		select {
		case <-drained:
		case <-t.C:
			p.out.Close()
			<-drained
		}
		col.close()
		e.mu.Lock()
		delete(e.jobs, id)
		e.mu.Unlock()
	}()
	t := time.NewTimer(e.settle)
	defer t.Stop()
	select {
	case <-ctx.Done():
		j.Stop()
		return nil, nil, ctx.Err()
	case <-t.C:
		return j, nil, nil
	case <-p.done:
	}
	<-drained
	end := p.end()
	res = &Result{ExitCode: end.Code, Signal: end.Signal, Confinement: p.confinement, Duration: time.Since(start)}
	return nil, res, col.result(res)
}

// Jobs are the background commands of a session at work, oldest first; of all
// sessions where session is "".
func (e *Executor) Jobs(session string) []*Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*Job
	for _, j := range e.jobs {
		if session == "" || j.Session == session {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *Job) int { return a.Started.Compare(b.Started) })
	return out
}

// StopJob ends one background command of a session.
func (e *Executor) StopJob(session, id string) error {
	for _, j := range e.Jobs(session) {
		if j.ID == id {
			j.Stop()
			return nil
		}
	}
	return fmt.Errorf("there is no background command %s in this session: it may have ended", id)
}

// CloseSession ends the background commands of a session.
func (e *Executor) CloseSession(session string) { stopAll(e.Jobs(session)) }

// Close ends all background commands.
func (e *Executor) Close() { stopAll(e.Jobs("")) }

func stopAll(jobs []*Job) {
	for _, j := range jobs {
		j.p.kill()
	}
	for _, j := range jobs {
		j.Stop()
	}
}
