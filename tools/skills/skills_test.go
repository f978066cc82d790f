package skills

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"perch/tools/toolstest"
	"perch/tools/userdef"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const reviewSkill = `---
name: code-review
description: >
  Reviews a change
  before it is committed.
license: MIT
metadata:
  author: somebody
allowed-tools: Read Bash
---

# How to review

Read the diff first.
`

func TestIndexIsSortedAndStable(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "code-review", "SKILL.md"), reviewSkill)
	write(t, filepath.Join(dir, "a-note", "SKILL.md"), "---\r\nname: a-note\r\ndescription: \"Quoted: yes\"\r\n---\r\nBody")
	s := Load(dir, userdef.Options{})
	if _, entries, _ := strings.Cut(s.Index(), "\n\n- "); entries != "a-note: Quoted: yes\n- code-review: Reviews a change before it is committed." {
		t.Errorf("%q", s.Index())
	}
	if s.Index() != Load(dir, userdef.Options{}).Index() || len(s.Problems) != 0 {
		t.Errorf("problems %v", s.Problems)
	}
	if (&Set{}).Index() != "" || Load(filepath.Join(dir, "missing"), userdef.Options{}).Index() != "" {
		t.Error("an index of nothing")
	}
}

func TestManySkillsDoNotCrowdThePrompt(t *testing.T) {
	dir := t.TempDir()
	for i := range 60 {
		n := "skill-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		write(t, filepath.Join(dir, n, "SKILL.md"), "---\nname: "+n+"\ndescription: "+strings.Repeat("word ", 150)+"\n---\n")
	}
	s := Load(dir, userdef.Options{})
	if n := len(s.Index()); n > maxIndex+2000 || !strings.Contains(s.Index(), "further ones: ") || !strings.Contains(s.Index(), "skill-ch") {
		t.Errorf("%d bytes: …%s", n, s.Index()[n-200:])
	}
}

func TestMistakesAreProblemsAndCostNoOtherSkill(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "good", "SKILL.md"), "---\nname: good\ndescription: d\n---\nbody")
	for name, c := range map[string]struct{ text, want string }{
		"nofront":   {"# Just text", "does not begin with front matter"},
		"noend":     {"---\nname: noend\ndescription: d\n", "has no end"},
		"badyaml":   {"---\nname: [\n---\n", "cannot be read"},
		"noname":    {"---\ndescription: d\n---\n", "no name"},
		"nodesc":    {"---\nname: nodesc\n---\n", "no description"},
		"Bad_Name":  {"---\nname: Bad_Name\ndescription: d\n---\n", "cannot be used"},
		"listname":  {"---\nname: [a]\ndescription: d\n---\n", "cannot be read"},
		"aliases":   {"---\nname: aliases\ndescription: d\na: &a [x,x]\nb: [*a,*a]\n---\n", "aliases"},
		"empty":     {"", "does not begin"},
		"huge":      {"---\nname: huge\ndescription: d\n---\n" + strings.Repeat("x", maxSkillFile), "at most"},
		"other-one": {"---\nname: good\ndescription: d\n---\n", "stands in good already"},
	} {
		write(t, filepath.Join(dir, name, "SKILL.md"), c.text)
		t.Run(name, func(t *testing.T) {
			for _, p := range Load(dir, userdef.Options{}).Problems {
				if strings.Contains(p.Path, string(filepath.Separator)+name) && strings.Contains(p.Text, c.want) {
					return
				}
			}
			t.Errorf("no problem %q in %v", c.want, Load(dir, userdef.Options{}).Problems)
		})
	}
	if err := os.Mkdir(filepath.Join(dir, "nofile"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "stray.md"), "x")
	s := Load(dir, userdef.Options{})
	if len(s.Skills) != 1 || s.Skills[0].Name != "good" {
		t.Errorf("%+v", s.Skills)
	}
}

func TestOffNamesAndLongDescriptionsAreUsedAllTheSame(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "folder", "SKILL.md"), "---\nname: another\ndescription: "+strings.Repeat("x", 2000)+"\n---\n")
	s := Load(dir, userdef.Options{})
	if len(s.Skills) != 1 || len(s.Skills[0].Description) != maxDescription || len(s.Problems) != 2 {
		t.Errorf("%d skills, problems %v", len(s.Skills), s.Problems)
	}
}

func TestReadSkillLoadsBodyAndFiles(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "skills", "code-review")
	write(t, filepath.Join(home, "SKILL.md"), reviewSkill)
	write(t, filepath.Join(home, "references", "style.md"), "Short names.")
	write(t, filepath.Join(home, "scripts", "check.py"), "print(1)")
	write(t, filepath.Join(home, ".git", "config"), "x")
	write(t, filepath.Join(home, "logo.png"), "\x89PNG\x00\x01")
	write(t, filepath.Join(dir, "secret.txt"), "secret")
	if err := os.Symlink(filepath.Join(dir, "secret.txt"), filepath.Join(home, "link.txt")); err != nil {
		t.Fatal(err)
	}
	tool := Load(filepath.Join(dir, "skills"), userdef.Options{}).ReadSkill()
	env := toolstest.NewEnv(t)
	r := toolstest.Run(t, tool, `{"name":"code-review"}`, env)
	want := "# How to review\n\nRead the diff first.\n\nFiles of this skill, in " + home + ":\n- link.txt\n- logo.png\n- references/style.md\n- scripts/check.py\n"
	if r.Text != want {
		t.Errorf("got %q\nwant %q", r.Text, want)
	}
	if r := toolstest.Run(t, tool, `{"name":"code-review","file":"references/style.md"}`, env); r.Text != "Short names." {
		t.Errorf("%q", r.Text)
	}
	for _, in := range []string{
		`{"name":"missing"}`, `{"name":"../code-review"}`, `{"name":"code-review","file":"../../secret.txt"}`,
		`{"name":"code-review","file":"link.txt"}`, `{"name":"code-review","file":"/etc/passwd"}`, `{"name":"code-review","file":"nope.md"}`,
		`{"name":"code-review","file":"."}`, `{"name":"code-review","file":"references"}`, `{"name":"code-review","file":"logo.png"}`,
	} {
		if r, err := tool.Execute(context.Background(), json.RawMessage(in), env); err == nil {
			t.Errorf("%s: %q", in, r.Text)
		}
	}
	if n := toolstest.Needs(t, tool, `{"name":"x"}`, env); len(n) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestSkillsBringTools(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "fish", "SKILL.md"), "---\nname: fish\ndescription: d\n---\nbody")
	write(t, filepath.Join(dir, "fish", "tools", "weigh.toml"), "name = \"weigh_fish\"\ndescription = \"x\"\ncommand = [\"./weigh\"]\nallow = true")
	write(t, filepath.Join(dir, "fish", "tools", "bad.toml"), "name = ")
	s := Load(dir, userdef.Options{})
	if len(s.Tools) != 1 || len(s.Problems) != 1 || s.Problems[0].Line != 1 {
		t.Fatalf("%v %v", s.Tools, s.Problems)
	}
	n := toolstest.Needs(t, s.Tools[0], `{}`, toolstest.NewEnv(t))
	if n[0].Free || !strings.HasPrefix(n[0].Detail, "skill fish weigh_fish: ./weigh") {
		t.Errorf("a skill allowed itself, or is not named: %+v", n)
	}
	if r := toolstest.Run(t, s.ReadSkill(), `{"name":"fish"}`, toolstest.NewEnv(t)); strings.Contains(r.Text, "weigh.toml") {
		t.Errorf("the tool's file is listed: %q", r.Text)
	}
}
