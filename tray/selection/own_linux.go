package selection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

const (
	// piece is how much goes in one request, in bytes. A server takes 256 KB at
	// least, with the request's own words in it.
	piece = 128 << 10
	// transferIdle is when a transfer whose reader takes no pieces is dropped.
	transferIdle = time.Minute
	// handOver is how long a clipboard manager may take to copy the content
	// when its owner ends.
	handOver = 2 * time.Second
	// takeTimeout bounds taking a selection.
	takeTimeout = 3 * time.Second
)

// ErrNotTaken says that another program took the selection at the same moment.
var ErrNotTaken = errors.New("the selection could not be taken, another program took it at the same moment")

// Owner owns a selection until another program takes it or Close.
type Owner struct {
	c       *conn
	sel     xproto.Atom
	since   xproto.Timestamp
	content map[xproto.Atom][]byte
	targets []byte // the atoms, as a property holds them

	transfers map[transferKey]*transfer // of the serving goroutine only
	closing   chan struct{}
	lost      chan struct{}
}

// transferKey is where a transfer in pieces goes.
type transferKey struct {
	window xproto.Window
	prop   xproto.Atom
}

// transfer is what is still to be sent.
type transfer struct {
	rest  []byte
	kind  xproto.Atom
	ended bool
	moved time.Time
}

// Free reports whether nobody owns a selection.
func Free(display, selection string) (bool, error) {
	c, err := dial(display)
	if err != nil {
		return false, err
	}
	defer c.close()
	sel, err := c.atom(selection)
	if err != nil {
		return false, err
	}
	rep, err := xproto.GetSelectionOwner(c.x, sel).Reply()
	if err != nil {
		return false, fmt.Errorf("owner of %s: %w", selection, err)
	}
	return rep.Owner == xproto.WindowNone, nil
}

// Own takes a selection and serves its content.
func Own(ctx context.Context, display, selection string, content Content) (*Owner, error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	c, err := dial(display)
	if err != nil {
		return nil, err
	}
	o := &Owner{c: c, content: map[xproto.Atom][]byte{}, transfers: map[transferKey]*transfer{},
		closing: make(chan struct{}), lost: make(chan struct{})}
	if err := o.take(ctx, selection, content); err != nil {
		c.close()
		return nil, err
	}
	go o.serve()
	return o, nil
}

// take prepares the content and takes the selection.
func (o *Owner) take(ctx context.Context, selection string, content Content) error {
	var err error
	if o.sel, err = o.c.atom(selection); err != nil {
		return err
	}
	names := []string{"TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS"}
	if content.Text != "" || content.PNG == nil {
		for _, n := range []string{"UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "STRING", "TEXT"} {
			names = append(names, n)
			a, err := o.c.atom(n)
			if err != nil {
				return err
			}
			o.content[a] = []byte(content.Text)
			if n == "STRING" {
				o.content[a] = latin1(content.Text)
			}
		}
	}
	if content.PNG != nil {
		names = append(names, "image/png")
		a, err := o.c.atom("image/png")
		if err != nil {
			return err
		}
		o.content[a] = content.PNG
	}
	for _, n := range names {
		a, err := o.c.atom(n)
		if err != nil {
			return err
		}
		o.targets = put32(o.targets, uint32(a))
	}
	if o.since, err = o.c.now(ctx); err != nil {
		return err
	}
	xproto.SetSelectionOwner(o.c.x, o.c.win, o.sel, o.since)
	rep, err := xproto.GetSelectionOwner(o.c.x, o.sel).Reply()
	if err != nil {
		return fmt.Errorf("take %s: %w", selection, err)
	}
	if rep.Owner != o.c.win {
		return ErrNotTaken
	}
	return nil
}

// latin1 encodes a text for STRING; what it cannot say is a question mark.
func latin1(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			r = '?'
		}
		out = append(out, byte(r))
	}
	return out
}

// put32 appends a number as properties hold it.
func put32(b []byte, v uint32) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

// Lost is closed when the selection is another program's, or the display went.
func (o *Owner) Lost() <-chan struct{} { return o.lost }

// Close hands the content to the clipboard manager, where there is one, and
// lets the selection go.
func (o *Owner) Close() {
	select {
	case <-o.closing:
	default:
		close(o.closing)
	}
	<-o.lost
}

// serve answers requests until the selection is lost.
func (o *Owner) serve() {
	defer close(o.lost)
	defer o.c.close()
	var deadline <-chan time.Time
	closing := o.closing
	for {
		select {
		case ev, ok := <-o.c.events:
			if !ok || o.handle(ev) {
				return
			}
		case <-closing:
			closing = nil
			if !o.askManager() {
				return
			}
			t := time.NewTimer(handOver)
			defer t.Stop()
			deadline = t.C
		case <-deadline:
			return
		}
	}
}

// askManager asks the clipboard manager to copy the content; false is none.
func (o *Owner) askManager() bool {
	clip, err := o.c.atom(Clipboard)
	if err != nil || o.sel != clip {
		return false
	}
	manager, err1 := o.c.atom("CLIPBOARD_MANAGER")
	save, err2 := o.c.atom("SAVE_TARGETS")
	prop, err3 := o.c.atom("PERCH_SAVE")
	if errors.Join(err1, err2, err3) != nil {
		return false
	}
	rep, err := xproto.GetSelectionOwner(o.c.x, manager).Reply()
	if err != nil || rep.Owner == xproto.WindowNone {
		return false
	}
	xproto.ConvertSelection(o.c.x, o.c.win, manager, save, prop, o.since)
	return true
}

// handle answers one event and reports whether the owning is over.
func (o *Owner) handle(ev xgb.Event) (over bool) {
	switch e := ev.(type) {
	case xproto.SelectionClearEvent:
		return e.Selection == o.sel
	case xproto.SelectionNotifyEvent: // the manager has its copy, or refuses
		return true
	case xproto.SelectionRequestEvent:
		o.request(e)
	case xproto.PropertyNotifyEvent:
		if e.State == xproto.PropertyDelete {
			o.nextPiece(transferKey{e.Window, e.Atom})
		}
	case xproto.DestroyNotifyEvent:
		for k := range o.transfers {
			if k.window == e.Window {
				delete(o.transfers, k)
			}
		}
	}
	return false
}

// request answers a request for one target, or for several at once.
func (o *Owner) request(e xproto.SelectionRequestEvent) {
	prop := e.Property
	if prop == xproto.AtomNone {
		prop = e.Target // clients from before the ICCCM
	}
	if e.Time != xproto.TimeCurrentTime && e.Time < o.since {
		prop = xproto.AtomNone // asked about a time when it was not ours
	} else if multiple, err := o.c.atom("MULTIPLE"); err == nil && e.Target == multiple && e.Property != xproto.AtomNone {
		o.several(e.Requestor, prop)
	} else if !o.deliver(e.Requestor, prop, e.Target) {
		prop = xproto.AtomNone
	}
	n := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: prop}
	xproto.SendEvent(o.c.x, false, e.Requestor, 0, string(n.Bytes()))
}

// several answers pairs of target and property; a refused one is set to none.
func (o *Owner) several(w xproto.Window, prop xproto.Atom) {
	rep, err := xproto.GetProperty(o.c.x, false, w, prop, xproto.GetPropertyTypeAny, 0, 1<<16).Reply()
	if err != nil {
		return
	}
	pairs := rep.Value
	for i := 0; i+8 <= len(pairs); i += 8 {
		if !o.deliver(w, xproto.Atom(xgb.Get32(pairs[i+4:])), xproto.Atom(xgb.Get32(pairs[i:]))) {
			xgb.Put32(pairs[i+4:], uint32(xproto.AtomNone))
		}
	}
	xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, w, prop, rep.Type, 32, uint32(len(pairs)/4), pairs)
}

// deliver writes one target to a property and reports whether it is ours to give.
func (o *Owner) deliver(w xproto.Window, prop, target xproto.Atom) bool {
	name, err := o.c.name(target)
	if err != nil {
		return false
	}
	switch name {
	case "TARGETS":
		xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, w, prop, xproto.AtomAtom, 32, uint32(len(o.targets)/4), o.targets)
		return true
	case "TIMESTAMP":
		xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, w, prop, xproto.AtomInteger, 32, 1, put32(nil, uint32(o.since)))
		return true
	case "SAVE_TARGETS":
		null, err := o.c.atom("NULL")
		if err != nil {
			return false
		}
		xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, w, prop, null, 32, 0, nil)
		return true
	}
	b, ok := o.content[target]
	if !ok {
		return false
	}
	kind := target
	if name == "TEXT" {
		// TEXT asks for whatever encoding the owner likes.
		if kind, err = o.c.atom("UTF8_STRING"); err != nil {
			return false
		}
	}
	if len(b) <= piece {
		xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, w, prop, kind, 8, uint32(len(b)), b)
		return true
	}
	return o.begin(w, prop, kind, b)
}

// begin announces a transfer in pieces.
func (o *Owner) begin(w xproto.Window, prop, kind xproto.Atom, b []byte) bool {
	incr, err := o.c.atom("INCR")
	if err != nil {
		return false
	}
	for k, t := range o.transfers {
		if time.Since(t.moved) > transferIdle {
			delete(o.transfers, k)
		}
	}
	o.transfers[transferKey{w, prop}] = &transfer{rest: b, kind: kind, moved: time.Now()}
	if w != o.c.win {
		xproto.ChangeWindowAttributes(o.c.x, w, xproto.CwEventMask,
			[]uint32{xproto.EventMaskPropertyChange | xproto.EventMaskStructureNotify})
	}
	xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, w, prop, incr, 32, 1, put32(nil, uint32(len(b))))
	return true
}

// nextPiece sends the next piece of a transfer, an empty one at its end.
func (o *Owner) nextPiece(k transferKey) {
	t, ok := o.transfers[k]
	if !ok {
		return
	}
	if t.ended {
		delete(o.transfers, k)
		return
	}
	n := min(len(t.rest), piece)
	xproto.ChangeProperty(o.c.x, xproto.PropModeReplace, k.window, k.prop, t.kind, 8, uint32(n), t.rest[:n])
	t.rest, t.ended, t.moved = t.rest[n:], n == 0, time.Now()
}
