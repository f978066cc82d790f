package auth

import (
	"errors"
	"time"

	"github.com/zalando/go-keyring"
)

// Keyring keeps secrets by name.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
	Delete(name string) error
}

// service is the name under which the keyring shows Perch's entries.
const service = "perch"

// keyringWait bounds one question to the keyring: one that is locked asks the
// user, and without a desktop nobody answers.
const keyringWait = 10 * time.Second

var (
	errNotThere = errors.New("not in the keyring")
	errNoAnswer = errors.New("the keyring does not answer")
)

// systemKeyring is the keyring of the desktop.
type systemKeyring struct{}

func (systemKeyring) Get(name string) (string, error) {
	var s string
	err := bounded(func() (err error) {
		v, err := keyring.Get(service, name)
		s = v
		return err
	})
	if err != nil {
		return "", err
	}
	return s, nil
}

func (systemKeyring) Set(name, secret string) error {
	return bounded(func() error { return keyring.Set(service, name, secret) })
}

func (systemKeyring) Delete(name string) error {
	return bounded(func() error { return keyring.Delete(service, name) })
}

// bounded gives up waiting; the question itself cannot be taken back.
func bounded(ask func() error) error {
	done := make(chan error, 1)
	go func() { done <- ask() }()
	t := time.NewTimer(keyringWait)
	defer t.Stop()
	select {
	case err := <-done:
		if errors.Is(err, keyring.ErrNotFound) {
			return errNotThere
		}
		return err
	case <-t.C:
		return errNoAnswer
	}
}
