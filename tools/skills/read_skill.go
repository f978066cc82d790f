package skills

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"perch/chat"
	"perch/tools/charset"
	"perch/tools/outside"
	"perch/tools/places"
)

//go:embed read_skill.md
var readSkillText string

const (
	// maxListed is how many files of a skill are listed.
	maxListed = 100
	// maxRead is the largest file of a skill that is read, in bytes.
	maxRead = 1 << 20
)

type readSkill struct{ set *Set }

// ReadSkill returns the tool read_skill over these skills.
func (s *Set) ReadSkill() chat.Tool { return readSkill{s} }

type readSkillInput struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// Definition describes the tool.
func (readSkill) Definition() chat.ToolDef {
	return chat.ToolDef{Name: "read_skill", Description: readSkillText, Schema: json.RawMessage(`{
"type":"object",
"properties":{
"name":{"type":"string","minLength":1},
"file":{"type":"string","description":"one of the skill's files, as listed"}},
"required":["name"],
"additionalProperties":false}`)}
}

// Needs is nothing: the user put the skills there to be read.
func (readSkill) Needs(context.Context, json.RawMessage, chat.Env) ([]chat.Need, error) {
	return nil, nil
}

// Execute loads a skill or one of its files.
func (t readSkill) Execute(_ context.Context, raw json.RawMessage, env chat.Env) (chat.ToolResult, error) {
	var in readSkillInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return chat.ToolResult{}, fmt.Errorf("read the arguments: %w", err)
	}
	sk := t.set.find(in.Name)
	if sk == nil {
		names := make([]string, len(t.set.Skills))
		for i := range t.set.Skills {
			names[i] = t.set.Skills[i].Name
		}
		if len(names) == 0 {
			return chat.ToolResult{}, fmt.Errorf("there is no skill %q; there are none at all", in.Name)
		}
		return chat.ToolResult{}, fmt.Errorf("there is no skill %q; there are: %s", in.Name, strings.Join(names, ", "))
	}
	if in.File != "" {
		return sk.readFile(in.File, env)
	}
	var b strings.Builder
	b.WriteString(outside.Cap(outside.Clean(sk.body), outside.MaxChars, env.SpoolDir(), "skill-"+sk.Name))
	if files := sk.files(); len(files) > 0 {
		fmt.Fprintf(&b, "\n\nFiles of this skill, in %s:\n", sk.Dir)
		for i, f := range files {
			if i == maxListed {
				fmt.Fprintf(&b, "- … and %d more\n", len(files)-maxListed)
				break
			}
			b.WriteString("- " + f + "\n")
		}
	}
	return chat.ToolResult{Text: b.String()}, nil
}

// files are the skill's files but SKILL.md, as slashed paths, sorted.
func (sk *Skill) files() []string {
	var out []string
	// A folder that cannot be read is left out: the list is a courtesy.
	_ = filepath.WalkDir(sk.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, relErr := filepath.Rel(sk.Dir, p)
		switch {
		case relErr != nil || rel == ".":
			return nil
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "__pycache__":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || rel == "SKILL.md" || strings.HasPrefix(rel, "tools"+string(filepath.Separator)) && strings.HasSuffix(rel, ".toml"):
			return nil
		}
		if len(out) > 10*maxListed {
			return fs.SkipAll
		}
		out = append(out, filepath.ToSlash(rel))
		return nil
	})
	sort.Strings(out)
	return out
}

// readFile reads one file of the skill. Links must not lead out of its folder.
func (sk *Skill) readFile(name string, env chat.Env) (chat.ToolResult, error) {
	dir, err := places.Resolve(sk.Dir, ".")
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("open the skill %s: %w", sk.Name, err)
	}
	path, err := places.Resolve(dir, filepath.FromSlash(name))
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("open %s: %w", name, err)
	}
	if path == dir || !places.Inside(dir, path) {
		return chat.ToolResult{}, fmt.Errorf("%s is no file of the skill %s; take one that read_skill lists", name, sk.Name)
	}
	f, err := os.Open(path)
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("the skill %s has no file %s; take one that read_skill lists", sk.Name, name)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return chat.ToolResult{}, fmt.Errorf("%s is not a file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err != nil {
		return chat.ToolResult{}, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxRead {
		return chat.ToolResult{}, fmt.Errorf("%s is larger than %d kB; use a command on %s instead", name, maxRead>>10, path)
	}
	if charset.Binary(data) {
		return chat.ToolResult{}, fmt.Errorf("%s is no text; it lies at %s", name, path)
	}
	return chat.ToolResult{Text: outside.Cap(outside.Clean(charset.Repair(data)), outside.MaxChars, env.SpoolDir(), "skill-"+sk.Name)}, nil
}
