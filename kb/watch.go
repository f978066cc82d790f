package kb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"perch/kb/walk"
)

const (
	// settle is how long a path must be quiet before it is looked at: editors
	// write a file in several steps.
	settle = 300 * time.Millisecond
	// settleMost is the longest wait when a path is never quiet.
	settleMost = 2 * time.Second
	// rescanEvery is the pace of whole passes, for what the watch has missed:
	// network folders, a full event queue, changes while Perch was off.
	rescanEvery = 10 * time.Minute
	// rescanBlind is the pace where the system cannot watch.
	rescanBlind = time.Minute
)

// Watch keeps the index up to date until ctx ends or the base is closed: the
// folders of the settings are added, all roots are compared at once and then
// every ten minutes, and changes are indexed as they happen.
func (b *Base) Watch(ctx context.Context) error {
	w, err := newWatcher(b)
	if err != nil {
		b.notify(fmt.Sprintf("Folders cannot be watched (%v); they are looked through every minute instead.", err))
	}
	b.mu.Lock()
	b.watching = w
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		if b.watching == w {
			b.watching = nil
		}
		b.mu.Unlock()
		w.close()
	}()
	if err := b.syncFolders(ctx); err != nil {
		return err
	}
	b.rewatch()
	b.rescan(ctx)
	every := rescanEvery
	if w == nil {
		every = rescanBlind
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.ctx.Done():
			return nil
		case <-t.C:
			if err := b.syncFolders(ctx); err != nil {
				return err
			}
			b.rewatch()
			b.rescan(ctx)
		}
	}
}

// syncFolders adds the folders of the settings.
func (b *Base) syncFolders(ctx context.Context) error {
	for _, f := range b.o.Config().Folders {
		abs, err := b.checkRoot(f)
		if err != nil {
			b.notify(fmt.Sprintf("The folder %s of the settings (kb.folders) cannot be indexed: %v", f, err))
			continue
		}
		if err := b.addRoot(ctx, abs); err != nil {
			return err
		}
	}
	return nil
}

// rescan queues a pass over each root.
func (b *Base) rescan(ctx context.Context) {
	roots, err := b.be.Roots(ctx)
	if err != nil {
		return
	}
	for _, r := range roots {
		b.jobs.add(&job{ctx: b.ctx, root: r.Path})
	}
}

// rewatch tells the watcher of the roots of now.
func (b *Base) rewatch() {
	b.mu.Lock()
	w := b.watching
	b.mu.Unlock()
	if w == nil {
		return
	}
	roots, err := b.be.Roots(b.ctx)
	if err != nil {
		return
	}
	var paths []string
	for _, r := range roots {
		paths = append(paths, r.Path)
	}
	w.roots(paths)
}

// watcher turns file events into jobs.
type watcher struct {
	b  *Base
	fs *fsnotify.Watcher
	wg sync.WaitGroup

	mu    sync.Mutex // guards what follows
	root  []string
	dirs  map[string]bool
	dirty map[string]time.Time // path → first event
	timer *time.Timer
	gone  bool
}

func newWatcher(b *Base) (*watcher, error) {
	f, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{b: b, fs: f, dirs: map[string]bool{}, dirty: map[string]time.Time{}}
	w.wg.Go(w.loop)
	return w, nil
}

func (w *watcher) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	already := w.gone
	w.gone = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	if already {
		return
	}
	_ = w.fs.Close()
	w.wg.Wait()
}

// roots watches the folders of these roots and leaves those of others.
func (w *watcher) roots(paths []string) {
	w.mu.Lock()
	w.root = paths
	w.mu.Unlock()
	wanted := map[string]bool{}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil || !info.IsDir() {
			wanted[filepath.Dir(p)] = true // a file is watched through its folder
			continue
		}
		res, err := walk.Walk(w.b.ctx, p, walk.Options{Exclude: w.b.o.Exclude})
		if err != nil {
			continue
		}
		for _, d := range res.Dirs {
			wanted[d] = true
		}
	}
	w.mu.Lock()
	var stale []string
	for d := range w.dirs {
		if !wanted[d] {
			stale = append(stale, d)
			delete(w.dirs, d)
		}
	}
	w.mu.Unlock()
	for _, d := range stale {
		_ = w.fs.Remove(d)
	}
	for d := range wanted {
		w.add(d)
	}
}

func (w *watcher) add(dir string) {
	w.mu.Lock()
	known := w.dirs[dir] || w.gone
	if !known {
		w.dirs[dir] = true
	}
	w.mu.Unlock()
	if known {
		return
	}
	if err := w.fs.Add(dir); err != nil {
		w.mu.Lock()
		delete(w.dirs, dir)
		w.mu.Unlock()
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			w.b.notify(fmt.Sprintf("Not all folders can be watched (%v); those are looked through every ten minutes. Raise fs.inotify.max_user_watches to watch more.", err))
		}
	}
}

func (w *watcher) loop() {
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			w.event(e)
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.b.rescan(w.b.ctx)
			}
		}
	}
}

func (w *watcher) event(e fsnotify.Event) {
	if e.Op == fsnotify.Chmod {
		// Permissions can make a file readable; contents are compared by hash.
		if info, err := os.Lstat(e.Name); err != nil || !info.Mode().IsRegular() {
			return
		}
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.mu.Lock()
		delete(w.dirs, e.Name)
		w.mu.Unlock()
	}
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			w.watchBelow(e.Name)
		}
	}
	w.mark(e.Name)
}

// watchBelow watches a new folder and those in it.
func (w *watcher) watchBelow(dir string) {
	for _, r := range w.rootsOf(dir) {
		res, err := walk.Below(w.b.ctx, r, dir, walk.Options{Exclude: w.b.o.Exclude})
		if err != nil {
			continue
		}
		for _, d := range res.Dirs {
			w.add(d)
		}
	}
}

func (w *watcher) rootsOf(p string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, r := range w.root {
		if within(r, p) {
			out = append(out, r)
		}
	}
	return out
}

func (w *watcher) mark(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	now := time.Now()
	first, ok := w.dirty[path]
	if !ok {
		w.dirty[path] = now
		first = now
	}
	wait := min(settle, max(settleMost-now.Sub(first), 0))
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.flush)
	} else {
		w.timer.Reset(wait)
	}
}

// flush queues what has changed. A changed ignore file concerns its whole
// folder.
func (w *watcher) flush() {
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = map[string]time.Time{}
	w.mu.Unlock()
	byRoot := map[string][]string{}
	for p := range dirty {
		if walk.IsIgnoreFile(filepath.Base(p)) {
			p = filepath.Dir(p)
		}
		for _, r := range w.rootsOf(p) {
			byRoot[r] = append(byRoot[r], p)
		}
	}
	for r, ps := range byRoot {
		if len(ps) > manyChanges {
			ps = nil // the whole root
		}
		w.b.jobs.add(&job{ctx: w.b.ctx, root: r, paths: ps})
	}
}

// manyChanges at once are found sooner by comparing the whole root.
const manyChanges = 200

// compact drops paths that are below another one.
func compact(paths []string) []string {
	var out []string
	for i, p := range paths {
		covered := false
		for j, q := range paths {
			if i != j && within(q, p) && (q != p || j < i) {
				covered = true
				break
			}
		}
		if !covered {
			out = append(out, p)
		}
	}
	return out
}
