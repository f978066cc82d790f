package desktop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"perch/chat"
	"perch/control"
	"perch/tray/footprint"
)

const (
	// callTimeout bounds one call where the owner sets no limit. A portal waits
	// for the user, who may have to find a dialog first.
	callTimeout = 2 * time.Minute
	// settled is how long after its start the role gives back what starting needed.
	settled = 3 * time.Second
	// bigCall is the size from which the memory of a call is given back at once,
	// in bytes: a role that once took a picture is idle for hours afterwards.
	bigCall = 1 << 20
	// heapTarget is the collector's growth: the role lives on a small heap.
	heapTarget = 40
)

// role is the state of the process.
type role struct {
	out   *bufio.Writer
	outMu sync.Mutex // serialises lines

	clip  clips
	notes notifier
	icon  trayIcon
	keys  shortcutKeys

	calls sync.WaitGroup
}

// clips reads and owns the clipboard.
type clips interface {
	read(ctx context.Context, primary bool) (control.Clip, error)
	// write takes the clipboard and reports whether it did; see write.OnlyIfFree.
	write(ctx context.Context, w write) (taken bool, err error)
	close()
}

// Main plays the desktop role until in ends, and returns the exit code.
func Main(ctx context.Context, in io.Reader, out io.Writer) int {
	debug.SetGCPercent(heapTarget)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &role{out: bufio.NewWriter(out)}
	r.icon.wanted = make(chan struct{})
	r.clip = newClipboard(func(on bool) { r.event(Event{Kind: Owns, On: on}) })
	r.icon.r, r.notes.r, r.keys.r = r, r, r
	go func() {
		r.read(ctx, in)
		cancel(errInputEnded)
	}()
	trim := time.AfterFunc(settled, footprint.Trim)
	defer trim.Stop()
	r.serve(ctx, cancel)
	r.clip.close()
	r.calls.Wait()
	if errors.Is(context.Cause(ctx), errInputEnded) {
		return 0
	}
	return 1
}

// errInputEnded is the regular end.
var errInputEnded = errors.New("the owner has ended")

// read takes calls until the input ends. Each runs on its own, but menus, which
// keep their order.
func (r *role) read(ctx context.Context, in io.Reader) {
	br := bufio.NewReader(in)
	for {
		b, err := br.ReadBytes('\n')
		if err != nil {
			return
		}
		var q request
		if err := json.Unmarshal(b, &q); err != nil {
			r.reply(q.ID, nil, fmt.Errorf("read a call: %w", err))
			continue
		}
		if q.Call == callMenu {
			r.answer(ctx, q)
			continue
		}
		r.calls.Add(1)
		go func() {
			defer r.calls.Done()
			r.answer(ctx, q)
			if len(q.Arg) > bigCall || q.Call == callShot {
				q.Arg = nil
				footprint.Trim()
			}
		}()
	}
}

// answer does one call. A panic of a library fails the call, not the role.
func (r *role) answer(ctx context.Context, q request) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r.reply(q.ID, nil, fmt.Errorf("%s: %v", q.Call, p))
		}
	}()
	result, err := r.do(ctx, q)
	r.reply(q.ID, result, err)
}

func (r *role) do(ctx context.Context, q request) (any, error) {
	switch q.Call {
	case callMenu:
		var m Menu
		if err := json.Unmarshal(q.Arg, &m); err != nil {
			return nil, err
		}
		r.icon.set(m)
		return nil, nil
	case callRead:
		return r.clip.read(ctx, false)
	case callSelection:
		return r.clip.read(ctx, true)
	case callWrite:
		var w write
		if err := json.Unmarshal(q.Arg, &w); err != nil {
			return nil, err
		}
		return r.clip.write(ctx, w)
	case callShot:
		var s control.Shot
		if err := json.Unmarshal(q.Arg, &s); err != nil {
			return nil, err
		}
		return r.screenshot(ctx, s)
	case callNotify:
		var n Note
		if err := json.Unmarshal(q.Arg, &n); err != nil {
			return nil, err
		}
		return nil, r.notes.notify(ctx, n)
	case callShortcuts:
		var s shortcuts
		if err := json.Unmarshal(q.Arg, &s); err != nil {
			return nil, err
		}
		return nil, r.keys.bind(ctx, s.Bindings)
	}
	return nil, fmt.Errorf("unknown call %q", q.Call)
}

// reply answers a call; ID 0 wants no answer.
func (r *role) reply(id int64, result any, err error) {
	if id == 0 {
		return
	}
	l := line{ID: id}
	if err == nil && result != nil {
		l.Result, err = json.Marshal(result)
	}
	if err != nil {
		l.Error, l.Result = classed(err), nil
	}
	r.write(l)
}

// classed is an error with a sentence for the user.
func classed(err error) *chat.Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return chat.NewError(chat.ClassTransient, "err.desktop_slow", "The desktop did not answer in time. Try again.").Wrap(err)
	}
	return chat.AsError(err)
}

// event tells the owner.
func (r *role) event(e Event) { r.write(line{Event: &e}) }

func (r *role) write(l line) {
	var b bytes.Buffer
	// Every field of a line encodes.
	_ = json.NewEncoder(&b).Encode(l)
	r.outMu.Lock()
	defer r.outMu.Unlock()
	_, _ = r.out.Write(b.Bytes())
	_ = r.out.Flush()
}
