package control

import (
	"context"
	"errors"
	"time"

	"perch/config"
)

// endingWait is how long an owner that no longer answers may take to save
// everything and let its lock go.
const endingWait = 15 * time.Second

// TakeOver takes the owner's lock. Where another process has it and answers, the
// error is ErrOwned at once; where it does not answer, it is about to end or to
// begin, and is waited for.
func TakeOver(ctx context.Context, paths config.Paths) (*OwnerLock, error) {
	ctx, cancel := context.WithTimeout(ctx, endingWait)
	defer cancel()
	for pause := firstPoll; ; pause = min(2*pause, slowestPoll) {
		lock, err := AcquireOwner(paths)
		if !errors.Is(err, ErrOwned) {
			return lock, err
		}
		if c, err := DialAny(paths); err == nil {
			c.Close()
			return nil, ErrOwned
		}
		select {
		case <-ctx.Done():
			return nil, ErrOwned
		case <-time.After(pause):
		}
	}
}
