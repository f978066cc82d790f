// Package skills reads skills: folders with a SKILL.md in the public Agent Skills
// format, whose front matter names and describes instructions for a task.
//
// Only the index stands in the system prompt; the tool read_skill loads the
// rest. A skill may bring tools, as TOML files in its folder tools. A skill with
// a mistake is a problem, and costs no other one.
package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"perch/chat"
	"perch/tools/outside"
	"perch/tools/userdef"
)

// Limits of the Agent Skills format, in characters.
const (
	maxName        = 64
	maxDescription = 1024
)

const (
	// maxSkillFile is the largest SKILL.md, in bytes; the format advises 5,000
	// tokens.
	maxSkillFile = 256 << 10
	// indexDescription is how much of a description stands in the index, in runes,
	// and maxIndex bounds the whole index, so that many skills cannot crowd a
	// small window.
	indexDescription = 400
	maxIndex         = 8000
)

// skillName is a name as the format wants it.
var skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Skill is one skill.
type Skill struct {
	Name        string
	Description string
	Dir         string
	body        string
}

// Set are all skills of a user.
type Set struct {
	// Skills are sorted by name.
	Skills []Skill
	// Tools are what the skills bring, without read_skill.
	Tools    []chat.Tool
	Problems []userdef.Problem
}

// Load reads all skills below a folder. A folder that does not exist has none. o
// is for the tools that skills bring.
func Load(dir string, o userdef.Options) *Set {
	s := &Set{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err != nil {
		s.problem(dir, 0, "the folder of skills cannot be read: %v", err)
		return s
	}
	from := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		folder := filepath.Join(dir, e.Name())
		if fi, err := os.Stat(folder); err != nil || !fi.IsDir() { // a link to a folder counts
			continue
		}
		sk, ok := s.load(folder)
		if !ok {
			continue
		}
		if first, taken := from[sk.Name]; taken {
			s.problem(folder, 0, "the skill %q stands in %s already; give this one another name", sk.Name, first)
			continue
		}
		from[sk.Name] = e.Name()
		s.Skills = append(s.Skills, sk)
		o := o
		o.Foreign, o.Origin = true, "skill "+sk.Name
		tools, problems := userdef.Load(filepath.Join(folder, "tools"), o)
		s.Tools = append(s.Tools, tools...)
		s.Problems = append(s.Problems, problems...)
	}
	sort.Slice(s.Skills, func(i, j int) bool { return s.Skills[i].Name < s.Skills[j].Name })
	return s
}

func (s *Set) problem(path string, line int, format string, args ...any) {
	s.Problems = append(s.Problems, userdef.Problem{Path: path, Line: line, Text: fmt.Sprintf(format, args...)})
}

// load reads one skill.
func (s *Set) load(folder string) (Skill, bool) {
	path := filepath.Join(folder, "SKILL.md")
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.problem(folder, 0, "it has no SKILL.md")
		return Skill{}, false
	case err != nil:
		s.problem(path, 0, "it cannot be read: %v", err)
		return Skill{}, false
	case !fi.Mode().IsRegular() || fi.Size() > maxSkillFile:
		s.problem(path, 0, "it is no ordinary file of at most %d kB; move details into files beside it", maxSkillFile>>10)
		return Skill{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		s.problem(path, 0, "it cannot be read: %v", err)
		return Skill{}, false
	}
	front, body, line, text := parse(data)
	if text != "" {
		s.problem(path, line, "%s", text)
		return Skill{}, false
	}
	sk := Skill{Name: front.Name, Description: strings.Join(strings.Fields(outside.Clean(front.Description)), " "), Dir: folder, body: body}
	switch n := len([]rune(sk.Name)); {
	case sk.Name == "":
		s.problem(path, 0, "its front matter has no name")
		return Skill{}, false
	case n > maxName || !skillName.MatchString(sk.Name):
		s.problem(path, 0, "the name %q cannot be used: take up to %d lower-case letters, digits and single hyphens", sk.Name, maxName)
		return Skill{}, false
	case sk.Description == "":
		s.problem(path, 0, "its front matter has no description; the model needs one to know when to use it")
		return Skill{}, false
	}
	// What follows is against the format, but the skill can be used all the same.
	if n := len([]rune(sk.Description)); n > maxDescription {
		s.problem(path, 0, "its description has %d characters, the format allows %d; the rest was cut off", n, maxDescription)
		sk.Description = string([]rune(sk.Description)[:maxDescription])
	}
	if base := filepath.Base(folder); base != sk.Name {
		s.problem(path, 0, "its name is %q, but its folder is called %q; the format wants both the same", sk.Name, base)
	}
	return sk, true
}

// frontMatter is what is used of it; further fields are the format's own.
type frontMatter struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// yamlLine matches the place that the YAML library names.
var yamlLine = regexp.MustCompile(`line (\d+)`)

// parse splits a SKILL.md. problem is "" where all is well.
func parse(data []byte) (front frontMatter, body string, line int, problem string) {
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	text = strings.ReplaceAll(text, "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return front, "", 1, "it does not begin with front matter: a line ---, then name and description, then a line ---"
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return front, "", 1, "its front matter has no end: a line --- is missing"
		}
	}
	// The aliases of YAML can grow a small text beyond all memory; nobody needs
	// them here.
	if strings.Contains(head, "&") && strings.Contains(head, "*") && aliases.MatchString(head) {
		return front, "", 0, "its front matter uses YAML aliases, which are not read"
	}
	if err := yaml.Unmarshal([]byte(head), &front); err != nil {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			fmt.Sscan(m[1], &line)
		}
		return front, "", line, "its front matter cannot be read: " + strings.TrimPrefix(err.Error(), "yaml: ")
	}
	return front, strings.TrimSpace(body), 0, ""
}

// aliases match a YAML alias where a value stands.
var aliases = regexp.MustCompile(`(?m)(^|[:\-,\[{ ]) *\*[A-Za-z0-9_-]+ *([,\]}]|$)`)

// Index is the section of the system prompt: the same skills give the same
// bytes. It is "" where there are none.
func (s *Set) Index() string {
	if len(s.Skills) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# Skills\n\nInstructions for certain tasks, written for this user. When a task fits one, load it with read_skill before you begin, and follow it.\n")
	for i, sk := range s.Skills {
		d := []rune(sk.Description)
		if len(d) > indexDescription {
			d = append(d[:indexDescription:indexDescription], '…')
		}
		entry := "\n- " + sk.Name + ": " + string(d)
		if b.Len()+len(entry) > maxIndex {
			b.WriteString("\n- further ones: ")
			for j, more := range s.Skills[i:] {
				if j > 0 {
					b.WriteString(", ")
				}
				b.WriteString(more.Name)
			}
			break
		}
		b.WriteString(entry)
	}
	return b.String()
}

// find returns a skill by name, or nil.
func (s *Set) find(name string) *Skill {
	for i := range s.Skills {
		if s.Skills[i].Name == name {
			return &s.Skills[i]
		}
	}
	return nil
}
