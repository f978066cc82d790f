package control

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestAProcessOfAnotherUserIsNotServed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir, err := os.MkdirTemp("", "perch-peer")
	must(t, err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := listen(path)
	must(t, err)
	// Open the doors, so that only the check of the peer is left.
	must(t, os.Chmod(dir, 0o777))
	must(t, os.Chmod(path, 0o777))
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "served") })}
	go srv.Serve(l)
	defer srv.Close()
	ask := func() string {
		c, err := net.Dial("unix", path)
		must(t, err)
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		b, _ := io.ReadAll(c)
		return string(b)
	}
	if got := ask(); !strings.Contains(got, "served") {
		t.Fatalf("the same user got %q", got)
	}
	// The uid of a thread decides what the other end sees.
	got := make(chan string)
	go func() {
		// The thread is thrown away with the goroutine.
		runtime.LockOSThread()
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, 65534, 65534, 65534); e != 0 {
			got <- "cannot change user: " + e.Error()
			return
		}
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err == nil {
			err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		}
		if err != nil {
			got <- err.Error()
			return
		}
		defer syscall.Close(fd)
		syscall.Write(fd, []byte("GET / HTTP/1.0\r\n\r\n"))
		buf := make([]byte, 512)
		n, _ := syscall.Read(fd, buf)
		got <- string(buf[:max(n, 0)])
	}()
	if s := <-got; s != "" {
		t.Fatalf("another user got %q", s)
	}
}
