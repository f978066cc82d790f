package providertest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeStart bounds the start of a server written for Node.
const nodeStart = 30 * time.Second

// Node runs a script with the npm packages below $PERCH_NPM, as an argument to
// the script, and returns the first line that it prints. The test is skipped
// where a package is not installed.
func Node(t *testing.T, script string, packages ...string) string {
	t.Helper()
	dir := os.Getenv("PERCH_NPM")
	if dir == "" {
		t.Skipf("npm packages %v are not installed; set PERCH_NPM to the folder with their node_modules", packages)
	}
	for _, p := range packages {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", p)); err != nil {
			t.Skipf("npm package %s is not installed below PERCH_NPM=%s", p, dir)
		}
	}
	file := filepath.Join(t.TempDir(), "server.cjs")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", file, dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // the script ends with its input
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("node does not start: %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line := make(chan string, 1)
	go func() {
		s, _ := bufio.NewReader(out).ReadString('\n')
		line <- strings.TrimSpace(s)
	}()
	select {
	case s := <-line:
		if s == "" {
			t.Fatal("the server printed nothing")
		}
		return s
	case <-time.After(nodeStart):
		t.Fatal("the server did not start in time")
	}
	return ""
}
