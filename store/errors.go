package store

import (
	"errors"
	"io/fs"
	"syscall"

	"perch/chat"
)

// ErrExists says that a session with that id is there already.
var ErrExists = errors.New("a session with this id exists")

// ErrCorrupt says that the file, or a part of it, cannot be read.
var ErrCorrupt = errors.New("the session store is damaged")

// classify gives a failure of the disk its class and its sentence. Errors that
// callers decide on pass as they are.
func classify(path string, err error) error {
	var classed *chat.Error
	var own passed
	switch {
	case errors.As(err, &own):
		return own.error
	case err == nil, errors.As(err, &classed),
		errors.Is(err, ErrNotFound), errors.Is(err, ErrExists):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errQuota):
		return chat.NewError(chat.ClassStore, "err.store_full",
			"The disk is full: %s could not be written. Nothing stored before is lost. Free some space, then try again.", path).Wrap(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return chat.NewError(chat.ClassStore, "err.store_denied",
			"%s may not be written. Check the owner and the permissions of its folder, or set PERCH_HOME to another one.", path).Wrap(err)
	case errors.Is(err, ErrCorrupt):
		return corrupt(path, err)
	}
	return chat.NewError(chat.ClassStore, "err.store_failed",
		"Reading or writing %s failed: %v. Nothing stored before is lost; check the disk, then try again.", path, err).Wrap(err)
}

// corrupt is the error for a damaged file. The file is kept as it is.
func corrupt(path string, cause error) error {
	return chat.NewError(chat.ClassStore, "err.store_corrupt",
		"The session store %s is damaged and was left as it is. Restore it from a backup, or move it away to begin with an empty one.", path).
		Wrap(errors.Join(ErrCorrupt, cause))
}

// passed is an error of a function that the caller gave: no failure of the store.
type passed struct{ error }

// pass marks err as the caller's own; nil stays nil.
func pass(err error) error {
	if err == nil {
		return nil
	}
	return passed{err}
}

func locked(path string) error {
	return chat.NewError(chat.ClassStore, "err.store_locked",
		"The session store %s is in use by another process. Quit the other Perch (perch quit), then try again.", path).Wrap(ErrLocked)
}

func newerSchema(path, found string) error {
	return chat.NewError(chat.ClassStore, "err.store_newer",
		"The session store %s was written by a newer Perch (schema %s). Update Perch to open it.", path, found)
}

func noMessage(message, id string) error {
	return chat.NewError(chat.ClassMisuse, "err.message_not_found",
		"There is no message %s in session %s. `perch session show %s` lists them.", message, id, id)
}
