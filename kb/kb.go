// Package kb is the knowledge base: hybrid search over the user's own documents.
//
// [Open] gives a [Base] over one of three backends. Files are walked, read, cut
// into passages and indexed for keywords at once; where an embedding model is
// configured, vectors follow behind. A search runs both passes and fuses them.
// Without an embedding model everything works on keywords.
//
// Guarantees:
//
//   - A document is in the index as a whole or not at all, also after a kill.
//   - An unchanged file costs a look at its size and time; a text that has a
//     vector is never embedded again, wherever it moves.
//   - Vectors of different models or dimensions never meet.
//   - Indexing runs on one thread of low priority, shows its progress, and can be
//     cancelled at any moment.
package kb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/config"
	"perch/control"
	"perch/kb/backend"
	"perch/kb/backend/bolt"
	"perch/kb/backend/memory"
	"perch/kb/backend/postgres"
	"perch/kb/walk"
)

// Embedder makes vectors of texts. Errors are classed (see chat.Error): a
// retryable one is tried again after its wait, any other stops embedding until
// the embedder is set again.
type Embedder interface {
	// Embed returns one vector for each text, all of one dimension.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model, "provider/model".
	Model() string
}

// Options say how to open a knowledge base.
type Options struct {
	// Path is the Bolt file; "" keeps the index in memory. The setting kb.backend
	// "postgres" overrides it.
	Path string
	// Config returns the settings of now; nil takes the defaults.
	Config func() config.KB
	// Embedder makes vectors; nil means keywords only. See [Base.SetEmbedder].
	Embedder Embedder
	// EmbedderFor returns the embedder of another model, or nil. While vectors of
	// a new model are made, it lets queries still use those of the old one.
	EmbedderFor func(model string) Embedder
	// Notice receives sentences for the user; nil drops them.
	Notice func(string)
	// Exclude are absolute paths that are never indexed, such as Perch's data.
	Exclude []string
	// Backend overrides Path.
	Backend backend.Backend
	// IdleRelease is how long vectors stay in memory after the last search; 0 is
	// [DefaultIdleRelease].
	IdleRelease time.Duration
	// KeepPriority leaves the indexing thread at the priority of the process.
	KeepPriority bool
}

// DefaultIdleRelease is how long vectors stay in memory without a search.
const DefaultIdleRelease = 5 * time.Minute

// A Base is an open knowledge base. It is safe for concurrent use and fulfils
// control.Knowledge.
type Base struct {
	o  Options
	be backend.Backend

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	jobs  jobs
	embed embedding
	tidy  chan struct{} // wakes tidyLoop

	mu sync.Mutex // guards what follows
	// work is the progress of the pass at work.
	work progress
	// generation counts changes of the index.
	generation int64
	status     cachedStatus
	noticed    map[string]time.Time
	skips      map[string]walk.File // files that could not be indexed, as they were
	release    *time.Timer
	watching   *watcher
	former     Embedder // the one before the current
}

var _ control.Knowledge = (*Base)(nil)

// Open opens the knowledge base and starts its workers. A damaged file is moved
// aside and built anew, since everything in it comes from the documents; the
// user is told.
func Open(o Options) (*Base, error) {
	if o.Config == nil {
		o.Config = func() config.KB { return config.Default().KB }
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.IdleRelease <= 0 {
		o.IdleRelease = DefaultIdleRelease
	}
	be, err := openBackend(&o)
	if err != nil {
		return nil, err
	}
	b := &Base{o: o, be: be, noticed: map[string]time.Time{}, skips: map[string]walk.File{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.tidy = make(chan struct{}, 1)
	b.tidy <- struct{}{}
	b.jobs.init()
	b.embed.init(o.Embedder)
	b.wg.Go(b.indexLoop)
	b.wg.Go(b.embedLoop)
	b.wg.Go(b.tidyLoop)
	return b, nil
}

func openBackend(o *Options) (backend.Backend, error) {
	if o.Backend != nil {
		return o.Backend, nil
	}
	if c := o.Config(); c.Backend == "postgres" {
		return postgres.Open(context.Background(), c.PostgresURL, o.Notice)
	}
	if o.Path == "" {
		return memory.New(), nil
	}
	be, err := bolt.Open(o.Path)
	if !errors.Is(err, bolt.ErrDamaged) {
		if err != nil {
			return nil, err
		}
		return be, nil
	}
	aside := o.Path + ".damaged-" + time.Now().Format("20060102-150405")
	if err := os.Rename(o.Path, aside); err != nil {
		return nil, chat.NewError(chat.ClassStore, "err.kb_damaged", "The knowledge base %s is damaged and could not be moved aside: %v. Remove the file; your documents are not touched.", o.Path, err).Wrap(err)
	}
	o.Notice(fmt.Sprintf("The knowledge base was damaged. It was moved to %s and is built anew; add your folders again if they are not in the settings.", aside))
	if be, err = bolt.Open(o.Path); err != nil {
		return nil, err
	}
	return be, nil
}

// Close stops the workers and closes the index. What was being indexed goes on
// at the next start.
func (b *Base) Close() error {
	b.stop()
	b.mu.Lock()
	if b.release != nil {
		b.release.Stop()
	}
	w := b.watching
	b.watching = nil
	b.mu.Unlock()
	if w != nil {
		w.close()
	}
	b.jobs.close()
	b.wg.Wait()
	return b.be.Close()
}

// notify tells the user once in a while about the same thing.
func (b *Base) notify(text string) {
	const quiet = 10 * time.Minute
	b.mu.Lock()
	last, ok := b.noticed[text]
	fresh := !ok || time.Since(last) > quiet
	if fresh {
		b.noticed[text] = time.Now()
	}
	b.mu.Unlock()
	if fresh {
		b.o.Notice(text)
	}
}

// expand makes a path absolute, "~" included.
func expand(p string) (string, error) {
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		p = filepath.Join(home, strings.TrimPrefix(p, "~"))
	}
	return filepath.Abs(p)
}

// changed records that the index is another one now.
func (b *Base) changed() {
	b.mu.Lock()
	b.generation++
	b.mu.Unlock()
}
