//go:build unix

package mcp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"perch/config"
	"perch/tools/toolstest"
)

// pastedSettings match the settings of the documentation.
var pastedSettings = regexp.MustCompile("(?s)this into `config.toml`:\n\n```toml\n(.*?\n)```")

func TestConnectorsOfTheDocumentationWorkWhenPasted(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "tools-extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := pastedSettings.FindStringSubmatch(string(doc))
	if m == nil {
		t.Fatal("the documentation has no settings")
	}
	// What npx would fetch is installed in the folder for tests.
	text := strings.ReplaceAll(m[1], `"/tmp`, `"`+t.TempDir())
	for _, name := range []string{"filesystem", "memory"} {
		text = strings.ReplaceAll(text, `"npx", "-y", "@modelcontextprotocol/server-`+name+`"`, `"`+npmServer(t, "mcp-server-"+name)+`"`)
	}
	c := config.Default()
	meta, err := toml.Decode(text, &c)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatalf("%v %v", err, meta.Undecoded())
	}
	mgr, n := manage(t, c.Connectors)
	tools := mgr.Tools()
	find(t, tools, "files__read_text_file")
	if r, err := call(find(t, tools, "memory__read_graph"), toolstest.NewEnv(t), `{}`); err != nil || !strings.Contains(r.Text, "entities") {
		t.Errorf("%+v %v", r, err)
	}
	if n.count() > 0 {
		t.Errorf("notices %v", n.list)
	}
	for _, s := range mgr.Status() {
		if want := map[string]string{"files": "ready", "memory": "ready", "wiki": "off"}[s.Name]; s.State != want {
			t.Errorf("%+v", s)
		}
	}
}
