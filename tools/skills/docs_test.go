package skills

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"perch/tools/exec"
	"perch/tools/toolstest"
	"perch/tools/userdef"
)

// TestMain lets the test program be the supervisor of its own commands.
func TestMain(m *testing.M) {
	if code, handled := exec.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// pasted matches an example of the documentation: the file's name and its text.
var pasted = regexp.MustCompile("(?s)this into\\s+`((?:tools|skills)/[^`]+)`:\n\n```[a-z]*\n(.*?\n)```")

func TestExamplesOfTheDocumentationWorkWhenPasted(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "tools-extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	examples := pasted.FindAllStringSubmatch(string(doc), -1)
	if len(examples) != strings.Count(string(doc), "this into `tools/")+strings.Count(string(doc), "this into `skills/") || len(examples) < 6 {
		t.Fatalf("%d examples found", len(examples))
	}
	for _, e := range examples {
		write(t, filepath.Join(home, filepath.FromSlash(e[1])), e[2])
	}
	run := exec.New(exec.Config{})
	defer run.Close()
	o := userdef.Options{Runner: run}
	tools, problems := userdef.Load(filepath.Join(home, "tools"), o)
	set := Load(filepath.Join(home, "skills"), o)
	if len(problems)+len(set.Problems) > 0 {
		t.Fatalf("problems %v %v", problems, set.Problems)
	}
	env := toolstest.NewEnv(t)
	env.Variables = os.Environ()
	want := map[string][2]string{
		"count_words": {`{"text":"two words\nand more"}`, "4 words, 2 lines, 18 characters"},
		"free_space":  {`{}`, "%"},
		"last_tag":    {`{}`, "there is no tag yet"},
	}
	for _, tool := range append(tools, set.Tools...) {
		name := tool.Definition().Name
		w, ok := want[name]
		if !ok {
			t.Errorf("an example %s that is not tried", name)
			continue
		}
		delete(want, name)
		if name == "count_words" {
			if _, err := osexec.LookPath("python3"); err != nil {
				t.Logf("%s is not tried: python3 is not installed", name)
				continue
			}
		}
		if r := toolstest.Run(t, tool, w[0], env); !strings.Contains(r.Text, w[1]) {
			t.Errorf("%s: %q", name, r.Text)
		}
	}
	if len(want) > 0 {
		t.Errorf("examples that are missing: %v", want)
	}
	if !strings.Contains(set.Index(), "- release-notes: How to write release notes") {
		t.Errorf("%q", set.Index())
	}
	for in, part := range map[string]string{
		`{"name":"release-notes"}`:                              "- references/style.md",
		`{"name":"release-notes","file":"references/style.md"}`: "not what was refactored",
	} {
		if r := toolstest.Run(t, set.ReadSkill(), in, env); !strings.Contains(r.Text, part) {
			t.Errorf("%s: %q", in, r.Text)
		}
	}
}
