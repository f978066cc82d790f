package guard

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call looks at a simple command.
func (c *checker) call(x *syntax.CallExpr, sc *scope, in stream) stream {
	before := c.fetches
	if len(x.Args) == 0 {
		for _, a := range x.Assigns {
			c.assign(a, sc)
		}
		return stream{}
	}
	args := c.fields(sc, x.Args...)
	if len(x.Assigns) > 0 {
		// They hold for this call only; the arguments were expanded before.
		sc = &scope{vars: sc.clone().vars, cwd: sc.cwd, funcs: sc.funcs}
		for _, a := range x.Assigns {
			c.assign(a, sc)
		}
	}
	return c.run(args, sc, in, c.fetches > before)
}

// run judges a program with its arguments. fromNet says that an argument was
// computed from what came from the network.
func (c *checker) run(args []string, sc *scope, in stream, fromNet bool) stream {
	if c.depth++; c.depth > maxDepth {
		c.depth--
		c.doubt("it is nested too deep to be judged")
		return stream{kind: unknown}
	}
	defer func() { c.depth-- }()
	if len(args) == 0 {
		return stream{}
	}
	if isUnknown(args[0]) || strings.Contains(args[0], nameMark) || strings.HasPrefix(args[0], procMark) {
		if fromNet {
			c.forbid("it runs what it fetches from the network")
			return stream{kind: unknown}
		}
		if i := strings.LastIndexByte(args[0], '/'); i < 0 || isUnknown(args[0][i:]) || strings.Contains(args[0][i:], nameMark) {
			c.doubt("the program is computed at run time")
			return stream{kind: unknown}
		}
	}
	c.runsFile(args[0], sc)
	if fromNet && (args[0] == "eval" || args[0] == "trap") {
		c.forbid("it runs what it fetches from the network")
	}
	external := c.external
	c.external = false
	if body, ok := sc.funcs[args[0]]; ok && !external {
		return c.function(body, args[1:], sc, in)
	}
	prog, rest := path.Base(args[0]), args[1:]
	if w, ok := wrappers[prog]; ok {
		return c.wrapped(prog, w, rest, sc, in, fromNet)
	}
	if shells[prog] {
		return c.shell(prog, rest, sc, in, fromNet)
	}
	if language, ok := interpreters[languageOf(prog)]; ok {
		c.interpreter(prog, language, rest, in, fromNet)
		return stream{kind: unknown}
	}
	if f, ok := builtins[prog]; ok {
		return f(c, rest, sc, in)
	}
	if f, ok := dangerous[prog]; ok {
		f(c, prog, rest, sc)
		return stream{kind: unknown}
	}
	if strings.HasPrefix(prog, "mkfs.") {
		mkfs(c, prog, rest, sc)
	}
	switch {
	case fetchers[prog]:
		c.keep(saved(prog, rest)...)
		return stream{kind: fetched}
	case in.kind == fetched && decoders[prog]:
		return in
	case in.kind == names && filters[prog]:
		return in
	}
	return stream{kind: unknown}
}

// function runs the body of a function with its arguments. One that is inside
// itself has been judged.
func (c *checker) function(body *syntax.Stmt, args []string, sc *scope, in stream) stream {
	if c.running[body] >= maxCalls {
		return stream{kind: unknown}
	}
	c.running[body]++
	defer func() { c.running[body]-- }()
	inner := sc.clone()
	inner.args = nonNil(args)
	out := c.stmt(body, inner, in)
	sc.cwd, sc.vars = inner.cwd, inner.vars
	return out
}

func nonNil(args []string) []string {
	if args == nil {
		return []string{}
	}
	return args
}

// keep remembers files that the command has just fetched.
func (c *checker) keep(files ...string) {
	for _, f := range files {
		c.loaded[path.Base(f)] = true
	}
}

// runsFile judges a script that the command itself has fetched or written.
func (c *checker) runsFile(file string, sc *scope) {
	name := path.Base(file)
	if c.loaded[name] {
		c.doubt("it runs a file that it has just fetched")
	}
	if text, ok := c.files[name]; ok {
		delete(c.files, name) // once: the script may call itself
		c.text(text, sc.clone(), stream{})
	}
}

// saved are the files that a fetcher writes, by its options or its address.
func saved(prog string, args []string) []string {
	var out []string
	for i, a := range args {
		switch {
		case (a == "-o" || a == "--output" || a == "--output-document" || a == "-O" && prog != "curl") && i+1 < len(args):
			out = append(out, args[i+1])
		case strings.Contains(a, "://") && (prog == "wget" || slices.Contains(args, "-O") || slices.Contains(args, "--remote-name")):
			out = append(out, path.Base(a))
		}
	}
	return out
}

// text judges a command line that another command runs.
func (c *checker) text(command string, sc *scope, in stream) stream {
	if strings.Contains(command, mark) || strings.Contains(command, nameMark) {
		return c.partlyKnown(command, sc, in)
	}
	file, err := parse(command)
	if err != nil {
		c.doubt("a command inside it cannot be read as shell: " + firstLine(err.Error()))
		return stream{kind: unknown}
	}
	if c.depth++; c.depth > maxDepth {
		c.depth--
		c.doubt("it is nested too deep to be judged")
		return stream{kind: unknown}
	}
	defer func() { c.depth-- }()
	return c.list(file.Stmts, sc, in)
}

// partlyKnown judges a command line with unknown parts: as data they are judged
// like unknown arguments, but they may as well hold more commands.
func (c *checker) partlyKnown(command string, sc *scope, in stream) stream {
	c.doubt("a part of a command inside it is computed at run time")
	if file, err := parse(command); err == nil {
		c.list(file.Stmts, sc, in)
	}
	return stream{kind: unknown}
}

// script judges a text that a shell reads as its commands.
func (c *checker) script(in stream, sc *scope) {
	switch in.kind {
	case fetched:
		c.forbid("it runs what it fetches from the network")
	case known:
		c.text(in.text, sc.clone(), stream{})
	case unknown, names:
		c.doubt("it runs commands that another program writes")
	}
}

// operands are the arguments that are no options. withValue are options whose
// value is the next argument.
func operands(args []string, withValue []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(out, args[i+1:]...)
		case len(a) > 1 && a[0] == '-':
			if slices.Contains(withValue, a) {
				i++
			}
		default:
			out = append(out, a)
		}
	}
	return out
}

// hasOption reports whether one of the short letters (in a cluster, too) or long
// options is among the arguments. Long ones may be shortened, as getopt allows.
func hasOption(args []string, letters string, long ...string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		if strings.HasPrefix(a, "--") {
			name, _, _ := strings.Cut(a, "=")
			for _, l := range long {
				if name == l || len(name) > 4 && strings.HasPrefix(l, name) {
					return true
				}
			}
		} else if len(a) > 1 && a[0] == '-' && strings.ContainsAny(a[1:], letters) {
			return true
		}
	}
	return false
}
