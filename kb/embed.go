package kb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"perch/chat"
	"perch/kb/backend"
)

const (
	// embedTexts and embedBytes bound one request. Vendors take 96 to 2,048 texts
	// and some 300,000 tokens; a local server answers a small batch sooner, and
	// a kill loses one batch at most.
	embedTexts = 32
	embedBytes = 128 << 10
	// embedPage is how many waiting texts are read at a time.
	embedPage = 1024
	// maxEmbedBytes is where a text is cut for a model's limit. Passages are far
	// shorter; a heading can make one a little longer.
	maxEmbedBytes = 16 << 10
	// embedCallTimeout bounds one request; a slow local model needs minutes.
	embedCallTimeout = 5 * time.Minute
	// firstWait and longestWait bound the waits between attempts.
	firstWait   = time.Second
	longestWait = time.Minute
)

// metaActive is the set that queries use.
const metaActive = "active_set"

// embedding is the state of the embedding worker. The queue is what the index
// holds without a vector, so it survives whatever happens to the process.
type embedding struct {
	mu       sync.Mutex
	wake     chan struct{}
	embedder Embedder
	changed  chan struct{} // closed when another embedder is set
	// left and total are of the round at work, 0 when idle.
	left, total int
	stopped     string // why embedding waits for the user
}

func (e *embedding) init(first Embedder) {
	e.wake = make(chan struct{}, 1)
	e.changed = make(chan struct{})
	e.embedder = first
	e.kick()
}

func (e *embedding) kick() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *embedding) current() (Embedder, chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.embedder, e.changed
}

func (e *embedding) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left > 0 && e.stopped == ""
}

func (e *embedding) set(left, total int, stopped string) {
	e.mu.Lock()
	e.left, e.total, e.stopped = left, total, stopped
	e.mu.Unlock()
}

// describe adds the embedding's progress to a status.
func (e *embedding) describe(s *Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.Working == "" && e.left > 0 && e.stopped == "" {
		s.Working, s.Done, s.Total = "Embedding with "+e.embedder.Model(), e.total-e.left, e.total
	}
}

// SetEmbedder changes the embedding model; nil means keywords only. Vectors of
// the old model keep answering until those of the new one are complete.
func (b *Base) SetEmbedder(e Embedder) {
	b.embed.mu.Lock()
	old := b.embed.embedder
	b.embed.embedder = e
	close(b.embed.changed)
	b.embed.changed = make(chan struct{})
	b.embed.stopped = ""
	b.embed.mu.Unlock()
	if old != nil {
		b.mu.Lock()
		b.former = old
		b.mu.Unlock()
	}
	b.changed()
	b.embed.kick()
}

// queryEmbedder returns the embedder of a set's model.
func (b *Base) queryEmbedder(set string) Embedder {
	model, _, _ := backend.ParseSet(set)
	if e, _ := b.embed.current(); e == nil {
		return nil // switched off
	} else if e.Model() == model {
		return e
	}
	b.mu.Lock()
	former := b.former
	b.mu.Unlock()
	if former != nil && former.Model() == model {
		return former
	}
	if b.o.EmbedderFor != nil {
		return b.o.EmbedderFor(model)
	}
	return nil
}

// activeSet is the set that queries use: the last complete one whose model can
// be asked, else what there is of the current model's.
func (b *Base) activeSet(ctx context.Context) (string, error) {
	active, err := b.be.Meta(ctx, metaActive)
	if err != nil {
		return "", err
	}
	e, _ := b.embed.current()
	if e == nil {
		return "", nil
	}
	if active != "" && b.queryEmbedder(active) != nil {
		return active, nil
	}
	return b.setOf(ctx, e.Model())
}

// setOf finds the set of a model, "" when there is none yet.
func (b *Base) setOf(ctx context.Context, model string) (string, error) {
	sets, err := b.be.Sets(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range sets {
		if m, _, ok := backend.ParseSet(s); ok && m == model {
			return s, nil
		}
	}
	return "", nil
}

// embedLoop gives every text its vector.
func (b *Base) embedLoop() {
	for {
		select {
		case <-b.embed.wake:
		case <-b.ctx.Done():
			return
		}
		e, changed := b.embed.current()
		if e == nil {
			b.embed.set(0, 0, "")
			continue
		}
		ctx, cancel := context.WithCancel(b.ctx)
		go func() { // a round of an embedder that was replaced ends
			select {
			case <-changed:
				cancel()
			case <-ctx.Done():
			}
		}()
		err := b.embedRound(ctx, e)
		replaced := ctx.Err() != nil && b.ctx.Err() == nil
		cancel()
		switch {
		case replaced:
			b.embed.kick()
		case err != nil && b.ctx.Err() == nil:
			msg := chat.AsError(err).Message
			b.embed.set(b.left(), b.left(), msg)
			b.notify(fmt.Sprintf("Embedding with %s stopped: %s Search goes on with keywords.", e.Model(), sentence(msg)))
		}
	}
}

func (b *Base) left() int {
	b.embed.mu.Lock()
	defer b.embed.mu.Unlock()
	return b.embed.left
}

// sentence makes sure that a text ends like one.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") {
		return s
	}
	return s + "."
}

// embedRound works until no text waits.
func (b *Base) embedRound(ctx context.Context, e Embedder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = chat.NewError(chat.ClassInternal, "err.kb_embed", "Embedding failed inside: %v.", p)
		}
	}()
	set, err := b.setOf(ctx, e.Model())
	if err != nil {
		return err
	}
	for {
		texts, left, err := b.be.Missing(ctx, set, embedPage)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		for len(texts) > 0 {
			_, total := b.roundTotal(left)
			b.embed.set(left, total, "")
			n := batchOf(texts)
			got, err := b.embedBatch(ctx, e, texts[:n])
			if err != nil {
				return err
			}
			next := backend.SetName(e.Model(), len(got[0].Values))
			if set != "" && next != set {
				// The same name is another model now. Start over, and keep the old
				// vectors until then.
				b.notify(fmt.Sprintf("The embedding model %s now has %d dimensions. All documents are embedded again.", e.Model(), len(got[0].Values)))
				if err := b.be.DropSet(ctx, set); err != nil {
					return err
				}
				if active, _ := b.be.Meta(ctx, metaActive); active == set {
					if err := b.be.SetMeta(ctx, metaActive, ""); err != nil {
						return err
					}
				}
			}
			restart := set != "" && next != set
			set = next
			if err := b.be.PutVectors(context.WithoutCancel(ctx), set, got); err != nil {
				return err
			}
			b.changed()
			texts = texts[n:]
			left -= n
			if restart {
				break
			}
		}
	}
	b.embed.set(0, 0, "")
	if set == "" {
		return nil
	}
	return b.completed(ctx, set)
}

// roundTotal is the size of the round at work.
func (b *Base) roundTotal(left int) (int, int) {
	b.embed.mu.Lock()
	defer b.embed.mu.Unlock()
	return left, max(left, b.embed.total)
}

// completed makes a set the one that queries use and drops all others.
func (b *Base) completed(ctx context.Context, set string) error {
	active, err := b.be.Meta(ctx, metaActive)
	if err != nil {
		return err
	}
	if active != set {
		if err := b.be.SetMeta(ctx, metaActive, set); err != nil {
			return err
		}
	}
	sets, err := b.be.Sets(ctx)
	if err != nil {
		return err
	}
	for _, s := range sets {
		if s != set {
			if err := b.be.DropSet(ctx, s); err != nil {
				return err
			}
		}
	}
	if active != set || len(sets) > 1 {
		b.changed()
		b.wakeTidy()
	}
	return nil
}

// batchOf is how many texts go into the next request.
func batchOf(texts []backend.Text) int {
	n, size := 0, 0
	for n < len(texts) && n < embedTexts {
		size += min(len(texts[n].Text), maxEmbedBytes)
		if n > 0 && size > embedBytes {
			break
		}
		n++
	}
	return n
}

// embedBatch asks for the vectors of some texts, again after failures that pass.
func (b *Base) embedBatch(ctx context.Context, e Embedder, texts []backend.Text) ([]backend.Vector, error) {
	in := make([]string, len(texts))
	for i, t := range texts {
		in[i] = t.Text
		if len(in[i]) > maxEmbedBytes {
			in[i] = strings.ToValidUTF8(in[i][:maxEmbedBytes], "")
		}
	}
	for attempt := 0; ; attempt++ {
		cctx, cancel := context.WithTimeout(ctx, embedCallTimeout)
		vs, err := e.Embed(cctx, in)
		cancel()
		if err == nil {
			return pairUp(e, texts, vs)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ce := chat.AsError(err)
		if !ce.Class.Retryable() {
			return nil, err
		}
		select {
		case <-time.After(waitFor(ce, attempt)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// waitFor is what the server asked for, else exponential backoff with full
// jitter. There is no last attempt: nobody waits for this.
func waitFor(e *chat.Error, attempt int) time.Duration {
	if e.HasRetryAfter {
		return max(e.RetryAfter, 0)
	}
	top := min(firstWait<<min(attempt, 10), longestWait)
	return time.Duration(rand.Int64N(int64(top)) + 1)
}

func pairUp(e Embedder, texts []backend.Text, vs [][]float32) ([]backend.Vector, error) {
	if len(vs) != len(texts) {
		return nil, chat.NewError(chat.ClassBadRequest, "err.kb_embed_count", "The embedding model %s returned %d vectors for %d texts. Choose another model in the settings (embedding).", e.Model(), len(vs), len(texts))
	}
	out := make([]backend.Vector, len(vs))
	for i := range vs {
		if len(vs[i]) == 0 || len(vs[i]) != len(vs[0]) {
			return nil, chat.NewError(chat.ClassBadRequest, "err.kb_embed_dim", "The embedding model %s returned vectors of %d and %d dimensions at once. Choose another model in the settings (embedding).", e.Model(), len(vs[0]), len(vs[i]))
		}
		out[i] = backend.Vector{Hash: texts[i].Hash, Values: vs[i]}
	}
	return out, nil
}
