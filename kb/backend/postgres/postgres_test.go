//go:build linux

package postgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"perch/chat"
	"perch/kb/backend"
	"perch/kb/backend/backendtest"
)

// binaries finds PostgreSQL's programs.
func binaries(t *testing.T) string {
	t.Helper()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(dirs) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(dirs[i], "initdb")); err == nil {
			return dirs[i]
		}
	}
	if p, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(p)
	}
	t.Skip("PostgreSQL is not installed")
	return ""
}

// nobody is who runs the server when the tests run as root, which PostgreSQL
// refuses.
const nobody = 65534

// startServer starts PostgreSQL in a folder of its own and returns an address.
func startServer(t *testing.T) (url string, stop func()) {
	t.Helper()
	bin := binaries(t)
	dir, err := os.MkdirTemp("/tmp", "perch-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var attr *syscall.SysProcAttr
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "perch", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port := freePort(t)
	srv := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+dir, "-c", "fsync=off")
	srv.SysProcAttr, srv.Dir = attr, dir
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = srv.Process.Signal(syscall.SIGINT)
			_ = srv.Wait()
		}
	}
	t.Cleanup(stop)
	url = fmt.Sprintf("postgres://perch@127.0.0.1:%d/postgres?sslmode=disable", port)
	waitFor(t, url)
	return url, stop
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func waitFor(t *testing.T, url string) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		c, err := pgx.Connect(ctx, url)
		cancel()
		if err == nil {
			c.Close(t.Context())
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not answer: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// opener returns a function that opens the backend empty.
func opener(url string, notices *[]string) func(t *testing.T) backend.Backend {
	return func(t *testing.T) backend.Backend {
		t.Helper()
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE tablename LIKE 'perch\\_%'", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if _, err := c.Exec(t.Context(), "DROP TABLE "+n, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
		}
		c.Close(t.Context())
		b, err := Open(t.Context(), url, func(s string) { *notices = append(*notices, s) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
}

func TestSuiteOnPostgreSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	url, stop := startServer(t)
	var notices []string
	open := opener(url, &notices)
	backendtest.Run(t, false, open)
	if len(notices) == 0 || !strings.Contains(notices[0], "pgvector") {
		t.Errorf("the missing extension is not told: %v", notices)
	}
	t.Run("a lost server is a classed error", func(t *testing.T) {
		b := open(t)
		stop()
		err := b.SetMeta(t.Context(), "a", "b")
		if chat.ClassOf(err) != chat.ClassStore {
			t.Errorf("error %v", err)
		}
		if _, err := Open(t.Context(), url, nil); chat.ClassOf(err) != chat.ClassStore {
			t.Errorf("error %v", err)
		}
	})
}

func TestSuiteOnPGlite(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	npm := os.Getenv("PERCH_NPM")
	server := filepath.Join(npm, "node_modules", "@electric-sql", "pglite-socket", "dist", "scripts", "server.js")
	if _, err := os.Stat(server); npm == "" || err != nil {
		t.Skip("npm @electric-sql/pglite-socket is not installed; set PERCH_NPM to the folder with its node_modules")
	}
	port := freePort(t)
	srv := exec.Command("node", server, "--db=memory://", fmt.Sprintf("--port=%d", port), "--host=127.0.0.1", "--max-connections=10", "--extensions=@electric-sql/pglite-pgvector:vector")
	srv.Dir = npm
	var log strings.Builder
	srv.Stdout, srv.Stderr = &log, &log
	if err := srv.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = srv.Process.Kill(); _ = srv.Wait(); t.Log(log.String()) }()
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	waitFor(t, url)
	var notices []string
	backendtest.Run(t, true, opener(url, &notices))
	if len(notices) != 0 {
		t.Errorf("notices %v", notices)
	}
}
