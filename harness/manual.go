package harness

import (
	"context"

	"perch/chat"
	"perch/control"
)

// Compact compacts a session by hand. The error says why it was not done; the
// history is then as before.
func (r *Runner) Compact(ctx context.Context, session, model string) error {
	x, err := r.quiet(ctx, session, model)
	if err != nil {
		return err
	}
	defer x.cancel(nil)
	if e := x.compact(true); e != nil {
		return e
	}
	return nil
}

// UndoCompaction takes the last compaction back. Automatic ones then wait until
// the window is nearly full.
func (r *Runner) UndoCompaction(session string) error {
	l, err := r.o.Store.Load(session)
	if err != nil {
		return err
	}
	v := l.View
	for i := len(v.Marks) - 1; i >= 0; i-- {
		if v.Marks[i].Undone {
			continue
		}
		v.Marks = append([]chat.CompactionMark(nil), v.Marks...)
		v.Marks[i].Undone = true
		return r.o.Store.SetView(session, v)
	}
	return chat.NewError(chat.ClassMisuse, "err.nothing_to_undo", "There is no compaction to undo in this session.")
}

// Occupancy says how full the window of a session is and with what.
func (r *Runner) Occupancy(ctx context.Context, session, model string) (control.Context, error) {
	x, err := r.quiet(ctx, session, model)
	if err != nil {
		return control.Context{}, err
	}
	defer x.cancel(nil)
	return x.win.context(), nil
}

// quiet prepares a run that yields nothing.
func (r *Runner) quiet(ctx context.Context, session, model string) (*run, error) {
	x, err := r.begin(ctx, Request{Session: session, Model: model, Continue: true}, func(chat.Event, error) bool { return true })
	if err != nil {
		return nil, err
	}
	if e := x.resolve(); e != nil {
		x.cancel(nil)
		return nil, e
	}
	return x, nil
}

// PinsFit checks that the pinned messages of a session take at most a tenth of
// the window.
func (r *Runner) PinsFit(session string, pinned []string) error {
	x, err := r.quiet(context.Background(), session, "")
	if err != nil {
		return err
	}
	defer x.cancel(nil)
	log := x.sess.Messages
	n := 0
	for _, i := range pinnedRounds(log, pinned) {
		n += x.win.scaled(x.win.count(&log[i]))
	}
	if n > x.win.budget.pinned {
		return chat.NewError(chat.ClassMisuse, "err.pins_too_large",
			"Pinned messages would take about %d tokens; at most %d fit this model. Unpin another one first.", n, x.win.budget.pinned)
	}
	return nil
}
