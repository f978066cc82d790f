package guard

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// builtins change the state of the shell or write what is known.
var builtins map[string]func(c *checker, args []string, sc *scope, in stream) stream

func init() { // a variable would be a cycle: eval runs commands
	builtins = map[string]func(c *checker, args []string, sc *scope, in stream) stream{
		"cd": changeDir, "pushd": changeDir, "chdir": changeDir,
		"popd": func(_ *checker, _ []string, sc *scope, _ stream) stream { sc.cwd = ""; return stream{} },
		"echo": echo, "printf": printf, "pwd": pwd, "cat": cat, "tac": cat,
		"true": none, "false": none, ":": none, "test": none, "[": none, "return": none, "exit": none, "break": none, "continue": none,
		"sleep": none, "wait": none, "mkdir": none, "touch": none, "shift": none,
		"read": readVars, "mapfile": readVars, "readarray": readVars, "unset": unset,
		"set": set, "eval": eval, "trap": trap, "source": source, ".": source, "at": at, "batch": at,
		"which": which, "type": none, "hash": none, "alias": alias, "unalias": none, "man": none, "apropos": none, "whatis": none, "help": none,
		"find": find, "fd": listing, "fdfind": listing, "ls": listing, "git": git, "grep": listing, "rg": listing, "seq": seq, "mktemp": mktemp, "basename": baseName, "dirname": dirName, "realpath": sameName, "readlink": sameName,
		"export": exportVars, "xargs": xargs, "parallel": parallel, "tee": tee,
	}
}

func none(*checker, []string, *scope, stream) stream { return stream{} }

// changeDir follows cd.
func changeDir(c *checker, args []string, sc *scope, _ stream) stream {
	i := 0
	for i < len(args) && len(args[i]) > 1 && strings.HasPrefix(args[i], "-") && args[i] != "--" {
		i++
	}
	if i < len(args) && args[i] == "--" {
		i++
	}
	to := c.home
	if i < len(args) {
		to = args[i]
	}
	switch {
	case to == "-" || isUnknown(to):
		sc.cwd = ""
	case path.IsAbs(to):
		sc.cwd = path.Clean(to)
	case sc.cwd != "":
		sc.cwd = path.Join(sc.cwd, to)
	}
	sc.vars["PWD"] = sc.cwd
	if sc.cwd == "" {
		sc.vars["PWD"] = mark
	}
	return stream{}
}

func knownText(s string) stream {
	if len(s) > maxText || isUnknown(s) || strings.Contains(s, nameMark) {
		return stream{kind: unknown}
	}
	return stream{kind: known, text: s}
}

func echo(_ *checker, args []string, _ *scope, _ stream) stream {
	end, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && strings.Trim(args[0], "neE") == "-" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	s := strings.Join(args, " ")
	if escapes && !isUnknown(s) {
		if t, _, err := expand.Format(nil, strings.ReplaceAll(s, "%", "%%"), nil); err == nil {
			s = t
		}
	}
	return knownText(s + end)
}

func printf(_ *checker, args []string, sc *scope, _ stream) stream {
	if len(args) >= 2 && args[0] == "-v" {
		sc.vars[args[1]] = mark
		if s, ok := format(args[2:]); ok {
			sc.vars[args[1]] = s
		}
		return stream{}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	s, ok := format(args)
	if !ok {
		return stream{kind: unknown}
	}
	return knownText(s)
}

func format(args []string) (string, bool) {
	if len(args) == 0 || slices.ContainsFunc(args, isUnknown) {
		return "", false
	}
	var b strings.Builder
	rest := args[1:]
	for {
		s, n, err := expand.Format(nil, args[0], rest)
		if err != nil || b.Len() > maxText {
			return "", false
		}
		b.WriteString(s)
		rest = rest[min(n, len(rest)):]
		if len(rest) == 0 || n == 0 {
			return b.String(), true
		}
	}
}

func pwd(_ *checker, _ []string, sc *scope, _ stream) stream {
	if sc.cwd == "" {
		return stream{kind: unknown}
	}
	return knownText(sc.cwd + "\n")
}

// cat passes its input on; of files nothing is known.
func cat(c *checker, args []string, _ *scope, in stream) stream {
	for _, a := range args {
		if n, ok := procNumber(a); ok {
			return c.procs[n]
		}
		if !strings.HasPrefix(a, "-") {
			return stream{kind: unknown}
		}
	}
	return in
}

func tee(c *checker, args []string, sc *scope, in stream) stream {
	c.writes(args, sc, "writes to")
	return in
}

// readVars gives the variables that read sets what its input may be.
func readVars(_ *checker, args []string, sc *scope, in stream) stream {
	value := mark
	switch {
	case in.kind == names && len(in.dirs) > 0:
		value = in.dirs[0] + "/" + nameMark
	case in.kind == known:
		value, _, _ = strings.Cut(in.text, "\n")
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			sc.vars[a] = value
		}
	}
	sc.vars["REPLY"] = value
	return stream{}
}

func unset(_ *checker, args []string, sc *scope, _ stream) stream {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			sc.vars[a] = ""
		}
	}
	return stream{}
}

// set with -- sets the arguments of the shell.
func set(_ *checker, args []string, sc *scope, _ stream) stream {
	if i := slices.Index(args, "--"); i >= 0 {
		sc.args = nonNil(args[i+1:])
	}
	return stream{}
}

func exportVars(_ *checker, args []string, sc *scope, _ stream) stream {
	for _, a := range args {
		if n, v, ok := strings.Cut(a, "="); ok {
			sc.vars[n] = v
		}
	}
	return stream{}
}

func eval(c *checker, args []string, sc *scope, in stream) stream {
	return c.text(strings.Join(args, " "), sc, in)
}

func trap(c *checker, args []string, sc *scope, in stream) stream {
	if len(args) > 1 && !strings.HasPrefix(args[0], "-") {
		c.text(args[0], sc.clone(), in)
	}
	return stream{}
}

func alias(c *checker, args []string, sc *scope, in stream) stream {
	for _, a := range args {
		if _, v, ok := strings.Cut(a, "="); ok {
			c.text(v, sc.clone(), in)
		}
	}
	return stream{}
}

// source runs a file in this shell.
func source(c *checker, args []string, sc *scope, in stream) stream {
	if len(args) == 0 {
		return stream{}
	}
	if n, ok := procNumber(args[0]); ok {
		c.script(c.procs[n], sc)
	} else if args[0] == "/dev/stdin" {
		c.script(in, sc)
	}
	return stream{kind: unknown}
}

// at runs what it reads, later.
func at(c *checker, args []string, sc *scope, in stream) stream {
	if !hasOption(args, "lrcf") {
		c.script(in, sc)
	}
	return stream{}
}

// which and command -v give the path of a program, whose name is what counts.
func which(_ *checker, args []string, _ *scope, _ stream) stream {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return knownText(a + "\n")
		}
	}
	return stream{kind: unknown}
}

// listing is a program that writes names of files below the folders it is given.
func listing(_ *checker, args []string, sc *scope, in stream) stream {
	if in.kind == fetched {
		return in
	}
	dirs := operands(args, nil)
	if len(dirs) > 0 {
		// The first operand of grep and fd is a pattern; as a folder it does not
		// matter more than the others.
		dirs = slices.DeleteFunc(dirs, func(d string) bool { return isUnknown(d) })
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	_ = sc
	return stream{kind: names, dirs: dirs}
}

func git(_ *checker, args []string, _ *scope, _ stream) stream {
	if len(args) > 0 && (args[0] == "ls-files" || args[0] == "diff" && slices.Contains(args, "--name-only")) {
		return stream{kind: names, dirs: []string{"."}}
	}
	return stream{kind: unknown}
}

func seq(*checker, []string, *scope, stream) stream { return stream{kind: names, dirs: []string{"."}} }

// mktemp makes a file or folder of a new name.
func mktemp(_ *checker, args []string, _ *scope, _ stream) stream {
	dir := "/tmp"
	if ops := operands(args, []string{"-p", "--suffix"}); len(ops) > 0 && path.IsAbs(ops[0]) {
		dir = path.Dir(ops[0])
	}
	return stream{kind: names, dirs: []string{dir}}
}

func baseName(_ *checker, args []string, _ *scope, _ stream) stream {
	if len(args) == 0 {
		return stream{kind: unknown}
	}
	return knownText(strings.TrimSuffix(path.Base(args[0]), args[len(args)-1]) + "\n")
}

func dirName(_ *checker, args []string, _ *scope, _ stream) stream {
	if len(args) == 0 {
		return stream{kind: unknown}
	}
	return knownText(path.Dir(args[0]) + "\n")
}

func sameName(_ *checker, args []string, sc *scope, _ stream) stream {
	ops := operands(args, nil)
	if len(ops) != 1 || isUnknown(ops[0]) {
		return stream{kind: unknown}
	}
	p := ops[0]
	if !path.IsAbs(p) {
		if sc.cwd == "" {
			return stream{kind: unknown}
		}
		p = sc.cwd + "/" + p
	}
	return knownText(path.Clean(p) + "\n")
}
