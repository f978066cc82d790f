package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// say is a place in the code that says a text by its id.
type say struct {
	id, pos string
	// english is the sentence as a catalogue writes it, with {0}…; "" where the
	// code only names the id.
	english string
	args    int
}

var (
	textID      = regexp.MustCompile(`^(err|notice)(\.[a-z0-9_]+)+$`)
	verb        = regexp.MustCompile(`%(?:%|[-+# 0]*(?:\[(\d+)\])?[0-9.]*([a-zA-Z]))`)
	placeholder = regexp.MustCompile(`\{(\d+)\}`)
)

// asText writes a format as a catalogue does: verbs become {0}…, and quotes of
// all kinds are plain ones.
func asText(format string) string {
	next := 0
	text := verb.ReplaceAllStringFunc(format, func(v string) string {
		if v == "%%" {
			return "%"
		}
		m := verb.FindStringSubmatch(v)
		if m[1] != "" {
			n, _ := strconv.Atoi(m[1])
			next = n - 1
		}
		p := fmt.Sprintf("{%d}", next)
		next++
		if m[2] == "q" {
			return `"` + p + `"`
		}
		return p
	})
	return strings.ReplaceAll(text, "`", `"`)
}

// literal is a string written in the code: a literal, a sum of them, or a
// constant of the package.
func literal(e ast.Expr, consts map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, okA := literal(e.X, consts)
		b, okB := literal(e.Y, consts)
		return a + b, okA && okB && e.Op == token.ADD
	case *ast.Ident:
		s, ok := consts[e.Name]
		return s, ok
	case *ast.ParenExpr:
		return literal(e.X, consts)
	}
	return "", false
}

// said collects what the code says by id, from all files but
// the tests and the popup's test kit.
func said(t *testing.T) []say {
	t.Helper()
	fset := token.NewFileSet()
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "popuptest" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []say
	for _, files := range folders {
		consts := constants(files)
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if s, ok := saidBy(n, consts); ok {
						s.pos = fset.Position(n.Pos()).String()
						out = append(out, s)
					}
				case *ast.BasicLit:
					if s, ok := literal(n, nil); ok && textID.MatchString(s) {
						out = append(out, say{id: s, pos: fset.Position(n.Pos()).String()})
					}
				}
				return true
			})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

func constants(files []*ast.File) map[string]string {
	consts := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i < len(v.Values) {
						if s, ok := literal(v.Values[i], nil); ok {
							consts[name.Name] = s
						}
					}
				}
			}
		}
	}
	return consts
}

// saidBy reads NewError(class, id, format, args…), x.notice(id, format, args…)
// and the connectors' s.say(id, format, args…), whose first argument and whose
// first words are the connector.
func saidBy(call *ast.CallExpr, consts map[string]string) (say, bool) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	at, prefix := 0, ""
	switch name {
	case "NewError":
		at = 1
	case "notice":
	case "say":
		prefix = "The connector %s "
	default:
		return say{}, false
	}
	if len(call.Args) < at+2 || call.Ellipsis.IsValid() {
		return say{}, false
	}
	id, ok := literal(call.Args[at], consts)
	if !ok || !textID.MatchString(id) {
		return say{}, false
	}
	s := say{id: id, args: len(call.Args) - at - 2}
	if prefix != "" {
		s.args++
	}
	if format, ok := literal(call.Args[at+1], consts); ok {
		s.english = asText(prefix + format)
	}
	return s, true
}

// sameSentences are ids that several sentences share: the catalogues say what
// holds for all of them.
var sameSentences = map[string]bool{
	"err.message_not_found":  true,
	"err.no_desktop":         true,
	"err.no_notifications":   true,
	"err.no_sessions":        true,
	"err.nothing_to_compact": true,
}

func TestTextsAreInEveryCatalogue(t *testing.T) {
	all := said(t)
	if len(all) < 100 {
		t.Fatalf("only %d texts were found in the code", len(all))
	}
	for _, lang := range []string{"en", "de", "ru", "zh"} {
		texts := map[string]string{}
		if _, err := toml.DecodeFile(filepath.Join("assets", "lang", lang+".toml"), &texts); err != nil {
			t.Fatal(err)
		}
		lacking := map[string]bool{}
		for _, s := range all {
			text := texts[s.id]
			if text == "" {
				if !lacking[s.id] || s.english != "" {
					t.Errorf("%s lacks %q: %s (%s)", lang, s.id, s.english, s.pos)
				}
				lacking[s.id] = true
				continue
			}
			if s.english == "" {
				continue
			}
			if !sameSentences[s.id] && args(text) != args(s.english) {
				t.Errorf("%s %q has the placeholders %s, the code %s (%s)", lang, s.id, args(text), args(s.english), s.pos)
			}
			for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
				if n, _ := strconv.Atoi(m[1]); n >= s.args {
					t.Errorf("%s %q has %s, the code gives %d arguments (%s)", lang, s.id, m[0], s.args, s.pos)
				}
			}
			// A sentence that is nothing but its argument may be framed.
			if lang == "en" && s.english != "{0}" && !sameSentences[s.id] && text != s.english {
				t.Errorf("en %q differs from the code (%s)\ncatalogue: %s\ncode:      %s", s.id, s.pos, text, s.english)
			}
		}
	}
}

// args are the placeholders of a text, each once, sorted.
func args(text string) string {
	seen := map[string]bool{}
	var out []string
	for _, p := range placeholder.FindAllString(text, -1) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return "[" + strings.Join(out, " ") + "]"
}

func TestTextsOfFormatsAreWrittenAsInACatalogue(t *testing.T) {
	for format, want := range map[string]string{
		"No %s in %q.":             `No {0} in "{1}".`,
		"%d%% of $%.2f":            "{0}% of ${1}",
		"`perch` has %[2]v, %[1]s": `"perch" has {1}, {0}`,
		"plain":                    "plain",
	} {
		if got := asText(format); got != want {
			t.Errorf("%q: got %q, want %q", format, got, want)
		}
	}
}
