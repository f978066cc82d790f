// Command perch-hotkey holds Perch's global hotkeys and says when one is
// pressed. It is a process of its own because its library panics where there is
// no display, and Xlib ends the process when the display goes away.
//
// Usage:
//
//	perch-hotkey ID=COMBO…
//
// It writes one JSON value a line, see [hotkey.Event], and ends when its
// standard input ends.
package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	xhotkey "golang.design/x/hotkey"

	"perch/chat"
	"perch/tray/hotkey"
)

const (
	// retryTaken is the pause between two tries for a combination that another
	// program holds; it is free again as soon as that program ends.
	retryTaken = 5 * time.Second
	// ownRetries and ownPause are how long a grab of our own may take to go.
	ownRetries = 10
	ownPause   = 20 * time.Millisecond
	// exitUsage is the exit code for missing arguments.
	exitUsage = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout)) }

// run holds the hotkeys until in ends.
func run(args []string, in io.Reader, out io.Writer) int {
	// The process lives on a few hundred kilobytes of heap: a collector that
	// waits for four megabytes of garbage is not worth its memory.
	debug.SetGCPercent(20)
	bindings := hotkey.ParseArgs(args)
	if len(bindings) == 0 {
		return exitUsage
	}
	w := &lines{enc: json.NewEncoder(out)}
	layout := watchLayout()
	for _, b := range bindings {
		go hold(w, b, layout.subscribe())
	}
	_, _ = io.Copy(io.Discard, in)
	return 0
}

// lines writes events from several goroutines.
type lines struct {
	mu  sync.Mutex
	enc *json.Encoder
}

// write writes one event. Where nobody reads any more, the process has no use.
func (l *lines) write(e hotkey.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.enc.Encode(e) != nil {
		os.Exit(0)
	}
}

// hold holds one combination for ever: it waits while another program has it,
// and takes it anew when the keyboard's layout moves the key.
func hold(w *lines, b hotkey.Binding, layout <-chan struct{}) {
	c, err := hotkey.Parse(b.Combo)
	if err != nil {
		w.write(hotkey.Event{Event: hotkey.Problem, ID: b.ID, Err: chat.AsError(err)})
		return
	}
	mods, key, ok := codes(c)
	if !ok {
		w.write(hotkey.Event{Event: hotkey.Problem, ID: b.ID, Err: chat.NewError(chat.ClassMisuse, "err.hotkey_no_such_key",
			"The keyboard has no key %q. Choose another hotkey in the settings.", c.Key)})
		return
	}
	var said string // the last event written, so that each is said once
	say := func(event string) {
		if event != said {
			said = event
			w.write(hotkey.Event{Event: event, ID: b.ID})
		}
	}
	var presses hotkey.Presses
	for {
		code := keycode(c)
		if code == 0 {
			// A grab of key code 0 would take every key.
			if said != hotkey.Problem {
				said = hotkey.Problem
				w.write(hotkey.Event{Event: hotkey.Problem, ID: b.ID, Err: chat.NewError(chat.ClassMisuse, "err.hotkey_not_on_layout",
					"The keyboard layout has no key %q. Add a layout that has it, or choose another hotkey in the settings.", c.Key)})
			}
			<-layout
			continue
		}
		hk := xhotkey.New(mods, key)
		err := hk.Register()
		for n := 0; err != nil && n < ownRetries; n++ {
			// The server may not have noticed yet that we, or the process before
			// this one, let the key go.
			time.Sleep(ownPause)
			err = hk.Register()
		}
		if err != nil {
			say(hotkey.Taken)
			select {
			case <-time.After(retryTaken):
			case <-layout:
			}
			continue
		}
		say(hotkey.Ready)
		listen(w, b.ID, hk, &presses, layout, func() bool { return keycode(c) != code })
		_ = hk.Unregister()
	}
}

// listen tells presses until the key has moved to another code.
func listen(w *lines, id string, hk *xhotkey.Hotkey, presses *hotkey.Presses, layout <-chan struct{}, moved func() bool) {
	for {
		select {
		case <-hk.Keydown():
			if at := time.Now(); presses.Down(at) {
				w.write(hotkey.Event{Event: hotkey.Pressed, ID: id, Time: at})
			}
		case <-hk.Keyup():
			presses.Up(time.Now())
		case <-layout:
			if moved() {
				return
			}
		}
	}
}

// layouts tells its subscribers that the keyboard's layout changed.
type layouts struct {
	mu   sync.Mutex // guards subs
	subs []chan struct{}
}

func (l *layouts) subscribe() <-chan struct{} {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs = append(l.subs, c)
	return c
}

func (l *layouts) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.subs {
		select {
		case c <- struct{}{}:
		default: // told already
		}
	}
}
