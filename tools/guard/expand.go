package guard

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Marks inside expanded words, from a private area of Unicode.
const (
	// mark stands for text that is not known.
	mark = "\uE0FF"
	// nameMark stands for the name of some file below a known folder, without
	// "..".
	nameMark = "\uE0FD"
	// procMark begins the path of a process substitution; its number follows.
	procMark = "\uE0FE"
)

func isUnknown(s string) bool { return strings.Contains(s, mark) }

func procNumber(s string) (int, bool) {
	rest, ok := strings.CutPrefix(s, procMark)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}

// fields expands words as the shell would, without globs. What is not known
// becomes a mark.
func (c *checker) fields(sc *scope, words ...*syntax.Word) []string {
	var out []string
	for _, w := range words {
		if w == nil {
			continue
		}
		f, err := expand.Fields(c.config(sc, w), w)
		if err != nil {
			f = []string{mark}
		}
		out = append(out, f...)
	}
	return out
}

// literal expands one word without splitting it.
func (c *checker) literal(w *syntax.Word, sc *scope) stream {
	if w == nil {
		return stream{kind: known}
	}
	before := c.fetches
	s, err := expand.Literal(c.config(sc, w), w)
	return c.classify(s, err, c.fetches > before)
}

// document expands a here-document.
func (c *checker) document(w *syntax.Word, sc *scope) stream {
	if w == nil {
		return stream{kind: known}
	}
	before := c.fetches
	s, err := expand.Document(c.config(sc, w), w)
	return c.classify(s, err, c.fetches > before)
}

func (c *checker) classify(s string, err error, isFetched bool) stream {
	switch {
	case isFetched:
		return stream{kind: fetched}
	case err != nil:
		return stream{kind: unknown}
	case isUnknown(s):
		return stream{kind: unknown, text: s}
	}
	return stream{kind: known, text: s}
}

func (c *checker) config(sc *scope, w *syntax.Word) *expand.Config {
	return &expand.Config{
		Env: &environ{sc: sc, home: c.home, unset: withDefault(w)},
		CmdSubst: func(out io.Writer, cs *syntax.CmdSubst) error {
			s := c.list(cs.Stmts, sc.clone(), stream{})
			switch s.kind {
			case known:
				_, err := io.WriteString(out, s.text)
				return err
			case nothing:
				return nil
			case names:
				for _, d := range s.dirs {
					fmt.Fprintln(out, d+"/"+nameMark)
				}
				return nil
			case fetched:
				c.fetches++
			}
			_, err := io.WriteString(out, mark)
			return err
		},
		ProcSubst: func(p *syntax.ProcSubst) (string, error) {
			c.procs = append(c.procs, c.list(p.Stmts, sc.clone(), stream{kind: unknown}))
			return procMark + strconv.Itoa(len(c.procs)-1), nil
		},
	}
}

// withDefault are the variables of a word that bring a default of their own
// (${X:-dir}): where nothing else is known, the default is taken.
func withDefault(w *syntax.Word) map[string]bool {
	var out map[string]bool
	syntax.Walk(w, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Exp != nil && p.Param != nil {
			switch p.Exp.Op {
			case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
				if out == nil {
					out = map[string]bool{}
				}
				out[p.Param.Value] = true
			}
		}
		return true
	})
	return out
}

// environ gives the shell's variables to the expansion. A variable that the
// command did not set is unknown, not empty.
type environ struct {
	sc    *scope
	home  string
	unset map[string]bool
}

// Get returns a variable.
func (e *environ) Get(name string) expand.Variable {
	str := func(s string) expand.Variable {
		return expand.Variable{Set: true, Kind: expand.String, Str: s}
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		if user == "root" {
			return str("/root")
		}
		return str("/home/" + user)
	}
	if v, ok := e.sc.vars[name]; ok {
		return str(v)
	}
	if name == "@" || name == "*" {
		if e.sc.args == nil {
			return str(mark)
		}
		return expand.Variable{Set: true, Kind: expand.Indexed, List: e.sc.args}
	}
	if n, err := strconv.Atoi(name); err == nil && e.sc.args != nil && n > 0 {
		if n <= len(e.sc.args) {
			return str(e.sc.args[n-1])
		}
		return expand.Variable{}
	}
	if e.unset[name] {
		return expand.Variable{}
	}
	return str(mark)
}

// Set keeps an assignment inside an expansion.
func (e *environ) Set(name string, v expand.Variable) error {
	if v.Kind == expand.String {
		e.sc.vars[name] = v.Str
	} else {
		e.sc.vars[name] = mark
	}
	return nil
}

// Each calls nothing: no program is run.
func (e *environ) Each(func(string, expand.Variable) bool) {}
