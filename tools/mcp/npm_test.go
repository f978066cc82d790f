//go:build unix

package mcp

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"perch/chat"
	"perch/config"
	"perch/tools/toolstest"
)

// npmEnv names the folder in which `npm install` put the servers of
// .ci/npm-packages.txt.
const npmEnv = "PERCH_NPM"

// npmServer returns the path of an installed server, or skips the test.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(npmEnv)
	if dir == "" {
		t.Skipf("%s is not set: install the packages of .ci/npm-packages.txt into a folder and name it", npmEnv)
	}
	path := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed below %s", name, dir)
	}
	return path
}

func text(t *testing.T, tools []chat.Tool, env chat.Env, name, input string) string {
	t.Helper()
	r, err := call(find(t, tools, name), env, input)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return r.Text
}

// checkEverything uses what the reference server offers.
func checkEverything(t *testing.T, m *Manager) {
	t.Helper()
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	if got := text(t, tools, env, "all__echo", `{"message":"hello"}`); !strings.Contains(got, "hello") {
		t.Errorf("echo: %q", got)
	}
	if got := text(t, tools, env, "all__get-sum", `{"a":2,"b":3}`); !strings.Contains(got, "5") {
		t.Errorf("sum: %q", got)
	}
	r, err := call(find(t, tools, "all__get-tiny-image"), env, `{}`)
	if err != nil || len(r.Images) != 1 || r.Images[0].MIME != "image/png" || len(r.Images[0].Data) == 0 {
		t.Errorf("picture: %v, %d images, %q", err, len(r.Images), r.Text)
	}
	text(t, tools, env, "all__trigger-long-running-operation", `{"duration":0.4,"steps":4}`)
	eventually(t, "progress is reported", func() bool { return len(env.ProgressTexts()) >= 2 })
	list := text(t, tools, env, "all__list_resources", `{}`)
	uri := ""
	for _, l := range strings.Split(list, "\n") {
		if rest, ok := strings.CutPrefix(l, "- "); ok && !strings.Contains(l, "{") {
			uri, _, _ = strings.Cut(rest, " · ")
			break
		}
	}
	if got := text(t, tools, env, "all__read_resource", fmt.Sprintf(`{"uri":%q}`, uri)); uri == "" || !strings.Contains(got, "[resource ") {
		t.Errorf("resource %q of %q: %q", uri, list, got)
	}
	if res := m.Resources(context.Background()); len(res) == 0 || res[0].Connector != "all" {
		t.Errorf("resources to attach: %+v", res)
	}
	if r, err := m.ReadResource(context.Background(), "all", uri, env); err != nil || r.Text == "" {
		t.Errorf("attach: %+v %v", r, err)
	}
	if r, err := call(find(t, tools, "all__get-sum"), env, `{"a":"no number"}`); err == nil && !r.IsError {
		t.Errorf("wrong input was taken: %+v", r)
	}
}

func TestServerEverythingOverStandardIO(t *testing.T) {
	m, n := manage(t, map[string]config.Connector{"all": {Command: []string{npmServer(t, "mcp-server-everything"), "stdio"}}})
	checkEverything(t, m)
	if n.count() != 0 {
		t.Errorf("notices %v", n.list)
	}
}

func TestServerEverythingOverHTTP(t *testing.T) {
	bin := npmServer(t, "mcp-server-everything")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	start := func() (stop func()) {
		cmd := exec.Command(bin, "streamableHttp")
		cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
		ownGroup(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server listens", func() bool {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		return func() { killGroup(cmd, true); _ = cmd.Wait() }
	}
	stop := start()
	m, n := manage(t, map[string]config.Connector{"all": {URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port), TimeoutSeconds: 20}})
	checkEverything(t, m)
	tools := m.Tools()
	stop()
	begin := time.Now()
	if _, err := call(find(t, tools, "all__echo"), toolstest.NewEnv(t), `{"message":"x"}`); err == nil || time.Since(begin) > 10*time.Second {
		t.Errorf("a dead server answered, or kept the call: %v after %v", err, time.Since(begin))
	}
	stop = start()
	defer stop()
	eventually(t, "the connection is there again", func() bool {
		r, err := call(find(t, tools, "all__echo"), toolstest.NewEnv(t), `{"message":"back"}`)
		return err == nil && strings.Contains(r.Text, "back")
	})
	if !n.has("started again") && !n.has("not available") {
		t.Errorf("notices %v", n.list)
	}
}

func TestServerFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fish.txt"), []byte("perch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := manage(t, map[string]config.Connector{"files": {Command: []string{npmServer(t, "mcp-server-filesystem"), dir}}})
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	if got := text(t, tools, env, "files__list_directory", fmt.Sprintf(`{"path":%q}`, dir)); !strings.Contains(got, "fish.txt") {
		t.Errorf("%q", got)
	}
	if got := text(t, tools, env, "files__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "fish.txt"))); !strings.Contains(got, "perch") {
		t.Errorf("%q", got)
	}
	r, err := call(find(t, tools, "files__read_text_file"), env, `{"path":"/etc/passwd"}`)
	if err != nil || !r.IsError {
		t.Errorf("%+v %v", r, err)
	}
}

func TestServerMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	m, _ := manage(t, map[string]config.Connector{"memory": {
		Command: []string{npmServer(t, "mcp-server-memory")}, Env: map[string]string{"MEMORY_FILE_PATH": file},
	}})
	tools := m.Tools()
	env := toolstest.NewEnv(t)
	text(t, tools, env, "memory__create_entities", `{"entities":[{"name":"Perch","entityType":"fish","observations":["lives in lakes"]}]}`)
	if got := text(t, tools, env, "memory__search_nodes", `{"query":"lakes"}`); !strings.Contains(got, "Perch") {
		t.Errorf("%q", got)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "lives in lakes") {
		t.Errorf("%q %v", b, err)
	}
}
