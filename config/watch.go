package config

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a file must be quiet before it is read: editors write
	// in several steps.
	settle = 100 * time.Millisecond
	// pollEvery is the interval where the system reports no changes: a file
	// system of another machine, or no watches left. One stat costs nothing.
	pollEvery = 5 * time.Second
)

// Watch reads the settings again when the file changes, until ctx ends. changed
// gets the new settings, or, with a mistake, the last good ones and the error. It
// is called from Watch's goroutine, first with what the file holds now.
func Watch(ctx context.Context, path string, changed func(Config, error)) {
	good, seen := Default(), stamp{}
	read := func(first bool) {
		now := stampOf(path)
		if !first && now == seen {
			return
		}
		seen = now
		c, err := Load(path)
		if err == nil {
			good = c
		}
		changed(good, err)
	}
	events, stop := notify(path)
	defer stop()
	read(true)
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	if events != nil {
		poll.Stop()
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok { // the watch is lost: look by ourselves
				events = nil
				poll.Reset(pollEvery)
			}
			quiet.Reset(settle)
		case <-quiet.C:
			read(false)
		case <-poll.C:
			read(false)
		}
	}
}

// stamp tells one state of a file from another.
type stamp struct {
	size int64
	time time.Time
	mode os.FileMode
}

func stampOf(path string) stamp {
	st, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{st.Size(), st.ModTime(), st.Mode()}
}

// notify reports changes in the folder of the file, and in that of the file it
// is a link to. The folder is watched and not the file, since a file that is
// replaced takes its watch along. Without a watch the channel is nil.
func notify(path string) (<-chan struct{}, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	dir := filepath.Dir(path)
	_ = os.MkdirAll(dir, dirMode) // a folder that is not there cannot be watched
	if err := w.Add(dir); err != nil {
		w.Close()
		return nil, func() {}
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(target) != dir {
		_ = w.Add(filepath.Dir(target))
	}
	out, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		for {
			select {
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				if e.Op == fsnotify.Chmod || e.Name == dir {
					continue
				}
			case _, ok := <-w.Errors: // lost events: read to be sure
				if !ok {
					return
				}
			}
			select {
			case out <- struct{}{}:
			default: // one is waiting already
			}
		}
	}()
	return out, func() { w.Close(); <-done }
}
