package guard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const endsMachine = "it shuts the machine down or restarts it"

func power(c *checker, _ string, args []string, _ *scope) {
	if !hasOption(args, "", "--help", "--version") && !hasOption(args, "w", "--wtmp-only") {
		c.forbid(endsMachine)
	}
}

func shutdown(c *checker, _ string, args []string, _ *scope) {
	if !hasOption(args, "ck", "--help", "--show", "--version") {
		c.forbid(endsMachine)
	}
}

func initLevel(c *checker, _ string, args []string, _ *scope) {
	if len(args) > 0 && (args[0] == "0" || args[0] == "6") {
		c.forbid(endsMachine)
	}
}

func systemctl(c *checker, _ string, args []string, _ *scope) {
	if hasOption(args, "", "--help", "--version") {
		return
	}
	ops := operands(args, []string{"-t", "-p", "-n", "-o", "-H", "-M", "-s"})
	if len(ops) == 0 {
		return
	}
	switch ops[0] {
	case "poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate", "rescue", "emergency", "exit":
		c.forbid(endsMachine)
	case "isolate", "start":
		if slices.ContainsFunc(ops[1:], func(u string) bool {
			return slices.Contains([]string{"poweroff", "reboot", "halt", "rescue", "emergency"}, strings.TrimSuffix(u, ".target"))
		}) {
			c.forbid(endsMachine)
		}
	}
}

// bus calls of the session or login manager end the machine as well.
func bus(c *checker, _ string, args []string, _ *scope) {
	for _, a := range args {
		a = strings.ToLower(a)
		for _, w := range []string{"poweroff", "power-off", "reboot", "suspend", "hibernate", ".halt"} {
			if strings.Contains(a, w) && !strings.Contains(a, "can"+w) {
				c.forbid(endsMachine)
			}
		}
	}
}

func kexec(c *checker, _ string, args []string, _ *scope) {
	if hasOption(args, "e", "--exec") {
		c.forbid(endsMachine)
	}
}

// kill with the process id -1 ends every program of the user.
func kill(c *checker, _ string, args []string, _ *scope) {
	if len(args) > 0 && (args[0] == "-l" || args[0] == "-L") {
		return
	}
	rest := args
	if len(rest) > 0 && rest[0] == "-s" && len(rest) > 1 {
		rest = rest[2:]
	} else if len(rest) > 1 && strings.HasPrefix(rest[0], "-") {
		rest = rest[1:]
	}
	if slices.Contains(rest, "-1") {
		c.forbid("it ends every program of the user")
	}
}

// forksItself recognises a function that starts itself in the background or in
// a pipe: :(){ :|:& };:
func forksItself(f *syntax.FuncDecl) bool {
	name := f.Name.Value
	calls := func(s *syntax.Stmt) bool {
		found := false
		syntax.Walk(s, func(n syntax.Node) bool {
			if x, ok := n.(*syntax.CallExpr); ok && len(x.Args) > 0 && x.Args[0].Lit() == name {
				found = true
			}
			return !found
		})
		return found
	}
	bomb := false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background && calls(n) {
				bomb = true
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && calls(n.X) && calls(n.Y) {
				bomb = true
			}
		}
		return !bomb
	})
	return bomb
}

// forkLoop recognises an endless loop that starts background commands and never
// waits.
func (c *checker) forkLoop(w *syntax.WhileClause) {
	if len(w.Cond) != 1 {
		return
	}
	x, ok := w.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(x.Args) == 0 {
		return
	}
	cond := x.Args[0].Lit()
	if !w.Until && (cond == "true" || cond == ":" || cond == "[" && len(x.Args) == 3 && x.Args[1].Lit() == "1") || w.Until && cond == "false" {
		c.forkBody(w.Do)
	}
}

// forkBody judges the body of an endless loop.
func (c *checker) forkBody(body []*syntax.Stmt) {
	starts, pauses := false, false
	for _, s := range body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				if n.Background {
					starts = true
					return false // what waits there does not hold up the loop
				}
			case *syntax.CallExpr:
				if len(n.Args) > 0 {
					switch n.Args[0].Lit() {
					case "sleep", "wait", "read", "break", "exit", "inotifywait", "return":
						pauses = true
					}
				}
			}
			return true
		})
	}
	if starts && !pauses {
		c.forbid("it is a fork bomb: it starts programs without end and waits for none")
	}
}
