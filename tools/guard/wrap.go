package guard

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// wrapper is a program that runs the program in its arguments.
type wrapper struct {
	// values are its options that take the next argument as their value.
	values []string
	// operands is how many arguments of its own stand before the program.
	operands int
	// assigns says that NAME=value may stand before the program.
	assigns bool
	// text are options whose value is a command line for a shell.
	text []string
	// joined says that the rest is joined to a command line for a shell.
	joined bool
	// harmless are options with which nothing is run.
	harmless []string
	// dir is an option that changes the folder.
	dir []string
	// newRoot says that paths mean another tree.
	newRoot bool
}

var wrappers = map[string]wrapper{
	"sudo":        {values: []string{"-u", "-g", "-C", "-p", "-r", "-t", "-T", "-h", "-R", "--user", "--group", "--prompt", "--host"}, dir: []string{"-D", "--chdir"}, assigns: true, harmless: []string{"-l", "-v", "-k", "-K", "-V", "--list", "--validate"}},
	"doas":        {values: []string{"-u", "-C", "-a"}},
	"pkexec":      {values: []string{"--user"}},
	"run0":        {assigns: true},
	"env":         {values: []string{"-u", "--unset"}, dir: []string{"-C", "--chdir"}, assigns: true, text: []string{"-S", "--split-string"}},
	"nohup":       {},
	"nice":        {values: []string{"-n", "--adjustment"}},
	"ionice":      {values: []string{"-c", "-n", "-p", "--class", "--classdata"}},
	"chrt":        {operands: 1, values: []string{"-T", "-P", "-D"}},
	"taskset":     {operands: 1},
	"timeout":     {operands: 1, values: []string{"-s", "-k", "--signal", "--kill-after"}},
	"gtimeout":    {operands: 1, values: []string{"-s", "-k"}},
	"setsid":      {},
	"stdbuf":      {values: []string{"-i", "-o", "-e"}},
	"unbuffer":    {},
	"time":        {values: []string{"-f", "-o"}},
	"command":     {harmless: []string{"-v", "-V"}},
	"builtin":     {},
	"exec":        {values: []string{"-a"}},
	"busybox":     {harmless: []string{"--list", "--help"}},
	"toybox":      {},
	"strace":      {values: []string{"-e", "-o", "-p", "-s", "-u", "-E", "-P", "-a", "-O", "-S", "-X"}},
	"ltrace":      {values: []string{"-e", "-o", "-p", "-s", "-u", "-n"}},
	"gdb":         {values: []string{"-ex", "-x"}},
	"valgrind":    {},
	"catchsegv":   {},
	"caffeinate":  {},
	"systemd-run": {values: []string{"-p", "-u", "-E", "--unit", "--property", "--setenv"}},
	"unshare":     {values: []string{"-R", "-w", "-S", "-G"}},
	"nsenter":     {values: []string{"-t", "-S", "-G"}},
	"setpriv":     {},
	"prlimit":     {},
	"numactl":     {},
	"firejail":    {},
	"bwrap":       {newRoot: true},
	"fakeroot":    {values: []string{"-i", "-s", "-l", "-b"}},
	"chroot":      {operands: 1, newRoot: true},
	"xvfb-run":    {values: []string{"-s", "-n", "-e", "-f", "-p", "-w"}},
	"dbus-launch": {}, "dbus-run-session": {},
	"flock":   {operands: 1, values: []string{"-w", "-E"}, text: []string{"-c", "--command"}},
	"script":  {operands: 1, text: []string{"-c", "--command"}},
	"su":      {operands: 99, text: []string{"-c", "--command"}, values: []string{"-s", "-g", "-G"}},
	"runuser": {values: []string{"-u", "-g", "-G", "-s"}, text: []string{"-c", "--command"}},
	"watch":   {values: []string{"-n", "--interval", "-q"}, joined: true},
	"ssh":     {operands: 1, values: []string{"-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-m", "-E", "-W", "-w", "-S", "-Q", "-e", "-I", "-B"}, joined: true},
	"npx":     {values: []string{"-p", "--package"}, text: []string{"-c", "--call"}},
	"bunx":    {},
	"rlwrap":  {}, "proxychains": {}, "proxychains4": {}, "torsocks": {}, "eatmydata": {}, "cgexec": {values: []string{"-g"}}, "softlimit": {}, "cpulimit": {values: []string{"-l", "-p"}},
}

// wrapped judges what a wrapper runs.
func (c *checker) wrapped(prog string, w wrapper, args []string, sc *scope, in stream, fromNet bool) stream {
	if (prog == "command" || prog == "builtin") && len(args) > 0 && slices.Contains(w.harmless, args[0]) {
		return which(c, args[1:], sc, in)
	}
	inner := sc.clone()
	if w.newRoot {
		inner.cwd = "/"
	}
	left := w.operands
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, attached := strings.Cut(a, "=")
		switch {
		case slices.Contains(w.harmless, a):
			return stream{kind: unknown}
		case a == "--" && left == 0:
			return c.inside(prog, w, args[i+1:], sc, inner, in, fromNet)
		case a == "--":
		case slices.Contains(w.text, name) && attached && strings.HasPrefix(a, "--"):
			return c.text(value+" "+strings.Join(args[i+1:], " "), inner, in)
		case slices.Contains(w.text, a) && i+1 < len(args):
			line := args[i+1]
			if prog == "env" {
				line += " " + strings.Join(args[i+2:], " ")
			}
			return c.text(line, inner, in)
		case slices.Contains(w.dir, a) && i+1 < len(args):
			changeDir(c, args[i+1:i+2], inner, in)
			i++
		case slices.Contains(w.values, a):
			i++
		case len(a) > 1 && a[0] == '-':
			// "-n5", "-uroot" and clusters carry their value themselves. A cluster
			// that ends in an option with a text ("-lc") has it in the next.
			if len(w.text) > 0 && !strings.HasPrefix(a, "--") && i+1 < len(args) && slices.Contains(w.text, "-"+a[len(a)-1:]) {
				return c.text(args[i+1], inner, in)
			}
		case w.assigns && attached && variable.MatchString(name):
			inner.vars[name] = value
		case left > 0:
			left--
		default:
			return c.inside(prog, w, args[i:], sc, inner, in, fromNet)
		}
	}
	return stream{kind: unknown}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// inside judges the program that a wrapper runs. exec and time stay in the same
// shell, so that they change its state.
func (c *checker) inside(prog string, w wrapper, args []string, sc, inner *scope, in stream, fromNet bool) stream {
	if w.joined {
		if prog == "ssh" {
			inner = newScope("", "/root")
		}
		return c.text(strings.Join(args, " "), inner, in)
	}
	if prog == "exec" || prog == "command" || prog == "builtin" || prog == "time" {
		inner = sc
	}
	c.external = true // a wrapper does not see the shell's functions
	return c.run(args, inner, in, fromNet)
}

// shells read commands.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "mksh": true, "ash": true, "fish": true, "rbash": true, "csh": true, "tcsh": true, "yash": true, "posh": true,
}

// shell judges a shell with its arguments.
func (c *checker) shell(_ string, args []string, sc *scope, in stream, fromNet bool) stream {
	inner := sc.clone()
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-o" || a == "+o" || a == "-O" || a == "+O" || a == "--rcfile" || a == "--init-file":
			i++
		case a == "--version" || a == "--help":
			return stream{kind: unknown}
		case a == "-":
		case len(a) > 1 && (a[0] == '-' || a[0] == '+') && !strings.HasPrefix(a, "--"):
			if strings.Contains(a, "c") {
				// The command is the first argument that is no option.
				rest := args[i+1:]
				for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
					rest = rest[1:]
				}
				if len(rest) == 0 {
					return stream{kind: unknown}
				}
				if fromNet && isUnknown(rest[0]) {
					c.forbid("it runs what it fetches from the network")
					return stream{kind: unknown}
				}
				if len(rest) > 1 {
					inner.args = nonNil(rest[2:])
				}
				return c.text(rest[0], inner, in)
			}
			if strings.Contains(a, "s") {
				inner.args = nonNil(args[i+1:])
				c.script(in, inner)
				return stream{kind: unknown}
			}
			if strings.Contains(a, "n") && !strings.Contains(a, "i") {
				return stream{kind: unknown} // only checks the syntax
			}
		case strings.HasPrefix(a, "--"):
		default:
			// A script file.
			if n, ok := procNumber(a); ok {
				c.script(c.procs[n], inner)
			} else if a == "/dev/stdin" {
				c.script(in, inner)
			} else {
				c.runsFile(a, inner)
			}
			return stream{kind: unknown}
		}
	}
	c.script(in, inner)
	return stream{kind: unknown}
}

// xargs runs a program with what it reads.
func xargs(c *checker, args []string, sc *scope, in stream) stream {
	values := []string{"-n", "-P", "-L", "-I", "-d", "-s", "-a", "-E", "-R", "--max-args", "--max-procs", "--delimiter", "--arg-file", "--max-lines", "--replace"}
	replace := ""
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' {
			break
		}
		if a == "--" {
			i++
			break
		}
		if r, ok := strings.CutPrefix(a, "-I"); ok {
			if replace = r; r == "" && i+1 < len(args) {
				replace = args[i+1]
			}
		} else if a == "-i" || strings.HasPrefix(a, "--replace") {
			replace = "{}"
		}
		if a == "-a" || strings.HasPrefix(a, "--arg-file") {
			in = stream{kind: unknown}
		}
		if slices.Contains(values, a) {
			i++
		}
	}
	rest := args[min(i, len(args)):]
	if len(rest) == 0 {
		return in
	}
	var more []string
	switch in.kind {
	case known:
		more = strings.Fields(strings.NewReplacer("\x00", " ", `"`, "", "'", "").Replace(in.text))
	case names:
		for _, d := range in.dirs {
			more = append(more, d+"/"+nameMark)
			if does := effect(rest); does != "" && in.all {
				c.onAll(d, false, does, sc)
			}
		}
	default:
		more = []string{mark}
	}
	if in.kind == fetched && (shells[rest[0]] || interpreters[languageOf(rest[0])] != "") {
		c.forbid("it runs what it fetches from the network")
	}
	return c.apply(rest, replace, more, sc)
}

// apply runs a program with further arguments, at the end or where a sign stands.
func (c *checker) apply(prog []string, replace string, more []string, sc *scope) stream {
	if len(more) == 0 {
		return c.run(prog, sc.clone(), stream{}, false)
	}
	if replace == "" {
		return c.run(append(slices.Clone(prog), more...), sc.clone(), stream{}, false)
	}
	for i, m := range more {
		if i == maxTurns {
			break
		}
		var args []string
		for _, p := range prog {
			args = append(args, strings.ReplaceAll(p, replace, m))
		}
		c.run(args, sc.clone(), stream{}, false)
	}
	return stream{kind: unknown}
}

// parallel is GNU parallel: arguments behind ::: or from its input.
func parallel(c *checker, args []string, sc *scope, in stream) stream {
	var prog, more []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, ":::"):
			more = append(more, args[i+1:]...)
			i = len(args)
		case len(prog) == 0 && len(a) > 1 && a[0] == '-':
			if slices.Contains([]string{"-j", "-n", "-N", "-I", "--jobs", "--colsep"}, a) {
				i++
			}
		default:
			prog = append(prog, a)
		}
	}
	if more == nil {
		return xargs(c, prog, sc, in)
	}
	if len(prog) == 0 {
		for _, m := range more {
			c.text(m, sc.clone(), stream{})
		}
		return stream{kind: unknown}
	}
	replace := ""
	if strings.Contains(strings.Join(prog, " "), "{}") {
		replace = "{}"
	}
	if len(prog) == 1 && strings.Contains(prog[0], " ") {
		for _, m := range more {
			line := prog[0] + " " + m
			if replace != "" {
				line = strings.ReplaceAll(prog[0], "{}", m)
			}
			c.text(line, sc.clone(), stream{})
		}
		return stream{kind: unknown}
	}
	return c.apply(prog, replace, more, sc)
}

// find deletes or runs programs with what it finds.
func find(c *checker, args []string, sc *scope, _ stream) stream {
	i := 0
	for i < len(args) && (args[i] == "-H" || args[i] == "-L" || args[i] == "-P" || strings.HasPrefix(args[i], "-O") || args[i] == "-D") {
		i++
	}
	var starts []string
	for i < len(args) && !strings.HasPrefix(args[i], "-") && args[i] != "(" && args[i] != "!" {
		starts = append(starts, args[i])
		i++
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	tests := args[i:]
	narrow := narrows(tests)
	found := func() []string {
		var out []string
		for _, s := range starts {
			if narrow {
				out = append(out, s+"/"+nameMark)
			} else {
				out = append(out, s)
			}
		}
		return out
	}
	for j := 0; j < len(tests); j++ {
		switch tests[j] {
		case "-delete":
			for _, s := range starts {
				c.onAll(s, narrow, "deletes", sc)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := j + 1
			for end < len(tests) && tests[end] != ";" && tests[end] != "+" {
				end++
			}
			if prog := tests[j+1 : end]; len(prog) > 0 {
				if does := effect(prog); does != "" {
					for _, s := range starts {
						c.onAll(s, narrow, does, sc)
					}
				}
				c.apply(prog, "{}", found(), sc)
			}
			j = end
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if j+1 < len(tests) {
				c.writes(tests[j+1:j+2], sc, "writes to")
			}
		}
	}
	return stream{kind: names, dirs: starts, all: !narrow}
}

// effect is what a program does to each file that it is given, "" for nothing
// that matters here.
func effect(prog []string) string {
	for _, a := range prog {
		switch path.Base(a) {
		case "rm", "unlink", "shred", "srm":
			return "deletes"
		case "chmod", "chown", "chgrp":
			return "changes modes or owners of all in"
		}
	}
	return ""
}

// onAll judges what find does to all it finds below a start. With a test that
// narrows it, only an unknown start is doubtful.
func (c *checker) onAll(start string, narrow bool, does string, sc *scope) {
	if narrow {
		if isUnknown(start) {
			c.doubt("what it " + does + " lies below a folder that is computed at run time")
		}
		return
	}
	if does != "deletes" && c.onlyHome(start, sc.cwd) {
		return
	}
	c.judge(c.target(start, sc.cwd), does, start)
}

// narrows reports whether find's tests choose some of the files by name or place.
func narrows(tests []string) bool {
	for i, t := range tests {
		switch t {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			if i+1 < len(tests) && !slices.Contains(everything, tests[i+1]) && tests[i+1] != "./*" && tests[i+1] != "*/*" {
				return true
			}
		case "-empty", "-size", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-newer", "-user", "-nouser", "-inum", "-samefile", "-xtype", "-lname", "-links":
			return true
		}
	}
	return false
}
