package kb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"perch/chat"
	"perch/kb/backend"
	"perch/kb/chunk"
	"perch/kb/extract"
	"perch/kb/segment"
	"perch/kb/walk"
)

const (
	// batchChunks and batchBytes close a transaction: large enough that its sync
	// to disk does not count, small enough to be built in memory and to lose
	// little in a kill.
	batchChunks = 1000
	batchBytes  = 4 << 20
	// batchTime closes one that fills slowly, so that progress is kept.
	batchTime = 2 * time.Second
	// racyWindow is how close to its indexing a file's time may be and still be
	// trusted: within it the file can have changed again under the same time.
	racyWindow = 2 * time.Second
)

// KBAdd indexes folders or files and returns when they are searchable by
// keyword. A folder that is known is brought up to date. Cancelling ctx stops
// the pass; what it has done stays.
func (b *Base) KBAdd(ctx context.Context, paths []string, report func(Status)) (Status, error) {
	var roots []string
	for _, p := range paths {
		abs, err := b.checkRoot(p)
		if err != nil {
			return Status{}, err
		}
		roots = append(roots, abs)
	}
	for _, r := range roots {
		if err := b.addRoot(ctx, r); err != nil {
			return Status{}, err
		}
	}
	b.rewatch()
	stop := b.reporter(ctx, report)
	defer stop()
	for _, r := range roots {
		j := &job{ctx: ctx, root: r, done: make(chan error, 1)}
		b.jobs.add(j)
		select {
		case err := <-j.done:
			if err != nil {
				return Status{}, err
			}
		case <-b.ctx.Done():
			return Status{}, chat.NewError(chat.ClassAborted, "err.kb_closed", "The knowledge base was closed.")
		}
	}
	return b.KBStatus(ctx)
}

// checkRoot makes a path absolute and refuses what cannot be added.
func (b *Base) checkRoot(p string) (string, error) {
	abs, err := expand(p)
	if err != nil {
		return "", err
	}
	_, err = walk.Walk(cancelledContext, abs, walk.Options{})
	switch {
	case errors.Is(err, walk.ErrGone):
		return "", chat.NewError(chat.ClassMisuse, "err.kb_no_path", "%s does not exist. Check the spelling and try again.", abs)
	case err != nil && !errors.Is(err, context.Canceled):
		return "", chat.NewError(chat.ClassMisuse, "err.kb_unreadable", "%s cannot be read: %s. Check its permissions.", abs, walk.Reason(err)).Wrap(err)
	}
	return abs, nil
}

// cancelledContext makes a walk look at its root only.
var cancelledContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (b *Base) addRoot(ctx context.Context, path string) error {
	roots, err := b.be.Roots(ctx)
	if err != nil {
		return err
	}
	for _, r := range roots {
		if r.Path == path {
			return nil
		}
	}
	defer b.changed()
	return b.be.PutRoot(ctx, backend.Root{Path: path, Added: time.Now()})
}

// KBRemove takes a folder or file out of the index. The files are not touched.
func (b *Base) KBRemove(ctx context.Context, path string) error {
	abs, err := expand(path)
	if err != nil {
		return err
	}
	roots, err := b.be.Roots(ctx)
	if err != nil {
		return err
	}
	known, inside := false, ""
	var nested []string
	for _, r := range roots {
		switch {
		case r.Path == abs:
			known = true
		case within(r.Path, abs):
			inside = r.Path
		case within(abs, r.Path):
			nested = append(nested, r.Path)
		}
	}
	if !known {
		if inside != "" {
			return chat.NewError(chat.ClassMisuse, "err.kb_inside", "%s belongs to %s, which was added as a whole. Name it in a .perchignore file there to leave it out.", abs, inside)
		}
		return chat.NewError(chat.ClassMisuse, "err.kb_unknown", "%s is not in the knowledge base. See the list of folders with `perch kb status`.", abs)
	}
	if err := b.be.DeleteRoot(ctx, abs); err != nil {
		return err
	}
	b.jobs.drop(abs)
	if err := b.deleteDocuments(ctx, abs); err != nil {
		return err
	}
	if inside != "" { // the outer folder takes over what was added by itself
		nested = append(nested, inside)
	}
	for _, r := range nested {
		b.jobs.add(&job{ctx: b.ctx, root: r})
	}
	b.rewatch()
	for _, f := range b.o.Config().Folders {
		if p, err := expand(f); err == nil && p == abs {
			b.notify(fmt.Sprintf("%s is also listed in the settings (kb.folders) and comes back at the next start unless it is removed there.", abs))
		}
	}
	return nil
}

// drop forgets waiting jobs of a root.
func (q *jobs) drop(root string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	keep := q.queue[:0]
	for _, j := range q.queue {
		if j.root == root {
			j.finish(context.Canceled)
			continue
		}
		keep = append(keep, j)
	}
	q.queue = keep
}

func within(root, p string) bool {
	rel, err := filepath.Rel(root, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// deleteDocuments removes the documents of a root, and its problems.
func (b *Base) deleteDocuments(ctx context.Context, root string) error {
	var paths []string
	err := b.be.Documents(ctx, func(d backend.Document) bool {
		if d.Root == root {
			paths = append(paths, d.Path)
		}
		return true
	})
	if err != nil {
		return err
	}
	problems, err := b.be.Problems(ctx)
	if err != nil {
		return err
	}
	clear := map[string]string{}
	for p := range problems {
		if within(root, p) {
			clear[p] = ""
		}
	}
	for len(paths) > 0 || len(clear) > 0 {
		n := min(len(paths), batchChunks)
		if err := b.be.Apply(ctx, backend.Batch{Delete: paths[:n], Problems: clear}); err != nil {
			return err
		}
		paths, clear = paths[n:], nil
	}
	b.changed()
	return nil
}

// indexLoop is the indexing thread.
func (b *Base) indexLoop() {
	if !b.o.KeepPriority {
		defer lowerPriority()()
	}
	an, worked := segment.NewAnalyzer(), false
	for {
		j := b.jobs.take()
		if j == nil {
			if worked {
				// What a burst of work needed goes back to the system: its cache and
				// garbage now, the pages of the file when they are idle.
				an, worked = segment.NewAnalyzer(), false
				debug.FreeOSMemory()
				b.vectorsUsed()
			}
			select {
			case <-b.jobs.wake:
				continue
			case <-b.ctx.Done():
				return
			}
		}
		worked = true
		err := b.runJob(j, an)
		b.setWork(progress{})
		j.finish(err)
		if err != nil && j.done == nil && !errors.Is(err, context.Canceled) {
			b.notify(fmt.Sprintf("Indexing %s stopped: %v", j.root, err))
		}
		b.embed.kick()
		b.wakeTidy()
	}
}

func (b *Base) wakeTidy() {
	select {
	case b.tidy <- struct{}{}:
	default:
	}
}

// tidyLoop merges and sweeps when there was a change, beside the indexing: what
// it does is cut into short transactions that nobody waits for long.
func (b *Base) tidyLoop() {
	if !b.o.KeepPriority {
		defer lowerPriority()()
	}
	again := time.NewTimer(tidyAgain)
	defer again.Stop()
	for {
		select {
		case <-b.tidy:
		case <-again.C:
			b.maintain()
			continue
		case <-b.ctx.Done():
			return
		}
		for b.maintain() {
		}
		again.Reset(tidyAgain)
	}
}

// tidyAgain is when to look once more after the last change, for what only a
// quiet file allows.
const tidyAgain = time.Minute

// runJob runs a pass and turns a panic into its error.
func (b *Base) runJob(j *job, an *segment.Analyzer) (err error) {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	defer func() {
		if p := recover(); p != nil {
			err = chat.NewError(chat.ClassInternal, "err.kb_index", "Indexing %s failed inside: %v. Please report this.", j.root, p)
		}
	}()
	p := pass{b: b, ctx: ctx, root: j.root, an: an}
	return p.run(j.paths)
}

// maintain does one step of what can wait and reports whether there is more.
func (b *Base) maintain() bool {
	more, err := b.be.Maintain(b.ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		b.notify(fmt.Sprintf("Tidying up the knowledge base failed: %v", err))
		return false
	}
	return more
}

// pass brings one root, or some paths of it, up to date.
type pass struct {
	b    *Base
	ctx  context.Context
	root string
	an   *segment.Analyzer

	batch   backend.Batch
	chunks  int
	bytes   int
	started time.Time
	// problems is what is known of this root, to write only what changes.
	problems map[string]string
}

func (p *pass) run(paths []string) error {
	roots, err := p.b.be.Roots(p.ctx)
	if err != nil {
		return err
	}
	var self *backend.Root
	for i := range roots {
		if roots[i].Path == p.root {
			self = &roots[i]
		}
	}
	if self == nil {
		return nil // removed while the job waited
	}
	all, err := p.b.be.Problems(p.ctx)
	if err != nil {
		return err
	}
	p.problems = map[string]string{}
	for path, why := range all {
		if within(p.root, path) {
			p.problems[path] = why
		}
	}
	p.b.setWork(progress{what: "Looking through " + p.root})
	if paths == nil {
		err = p.whole()
	} else {
		err = p.some(paths)
	}
	if err != nil {
		// What is gathered is good; only a cancelled or failed store loses it.
		_ = p.flush()
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	if paths == nil {
		self.Indexed = time.Now()
		if err := p.b.be.PutRoot(p.ctx, *self); err != nil {
			return err
		}
		p.b.changed()
	}
	return nil
}

func (p *pass) options() walk.Options { return walk.Options{Exclude: p.b.o.Exclude} }

// whole compares the whole root with the index.
func (p *pass) whole() error {
	known := map[string]backend.Document{}
	err := p.b.be.Documents(p.ctx, func(d backend.Document) bool {
		if within(p.root, d.Path) {
			known[d.Path] = d
		}
		return true
	})
	if err != nil {
		return err
	}
	res, err := walk.Walk(p.ctx, p.root, p.options())
	if errors.Is(err, walk.ErrGone) {
		res, err = walk.Result{Skipped: []walk.Skip{{Path: p.root, Reason: "does not exist any more"}}}, nil
	}
	if err != nil {
		return err
	}
	return p.compare(res, known, p.problems)
}

// some looks at single files and folders, as the watcher reports them.
func (p *pass) some(paths []string) error {
	for _, path := range compact(paths) {
		if !within(p.root, path) {
			continue
		}
		if path == p.root {
			return p.whole()
		}
		known := map[string]backend.Document{}
		if d, ok, err := p.b.be.Document(p.ctx, path); err != nil {
			return err
		} else if ok {
			known[path] = d
		} else if err := p.b.be.Documents(p.ctx, func(d backend.Document) bool {
			if within(path, d.Path) {
				known[d.Path] = d
			}
			return true
		}); err != nil {
			return err
		}
		problems := map[string]string{}
		for q, why := range p.problems {
			if within(path, q) {
				problems[q] = why
			}
		}
		res, err := walk.Below(p.ctx, p.root, path, p.options())
		if err != nil && !errors.Is(err, walk.ErrGone) {
			return err
		}
		if err := p.compare(res, known, problems); err != nil {
			return err
		}
	}
	return nil
}

// compare indexes what changed and deletes what is gone.
func (p *pass) compare(res walk.Result, known map[string]backend.Document, problems map[string]string) error {
	seen := make(map[string]bool, len(res.Files))
	reasons := map[string]bool{}
	for _, s := range res.Skipped {
		reasons[s.Path] = true
		p.problem(s.Path, s.Reason)
	}
	// Deletions come first in each batch: a moved file is never there twice.
	for _, f := range res.Files {
		seen[f.Path] = true
	}
	for path, d := range known {
		if !seen[path] && (d.Root == p.root || !p.otherRoot(d.Root)) {
			p.batch.Delete = append(p.batch.Delete, path)
		}
	}
	if len(p.batch.Delete) > batchChunks {
		if err := p.flush(); err != nil {
			return err
		}
	}
	for i, f := range res.Files {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		p.b.setWork(progress{what: f.Path, done: i, total: len(res.Files)})
		d, ok := known[f.Path]
		why, err := p.file(f, d, ok)
		if err != nil {
			return err
		}
		if why != "" {
			reasons[f.Path] = true
			if ok {
				p.batch.Delete = append(p.batch.Delete, f.Path)
			}
			p.problem(f.Path, why)
		}
		if err := p.flushIfFull(); err != nil {
			return err
		}
	}
	for path := range problems {
		if !reasons[path] {
			p.problem(path, "")
		}
	}
	return nil
}

// otherRoot reports whether another root of that path is still there; it then
// looks after its own documents.
func (p *pass) otherRoot(path string) bool {
	roots, err := p.b.be.Roots(p.ctx)
	if err != nil {
		return true
	}
	for _, r := range roots {
		if r.Path == path {
			return true
		}
	}
	return false
}

func (p *pass) problem(path, why string) {
	if p.problems[path] == why {
		return
	}
	if p.batch.Problems == nil {
		p.batch.Problems = map[string]string{}
	}
	p.batch.Problems[path] = why
	if why == "" {
		delete(p.problems, path)
	} else {
		p.problems[path] = why
	}
}

// file indexes one file if it changed. It returns why it cannot be indexed; an
// error is one that ends the pass.
func (p *pass) file(f walk.File, d backend.Document, known bool) (why string, err error) {
	limit := int64(p.b.o.Config().MaxFileMB) << 20
	if limit <= 0 {
		limit = extract.DefaultMaxBytes
	}
	same := known && d.Size == f.Size && d.ModTime.Equal(f.ModTime)
	if same && d.Indexed.Sub(d.ModTime) > racyWindow {
		return "", nil
	}
	if !known && p.problems[f.Path] != "" && p.b.sameSkip(f) {
		return p.problems[f.Path], nil
	}
	defer func() {
		if why != "" && err == nil {
			p.b.rememberSkip(f)
		}
	}()
	content, err := extract.Read(f.Path, extract.Options{MaxBytes: limit})
	if err != nil {
		return skipReason(err), nil
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:16])
	now := time.Now()
	if known && d.Hash == hash {
		if !same || d.Root != p.root && !p.otherRoot(d.Root) {
			d.Size, d.ModTime, d.Indexed, d.Root = f.Size, f.ModTime, now, p.root
			p.batch.Touch = append(p.batch.Touch, d)
		}
		return "", nil
	}
	doc, err := extract.Bytes(p.ctx, f.Path, content)
	if err != nil {
		if p.ctx.Err() != nil {
			return "", p.ctx.Err()
		}
		return skipReason(err), nil
	}
	e := backend.Entry{Document: backend.Document{
		Path: f.Path, Root: p.root, Title: doc.Title, Kind: doc.Kind, Size: f.Size, ModTime: f.ModTime,
		Hash: hash, Indexed: now, Lang: segment.Detect(doc.Text),
	}}
	if known && d.Root != p.root && p.otherRoot(d.Root) {
		e.Root = d.Root
	}
	e.Parts = p.parts(&doc, &e.Document)
	if len(e.Parts) == 0 {
		return "no text in it", nil
	}
	p.batch.Put = append(p.batch.Put, e)
	p.problem(f.Path, "")
	p.chunks += len(e.Parts)
	p.bytes += len(doc.Text)
	return "", nil
}

// sameSkip reports whether this process has looked at the file before, found
// that it cannot be indexed, and it has not changed since.
func (b *Base) sameSkip(f walk.File) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.skips[f.Path]
	return ok && s.Size == f.Size && s.ModTime.Equal(f.ModTime)
}

func (b *Base) rememberSkip(f walk.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.skips[f.Path] = f
}

// parts cuts and analyses a document.
func (p *pass) parts(doc *extract.Document, d *backend.Document) []backend.Part {
	cs := chunk.Split(doc.Text, chunk.Options{Headings: doc.Headings, Code: doc.Kind == "code"})
	name := nameText(d)
	out := make([]backend.Part, len(cs))
	for i, c := range cs {
		part := backend.Part{Text: c.Text, Heading: c.Heading, StartLine: c.StartLine, EndLine: c.EndLine}
		if doc.Pages != nil && c.StartLine <= len(doc.Pages) {
			part.Page = doc.Pages[c.StartLine-1]
		}
		if doc.Lines != nil {
			part.StartLine, part.EndLine = mapLines(doc.Lines, c.StartLine, c.EndLine)
		}
		part.Terms = p.an.Terms(make([]string, 0, len(c.Text)/4), c.Text, d.Lang)
		if c.Heading != "" {
			part.Terms = p.an.Terms(part.Terms, c.Heading, d.Lang)
		}
		part.Terms = p.an.Terms(part.Terms, name, d.Lang)
		out[i] = part
	}
	return out
}

// nameText is what a document's name adds to each of its passages: a question
// often holds words of the file's name or title that the passage lacks.
func nameText(d *backend.Document) string {
	base := filepath.Base(d.Path)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if d.Title != "" && d.Title != base {
		return name + " " + d.Title
	}
	return name
}

// mapLines takes lines of the extracted text to those of the file.
func mapLines(lines []int, start, end int) (int, int) {
	at := func(n int) int {
		if len(lines) == 0 {
			return n
		}
		return lines[min(max(n-1, 0), len(lines)-1)]
	}
	s := at(start)
	return s, max(s, at(end))
}

func skipReason(err error) string {
	var s *extract.Skip
	if errors.As(err, &s) {
		return s.Reason
	}
	return walk.Reason(err)
}

func (p *pass) flushIfFull() error {
	if p.started.IsZero() && !p.batch.Empty() {
		p.started = time.Now()
	}
	if p.chunks >= batchChunks || p.bytes >= batchBytes || !p.batch.Empty() && time.Since(p.started) > batchTime {
		return p.flush()
	}
	return nil
}

// flush commits the batch. It is not cut short by a cancelled pass: what was
// read is kept.
func (p *pass) flush() error {
	if p.batch.Empty() {
		return nil
	}
	err := p.b.be.Apply(context.WithoutCancel(p.ctx), p.batch)
	p.batch, p.chunks, p.bytes, p.started = backend.Batch{}, 0, 0, time.Time{}
	p.b.changed()
	p.b.wakeTidy()
	p.b.embed.kick()
	return err
}

// Refresh looks at single files or folders below added ones again, and returns
// when they are up to date.
func (b *Base) Refresh(ctx context.Context, path string) error {
	abs, err := expand(path)
	if err != nil {
		return err
	}
	roots, err := b.be.Roots(ctx)
	if err != nil {
		return err
	}
	for _, r := range roots {
		if !within(r.Path, abs) {
			continue
		}
		j := &job{ctx: ctx, root: r.Path, paths: []string{abs}, done: make(chan error, 1)}
		b.jobs.add(j)
		select {
		case err := <-j.done:
			if err != nil {
				return err
			}
		case <-b.ctx.Done():
			return chat.NewError(chat.ClassAborted, "err.kb_closed", "The knowledge base was closed.")
		}
	}
	return nil
}

// Settle does at once what the indexing thread leaves for quiet moments.
func (b *Base) Settle(ctx context.Context) error {
	for {
		more, err := b.be.Maintain(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if c, ok := b.be.(interface{ Compact(context.Context) error }); ok {
		return c.Compact(ctx)
	}
	return nil
}
