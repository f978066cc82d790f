package control

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"perch/chat"
)

// pid is this process's.
var pid = os.Getpid()

// dialTimeout bounds the wait for a socket to be taken up; a living server does
// so within a millisecond.
const dialTimeout = 2 * time.Second

// listen makes the socket, for the owner only, in a folder that is the owner's.
func listen(path string) (net.Listener, error) {
	if err := ownFolder(filepath.Dir(path)); err != nil {
		return nil, noSocket(path, err)
	}
	if c, err := net.DialTimeout("unix", path, dialTimeout); err == nil {
		c.Close()
		return nil, noSocket(path, errors.New("another process answers on it"))
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil { // a leftover of a killed process
			return nil, noSocket(path, err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, noSocket(path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, noSocket(path, err)
	}
	return peers{l}, nil
}

func noSocket(path string, err error) error {
	return chat.NewError(chat.ClassStore, "err.socket",
		"The control socket %s cannot be made: %v. Check the folder's owner and permissions, or set PERCH_HOME to another one.", path, err).Wrap(err)
}

// ownFolder makes a folder that only this user can enter, and refuses one that
// somebody else has put there.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	if !ownedByUs(st) {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// peers takes up connections of this user only.
type peers struct{ net.Listener }

// Accept returns the next connection of this user.
func (p peers) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil || samePeer(c) {
			return c, err
		}
		c.Close()
	}
}

// newToken writes a new token, whole or not at all.
func newToken(path string) ([]byte, error) {
	var b [32]byte
	rand.Read(b[:]) // never fails on supported systems
	token := []byte(hex.EncodeToString(b[:]))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = writeWhole(path, token)
	}
	if err != nil {
		return nil, chat.NewError(chat.ClassStore, "err.token_write",
			"%s cannot be written: %v. Check the folder's owner, its permissions and the free space.", path, err).Wrap(err)
	}
	return token, nil
}

// writeWhole writes a 0600 file under a name of its own and renames it.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
