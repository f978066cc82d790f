package bolt

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// compacting is the suffix of the copy while it is made.
	compacting = ".compacting"
	// compactShare of free pages makes a copy worth its while, from compactBytes
	// on. Merging and replacing leave free pages; Bolt uses them again, but never
	// gives them back.
	compactShare = 0.1
	compactBytes = 8 << 20
	// compactTx is how much one transaction of the copy writes.
	compactTx = 4 << 20
)

// quiet is how long nothing must have been written before the file is copied by
// itself: a writer would have to wait for the whole copy.
const quiet = 30 * time.Second

// compactWhenQuiet compacts unless something was written just now.
func (b *Backend) compactWhenQuiet(ctx context.Context) error {
	if time.Since(time.Unix(0, b.written.Load())) < quiet {
		return nil
	}
	return b.Compact(ctx)
}

// Compact copies the file without its free pages and puts the copy in its place,
// if there are enough of them.
// Searches go on while it copies, writers wait. A kill leaves either the old
// file or the new one.
func (b *Backend) Compact(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	var size int64
	if err := b.view(func(tx *bbolt.Tx) error { size = tx.Size(); return nil }); err != nil {
		return err
	}
	st := b.db.Stats()
	free := int64(st.FreePageN+st.PendingPageN) * int64(b.db.Info().PageSize)
	if free < compactBytes || float64(free) < compactShare*float64(size) {
		return nil
	}
	path := b.db.Path()
	tmp := path + compacting
	if err := b.copyTo(tmp); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("compact the knowledge base: %w", err)
	}
	b.handle.Lock()
	defer b.handle.Unlock()
	if err := b.db.Close(); err != nil {
		return err
	}
	renamed := os.Rename(tmp, path)
	db, err := openFile(path)
	if err != nil {
		return fmt.Errorf("open the compacted knowledge base: %w", err)
	}
	b.db = db
	return renamed
}

func (b *Backend) copyTo(tmp string) error {
	_ = os.Remove(tmp)
	dst, err := openFile(tmp)
	if err != nil {
		return err
	}
	dst.NoSync = true
	if err := bbolt.Compact(dst, b.db, compactTx); err != nil {
		_ = dst.Close()
		return err
	}
	dst.NoSync = false
	if err := dst.Sync(); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}
