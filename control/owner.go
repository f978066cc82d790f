package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"perch/chat"
	"perch/config"
)

const (
	// firstPoll and slowestPoll are how often a starting owner is looked for: it
	// needs some 20 ms.
	firstPoll   = 5 * time.Millisecond
	slowestPoll = 50 * time.Millisecond
	// startAgain is when an owner that does not answer is started once more: the
	// first one may have found the lock still held by another that was ending.
	startAgain = 500 * time.Millisecond
	// startTime is how long a started owner may take until it answers.
	startTime = 15 * time.Second
)

// OwnerLock is held by the one process that owns the store and serves the socket.
// It falls with the process, however that ends.
type OwnerLock struct{ f *os.File }

// AcquireOwner takes the lock without waiting. The error is [ErrOwned] when
// another process has it.
func AcquireOwner(paths config.Paths) (*OwnerLock, error) {
	path := paths.Lock()
	cannot := func(err error) error {
		return chat.NewError(chat.ClassStore, "err.lock",
			"%s cannot be locked: %v. Check the folder's owner and permissions, or set PERCH_HOME to another one.", path, err).Wrap(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, cannot(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, cannot(err)
	}
	ok, err := lockFile(f)
	if err != nil {
		f.Close()
		return nil, cannot(err)
	}
	if !ok {
		f.Close()
		return nil, chat.NewError(chat.ClassMisuse, "err.owned",
			"Perch is running already as process %d. `perch quit` ends it.", OwnerPID(paths)).Wrap(ErrOwned)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(pid)), 0)
	}
	if err != nil {
		f.Close()
		return nil, cannot(err)
	}
	return &OwnerLock{f}, nil
}

// WaitOwner is [AcquireOwner] that waits until ctx ends for another owner to go:
// one that is ending may have left the socket but still writes its store.
func WaitOwner(ctx context.Context, paths config.Paths) (*OwnerLock, error) {
	for pause := firstPoll; ; pause = min(2*pause, slowestPoll) {
		l, err := AcquireOwner(paths)
		if !errors.Is(err, ErrOwned) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// Release gives the lock up.
func (l *OwnerLock) Release() error { return l.f.Close() }

// OwnerPID is the process that holds, or last held, the lock; 0 if none has.
func OwnerPID(paths config.Paths) int {
	b, err := os.ReadFile(paths.Lock())
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return n
}

// EnsureOwner returns a client of the running owner, or starts one and waits for
// it. start must return at once with the new process on its own. Of several that
// are started at the same time one becomes the owner; all clients find it.
func EnsureOwner(ctx context.Context, paths config.Paths, start func() error) (*Client, error) {
	c, err := Dial(paths)
	if !errors.Is(err, ErrNotRunning) {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var started time.Time
	for pause := firstPoll; ; pause = min(2*pause, slowestPoll) {
		if time.Since(started) >= startAgain {
			if err := start(); err != nil {
				return nil, notStarted(err)
			}
			started = time.Now()
		}
		c, err := Dial(paths)
		if !errors.Is(err, ErrNotRunning) {
			return c, err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, chat.NewError(chat.ClassInternal, "err.owner_silent",
				"Perch was started but did not answer within %s. Its log is %s.", startTime, paths.Log()).Wrap(fmt.Errorf("%w: %w", ErrNoAnswer, ctx.Err()))
		case <-time.After(pause):
		}
	}
}

// notStarted is the error of a start; one that says what to do is left as it is.
func notStarted(err error) error {
	var classed *chat.Error
	if errors.As(err, &classed) {
		return err
	}
	return chat.NewError(chat.ClassInternal, "err.start_owner", "Perch could not be started: %v. `perch doctor` says what is missing.", err).Wrap(err)
}
