// Package guard looks at a command before it runs and says whether it is surely
// destructive.
//
// [Check] is a pure function: nothing is executed and no file is looked at. It
// works on the shell's syntax tree, not on the text, so that quoting, spacing,
// variables, loops and wrappers (sudo, env, xargs, sh -c, eval…) do not hide a
// deletion, and an `echo rm -rf /` is not one. What the tree does not tell (a
// target or a program computed at run time) is reported as uncertain, not
// guessed.
//
// It is a net against mistakes, of a model or of a page that talked it into
// one. Against a program that means harm it is no protection: that is what the
// question before a command and the confinement are for.
package guard

import (
	"os"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Verdict is what is known of a command.
type Verdict struct {
	// Forbidden is the reason why the command is surely destructive, "" if it is
	// not.
	Forbidden string
	// Uncertain is the reason why that cannot be known before it runs.
	Uncertain string
	// Prefix is what a rule may cover: the program and its subcommand, of a simple
	// command. A command with several parts, redirections or computed words has
	// none, nor has a program that runs other programs or deletes.
	Prefix string
}

// Check looks at a command that would run in dir.
func Check(command, dir string) Verdict {
	home, _ := os.UserHomeDir()
	return CheckAs(command, dir, home)
}

// CheckAs is [Check] for a given home folder.
func CheckAs(command, dir, home string) (v Verdict) {
	defer func() {
		// The parser and the expansion are the work of others and read any text.
		if p := recover(); p != nil {
			v = Verdict{Uncertain: "the command cannot be judged"}
		}
	}()
	return check(command, dir, home)
}

func check(command, dir, home string) Verdict {
	c := &checker{home: path.Clean(home), running: map[*syntax.Stmt]int{}, loaded: map[string]bool{}, files: map[string]string{}}
	if home == "" {
		c.home = ""
	}
	if len(command) > maxCommand {
		return Verdict{Uncertain: "the command is too long to be judged"}
	}
	file, err := parse(command)
	if err != nil {
		return Verdict{Uncertain: "the command cannot be read as shell: " + firstLine(err.Error())}
	}
	sc := newScope(dir, c.home)
	c.list(file.Stmts, sc, stream{})
	v := Verdict{Forbidden: c.forbidden, Uncertain: c.uncertain}
	if v == (Verdict{}) {
		v.Prefix = prefixOf(file)
	}
	return v
}

func parse(command string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// Bounds of a check.
const (
	// maxSteps is how many commands are looked at, with loops unrolled; a command
	// that needs more is one that a person cannot judge either.
	maxSteps = 4000
	// maxDepth bounds commands inside commands (sh -c, eval, functions).
	maxDepth = 24
	// maxCalls is how often a function may be inside itself.
	maxCalls = 3
	// maxTurns is how many turns of a loop over known words are looked at.
	maxTurns = 64
	// maxText bounds a computed text, in bytes.
	maxText = 64 << 10
	// maxValue bounds the value of a variable, in bytes: x=$x$x doubles.
	maxValue = 2 << 10
	// maxCommand bounds a command, in bytes.
	maxCommand = 128 << 10
)

// checker collects what a check finds. The first reason stays.
type checker struct {
	home      string
	forbidden string
	uncertain string
	steps     int
	depth     int
	procs     []stream             // process substitutions, by number
	running   map[*syntax.Stmt]int // functions at work, by body
	loaded    map[string]bool      // files that the command has just fetched
	files     map[string]string    // files that it has just written, with what is in them
	external  bool                 // the next program is no function
	fetches   int                  // command substitutions whose text came from the network
}

func (c *checker) forbid(reason string) {
	if c.forbidden == "" {
		c.forbidden = reason
	}
}

func (c *checker) doubt(reason string) {
	if c.uncertain == "" {
		c.uncertain = reason
	}
}

// stream is what is known of the output of one command that another reads.
type stream struct {
	kind streamKind
	text string   // of known
	dirs []string // of names
	// all says that names are those of everything below dirs.
	all bool
}

type streamKind uint8

const (
	nothing streamKind = iota
	unknown
	known   // exactly text
	fetched // came from the network
	names   // names of files below dirs
)

// scope is the state of one shell.
type scope struct {
	vars  map[string]string // a value may hold marks of what is unknown
	args  []string          // $1, $2…; nil is unknown
	cwd   string            // "" is unknown
	funcs map[string]*syntax.Stmt
}

func newScope(dir, home string) *scope {
	return &scope{
		vars: map[string]string{"HOME": home, "PWD": dir, "IFS": " \t\n"},
		cwd:  dir, funcs: map[string]*syntax.Stmt{},
	}
}

func (s *scope) clone() *scope {
	n := &scope{vars: make(map[string]string, len(s.vars)), args: s.args, cwd: s.cwd, funcs: make(map[string]*syntax.Stmt, len(s.funcs))}
	for k, v := range s.vars {
		n.vars[k] = v
	}
	for k, v := range s.funcs {
		n.funcs[k] = v
	}
	return n
}

// list looks at statements one after another and returns what the last one
// that writes anything writes.
func (c *checker) list(stmts []*syntax.Stmt, sc *scope, in stream) stream {
	var out stream
	for i, s := range stmts {
		o := c.stmt(s, sc, in)
		switch {
		case i == 0 || out.kind == nothing:
			out = o
		case o.kind == nothing:
		case o.kind == known && out.kind == known && len(out.text)+len(o.text) < maxText:
			out.text += o.text
		case out.kind == fetched || o.kind == fetched:
			out = stream{kind: fetched}
		default:
			out = stream{kind: unknown}
		}
	}
	return out
}

// stmt looks at one statement with its redirections.
func (c *checker) stmt(s *syntax.Stmt, sc *scope, in stream) stream {
	if c.steps++; c.steps > maxSteps {
		c.doubt("the command is too long to be judged")
		return stream{kind: unknown}
	}
	toFile := false
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in = c.document(r.Hdoc, sc)
		case syntax.WordHdoc:
			in = c.literal(r.Word, sc)
			in.text += "\n"
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			in = stream{kind: unknown}
			for _, f := range c.fields(sc, r.Word) {
				if n, ok := procNumber(f); ok {
					in = c.procs[n]
				}
			}
			if r.Op == syntax.RdrInOut {
				c.writes(c.fields(sc, r.Word), sc, "writes to")
			}
		default:
			if r.Op != syntax.DplOut {
				c.writes(c.fields(sc, r.Word), sc, "writes to")
			}
			if r.N == nil || r.N.Value == "1" {
				toFile = r.Op != syntax.DplOut
			}
		}
	}
	out := c.command(s, sc, in)
	if toFile {
		if out.kind == fetched {
			for _, r := range s.Redirs {
				c.keep(c.fields(sc, r.Word)...)
			}
		}
		if out.kind == known {
			for _, r := range s.Redirs {
				for _, f := range c.fields(sc, r.Word) {
					if len(c.files) < maxTurns {
						c.files[path.Base(f)] += out.text
					}
				}
			}
		}
		return stream{}
	}
	return out
}

func (c *checker) command(s *syntax.Stmt, sc *scope, in stream) stream {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return c.call(cmd, sc, in)
	case *syntax.BinaryCmd:
		return c.binary(cmd, sc, in)
	case *syntax.Block:
		return c.list(cmd.Stmts, sc, in)
	case *syntax.Subshell:
		return c.list(cmd.Stmts, sc.clone(), in)
	case *syntax.IfClause:
		var out stream
		for i := cmd; i != nil; i = i.Else {
			c.list(i.Cond, sc, in)
			if o := c.list(i.Then, sc, in); o.kind != nothing {
				out = o
			}
		}
		return unsure(out)
	case *syntax.WhileClause:
		c.list(cmd.Cond, sc, in)
		c.forkLoop(cmd)
		return unsure(c.list(cmd.Do, sc, in))
	case *syntax.ForClause:
		return c.loop(cmd, sc, in)
	case *syntax.CaseClause:
		c.fields(sc, cmd.Word)
		var out stream
		for _, it := range cmd.Items {
			if o := c.list(it.Stmts, sc, in); o.kind != nothing {
				out = o
			}
		}
		return unsure(out)
	case *syntax.FuncDecl:
		if cmd.Name != nil {
			sc.funcs[cmd.Name.Value] = cmd.Body
			if forksItself(cmd) {
				c.forbid("it is a fork bomb: a function that starts itself over and over")
			}
		}
	case *syntax.DeclClause:
		for _, a := range cmd.Args {
			c.assign(a, sc)
		}
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return c.stmt(cmd.Stmt, sc, in)
		}
	case *syntax.CoprocClause:
		return c.stmt(cmd.Stmt, sc, in)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		c.inner(cmd, sc)
	case nil:
	default:
		c.doubt("it uses a form of the shell that cannot be judged")
	}
	return stream{}
}

// unsure is what a branch writes: maybe nothing.
func unsure(s stream) stream {
	if s.kind == known {
		return stream{kind: unknown}
	}
	return s
}

func (c *checker) binary(b *syntax.BinaryCmd, sc *scope, in stream) stream {
	switch b.Op {
	case syntax.Pipe, syntax.PipeAll:
		// Each side is a shell of its own.
		out := c.stmt(b.X, sc.clone(), in)
		if out.kind == nothing {
			out.kind = unknown
		}
		return c.stmt(b.Y, sc.clone(), out)
	default:
		x := c.stmt(b.X, sc, in)
		y := c.stmt(b.Y, sc, in)
		switch {
		case x.kind == nothing:
			return y
		case y.kind == nothing:
			return x
		case x.kind == fetched || y.kind == fetched:
			return stream{kind: fetched}
		case x.kind == known && y.kind == known && b.Op == syntax.AndStmt:
			return stream{kind: known, text: x.text + y.text}
		}
		return stream{kind: unknown}
	}
}

// loop looks at a for loop: each turn, where the words are known.
func (c *checker) loop(f *syntax.ForClause, sc *scope, in stream) stream {
	w, ok := f.Loop.(*syntax.WordIter)
	if !ok {
		c.inner(f.Loop, sc)
		if l, ok := f.Loop.(*syntax.CStyleLoop); ok && l.Cond == nil {
			c.forkBody(f.Do)
		}
		return unsure(c.list(f.Do, sc, in))
	}
	items := c.fields(sc, w.Items...)
	if len(items) == 0 || f.Select {
		items = []string{mark}
	}
	if len(items) > maxTurns {
		items = append(items[:maxTurns:maxTurns], mark)
	}
	var out stream
	for _, it := range items {
		sc.vars[w.Name.Value] = it
		out = c.list(f.Do, sc, in)
	}
	return unsure(out)
}

// assign keeps a variable.
func (c *checker) assign(a *syntax.Assign, sc *scope) {
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				c.fields(sc, e.Value)
			}
		}
	}
	switch {
	case a.Name == nil:
		if a.Value != nil {
			c.fields(sc, a.Value)
		}
	case a.Naked:
	case a.Array != nil || a.Index != nil:
		sc.vars[a.Name.Value] = mark
	case a.Value == nil:
		sc.vars[a.Name.Value] = ""
	default:
		v := c.literal(a.Value, sc)
		text := mark
		if v.kind == known {
			text = v.text
		} else if v.text != "" {
			text = v.text
		}
		if a.Append {
			text = sc.vars[a.Name.Value] + text
		}
		if len(text) > maxValue {
			text = mark
		}
		sc.vars[a.Name.Value] = text
	}
}

// inner looks at the command substitutions inside a node that is no command.
func (c *checker) inner(n syntax.Node, sc *scope) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			c.list(n.Stmts, sc.clone(), stream{})
			return false
		case *syntax.ProcSubst:
			c.list(n.Stmts, sc.clone(), stream{})
			return false
		}
		return true
	})
}
