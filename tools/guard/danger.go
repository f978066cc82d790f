package guard

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// dangerous are the programs with rules of their own.
var dangerous map[string]func(c *checker, prog string, args []string, sc *scope)

func init() {
	dangerous = map[string]func(c *checker, prog string, args []string, sc *scope){
		"rm": rm, "srm": rm, "rimraf": rimraf, "shred": shred, "wipe": shred, "dd": dd, "mv": mv, "cp": copies, "install": copies, "ln": copies, "rsync": rsync,
		"chmod": modes, "chown": modes, "chgrp": modes, "setfacl": modes, "chattr": modes,
		"mkfs": mkfs, "mke2fs": mkfs, "mkswap": mkfs, "mkdosfs": mkfs, "mkntfs": mkfs, "newfs": mkfs, "wipefs": wipefs, "blkdiscard": disk, "badblocks": badblocks, "cryptsetup": cryptsetup,
		"fdisk": partition, "sfdisk": partition, "gdisk": partition, "sgdisk": partition, "cfdisk": partition, "parted": partition, "hdparm": hdparm, "nvme": nvme, "mdadm": mdadm,
		"pvremove": disk, "pvcreate": disk, "vgremove": volume, "lvremove": volume, "zpool": pool, "zfs": pool, "diskutil": diskutil,
		"shutdown": shutdown, "reboot": power, "poweroff": power, "halt": power, "init": initLevel, "telinit": initLevel, "systemctl": systemctl, "loginctl": systemctl, "pm-suspend": power, "pm-hibernate": power, "kexec": kexec,
		"dbus-send": bus, "busctl": bus, "gdbus": bus, "qdbus": bus, "gnome-session-quit": bus, "kill": kill, "killall5": power, "truncate": truncate,
	}
}

// judge reports what a danger is.
func (c *checker) judge(d danger, does, what string) {
	switch d {
	case deadly:
		c.forbid("it " + does + " " + readable(what))
	case doubtful:
		c.doubt("what it " + does + " is computed at run time")
	}
}

func rm(c *checker, _ string, args []string, sc *scope) {
	if !hasOption(args, "rR", "--recursive") {
		return
	}
	if hasOption(args, "", "--no-preserve-root") {
		c.forbid("it deletes with the protection of / switched off")
	}
	for _, t := range operands(args, nil) {
		c.judge(c.target(t, sc.cwd), "deletes", t)
	}
}

func rimraf(c *checker, _ string, args []string, sc *scope) {
	for _, t := range operands(args, nil) {
		c.judge(c.target(t, sc.cwd), "deletes", t)
	}
}

func shred(c *checker, prog string, args []string, sc *scope) {
	c.writes(operands(args, []string{"-n", "-s", "--iterations", "--size"}), sc, "overwrites")
	if prog == "wipe" && hasOption(args, "r") {
		rimraf(c, prog, args, sc)
	}
}

func dd(c *checker, _ string, args []string, sc *scope) {
	for _, a := range args {
		if of, ok := strings.CutPrefix(a, "of="); ok {
			if isUnknown(of) {
				c.doubt("what dd writes to is computed at run time")
			}
			c.writes([]string{of}, sc, "writes to")
		}
	}
}

// mv of a system or home folder takes it away as surely as deleting it.
func mv(c *checker, _ string, args []string, sc *scope) {
	ops := operands(args, []string{"-t", "-S", "--target-directory", "--suffix"})
	for i, t := range ops {
		if i == len(ops)-1 && !hasOption(args, "t", "--target-directory") {
			c.writes([]string{t}, sc, "writes to")
			break
		}
		last := path.Base(t)
		intoNothing := len(ops) > 1 && ops[len(ops)-1] == "/dev/null"
		if c.target(t, sc.cwd) == deadly && (intoNothing || !slices.Contains(everything, last) || strings.HasPrefix(path.Clean(t), "/*")) {
			c.forbid("it moves " + readable(t) + " away")
		}
	}
}

func copies(c *checker, _ string, args []string, sc *scope) {
	if ops := operands(args, []string{"-t", "-S", "-m", "-o", "-g"}); len(ops) > 1 {
		c.writes(ops[len(ops)-1:], sc, "writes to")
	}
}

func rsync(c *checker, _ string, args []string, sc *scope) {
	ops := operands(args, []string{"-e", "--exclude", "--include", "--rsh"})
	if len(ops) < 2 || !slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--del") || a == "--remove-source-files"
	}) {
		return
	}
	if to := ops[len(ops)-1]; !strings.Contains(to, ":") && c.target(to, sc.cwd) == deadly {
		c.forbid("it deletes what is in " + readable(to) + " and not in the source")
	}
}

// modes judges recursive changes of mode or owner of system folders. Those of a
// home folder are a person's own, except a mode that locks them out or everybody
// in.
func modes(c *checker, prog string, args []string, sc *scope) {
	if !hasOption(args, "R", "--recursive") {
		return
	}
	ops := operands(args, []string{"-m", "-x", "--reference"})
	if len(ops) > 0 && prog != "setfacl" && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--reference") }) {
		mode := ops[0]
		ops = ops[1:]
		for _, t := range ops {
			if prog != "chmod" && c.onlyHome(t, sc.cwd) {
				continue
			}
			if prog == "chmod" && c.onlyHome(t, sc.cwd) && strings.HasPrefix(mode, "u+") {
				continue
			}
			c.judge(c.target(t, sc.cwd), "changes modes or owners of all in", t)
		}
		return
	}
	for _, t := range ops {
		c.judge(c.target(t, sc.cwd), "changes modes or owners of all in", t)
	}
}

// onlyHome reports whether a target is the user's own home or all in it.
func (c *checker) onlyHome(t, cwd string) bool {
	if !path.IsAbs(t) && cwd != "" {
		t = cwd + "/" + t
	}
	t = path.Clean(t)
	if slices.Contains(everything, path.Base(t)) {
		t = path.Dir(t)
	}
	return c.home != "" && t == c.home && !slices.Contains(systemFolders, t)
}

// device judges the arguments of a program that destroys what is on a disk.
func (c *checker) device(prog string, args []string, sc *scope) {
	for _, t := range args {
		p := t
		if !path.IsAbs(p) && sc.cwd != "" {
			p = path.Join(sc.cwd, p)
		}
		switch {
		case isUnknown(t):
			c.doubt("the disk that " + prog + " works on is computed at run time")
		case strings.HasPrefix(path.Clean(p), "/dev/"):
			c.forbid("it destroys what is on " + readable(t))
		case strings.HasPrefix(t, "UUID=") || strings.HasPrefix(t, "LABEL="):
			c.forbid("it destroys what is on " + readable(t))
		}
	}
}

// mkfs makes a file system. In a file that is an image, and harmless.
func mkfs(c *checker, prog string, args []string, sc *scope) {
	c.device(prog, operands(args, []string{"-t", "-L", "-n", "-m", "-b", "-i", "-N", "-O", "-E", "-U", "-F", "-s", "-S", "-T", "-I", "-g", "-d", "--label", "--type"}), sc)
}

func disk(c *checker, prog string, args []string, sc *scope) {
	c.device(prog, operands(args, []string{"-o", "-l", "-p"}), sc)
}

func wipefs(c *checker, prog string, args []string, sc *scope) {
	if hasOption(args, "ao", "--all", "--offset") && !hasOption(args, "n", "--no-act") {
		disk(c, prog, args, sc)
	}
}

func badblocks(c *checker, prog string, args []string, sc *scope) {
	if hasOption(args, "w") {
		disk(c, prog, args, sc)
	}
}

func cryptsetup(c *checker, prog string, args []string, sc *scope) {
	if ops := operands(args, nil); len(ops) > 0 && slices.Contains([]string{"luksFormat", "erase", "luksErase", "reencrypt", "luksKillSlot", "luksRemoveKey"}, ops[0]) {
		c.device(prog, ops[1:], sc)
	}
}

// partition edits a partition table, unless it only lists it.
func partition(c *checker, prog string, args []string, sc *scope) {
	if hasOption(args, "ldp", "--list", "--dump", "--print", "--version", "--help", "--backup", "--verify") && prog != "parted" {
		return
	}
	ops := operands(args, []string{"-a", "-u", "--align"})
	if prog == "parted" {
		if hasOption(args, "l", "--list") || len(ops) < 2 || ops[1] == "print" || ops[1] == "unit" && slices.Contains(ops, "print") {
			return
		}
		ops = ops[:1]
	}
	c.device(prog, ops, sc)
}

func hdparm(c *checker, prog string, args []string, sc *scope) {
	if slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--security-erase") || strings.HasPrefix(a, "--trim-sector") || a == "--write-sector" || a == "--repair-sector"
	}) {
		c.device(prog, operands(args, nil), sc)
	}
}

func nvme(c *checker, prog string, args []string, sc *scope) {
	if len(args) > 0 && (args[0] == "format" || args[0] == "sanitize" || args[0] == "write-zeroes" || args[0] == "dsm") {
		c.device(prog, operands(args[1:], nil), sc)
	}
}

func mdadm(c *checker, prog string, args []string, sc *scope) {
	if slices.Contains(args, "--zero-superblock") {
		c.device(prog, operands(args, nil), sc)
	}
}

func volume(c *checker, prog string, args []string, _ *scope) {
	if len(operands(args, nil)) > 0 && !hasOption(args, "t", "--test") {
		c.forbid("it removes a disk volume with all that is on it (" + prog + ")")
	}
}

func pool(c *checker, prog string, args []string, _ *scope) {
	if len(args) > 1 && args[0] == "destroy" || len(args) > 1 && prog == "zpool" && args[0] == "labelclear" {
		c.forbid("it destroys a disk pool (" + prog + " " + args[0] + ")")
	}
}

func diskutil(c *checker, _ string, args []string, _ *scope) {
	if len(args) > 1 && (strings.HasPrefix(strings.ToLower(args[0]), "erase") || strings.ToLower(args[0]) == "partitiondisk" || strings.ToLower(args[0]) == "zerodisk") {
		c.forbid("it destroys what is on a disk (diskutil " + args[0] + ")")
	}
}

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

func truncate(c *checker, _ string, args []string, sc *scope) {
	c.writes(operands(args, []string{"-s", "--size", "-r", "--reference"}), sc, "truncates")
}

// fetchers write what they get from the network; decoders pass it on in another
// form; filters choose some of the lines they read.
var (
	fetchers = set2("curl", "wget", "wget2", "aria2c", "http", "https", "xh", "fetch", "lynx", "links", "w3m", "nc", "ncat", "socat", "ftp", "tftp", "scp")
	decoders = set2("gunzip", "gzip", "zcat", "xz", "unxz", "xzcat", "bunzip2", "bzip2", "bzcat", "zstd", "zstdcat", "base64", "base32", "xxd", "openssl", "gpg", "tr", "sed", "awk", "head", "tail", "grep", "cut", "iconv", "dos2unix", "envsubst", "pv", "rev", "sort", "uniq", "tac", "lz4", "tar", "jq", "perl", "python3")
	filters  = set2("grep", "egrep", "fgrep", "rg", "head", "tail", "sort", "uniq", "shuf", "awk", "sed", "cut", "tr")
)

func set2(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// interpreters are languages that run a text: the letters of the options that
// carry it.
var interpreters = map[string]string{
	"python": "c", "pypy": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "bun": "e", "deno": "", "php": "r", "lua": "e", "luajit": "e", "awk": "", "gawk": "", "mawk": "", "nawk": "", "tclsh": "", "osascript": "e", "Rscript": "e", "julia": "e", "elixir": "e", "groovy": "e", "guile": "c",
}

// languageOf drops the version from an interpreter's name (python3.11).
func languageOf(prog string) string { return strings.TrimRight(path.Base(prog), "0123456789.-") }

// Patterns in the code of other languages that are as surely destructive as the
// shell's. Literals in calls that run a command line are judged as commands.
var (
	forkBomb  = regexp.MustCompile(`fork\s*(\(\s*\))?\s*while\s+fork|while\s*(\(\s*)?(1|true|True)(\s*\))?\s*[:{]?\s*(os\.)?fork|loop\s*\{?\s*(do\s*)?\s*fork|fork\s*\(\s*\)\s*,?\s*while`)
	runsShell = regexp.MustCompile(`\b(system|popen|exec|execSync|spawn|spawnSync|shell_exec|passthru|call|run|check_call|check_output|Popen|qx)\b|` + "`")
	removes   = regexp.MustCompile(`(rmtree|rm_rf|rm_r|rmSync|rmdirSync|remove_tree|remove_dir_all|deltree|removedirs|rimraf(?:\.sync)?)\s*\(?\s*(?:r|b|f)?["']([^"']+)["']`)
	expandsTo = regexp.MustCompile(`(rmtree|rm_rf|rmSync)\s*\(?\s*(os\.path\.expanduser\(\s*["']~/?["']\s*\)|Path\.home\(\)|(os\.)?homedir\(\)|Dir\.home|os\.environ\[["']HOME["']\]|process\.env\.HOME)\s*[,)]`)
	literal   = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|` + "`([^`]*)`" + `|\bqx?[{(/]([^})/]*)[})/]`)
	lists     = regexp.MustCompile(`\[\s*((?:["'][^"']*["']\s*,?\s*)+)\]`)
)

// interpreter judges the code that another language is given.
func (c *checker) interpreter(prog, options string, args []string, in stream, fromNet bool) {
	awk := strings.HasSuffix(languageOf(prog), "awk")
	code, hasCode, file := "", false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "-m" || a == "--version" || a == "-V" || a == "--help" {
			file = true
			break
		}
		if a == "-" || a == "/dev/stdin" {
			break
		}
		if n, ok := procNumber(a); ok {
			if c.procs[n].kind == fetched {
				c.forbid("it runs what it fetches from the network")
			}
			file = true
			break
		}
		if a == "eval" && languageOf(prog) == "deno" || a == "--eval" || a == "--print" {
			if i+1 < len(args) {
				code, hasCode = args[i+1], true
			}
			break
		}
		if len(a) > 1 && a[0] == '-' && !strings.HasPrefix(a, "--") {
			if strings.ContainsRune("MmIxVWX", rune(a[1])) {
				continue // the rest is the option's value, not more letters
			}
			if j := strings.IndexAny(a[1:], options); options != "" && j >= 0 && (i+1 < len(args) || j+2 < len(a)) {
				if code, hasCode = a[j+2:], true; code == "" || languageOf(prog) == "perl" || languageOf(prog) == "ruby" {
					if i+1 < len(args) {
						code = args[i+1]
					}
				}
				break
			}
			continue
		}
		if awk {
			code, hasCode = a, true
		}
		file = true
		break
	}
	switch {
	case hasCode:
		if fromNet && isUnknown(code) {
			c.forbid("it runs what it fetches from the network")
			return
		}
		c.code(code)
	case file || awk:
	case in.kind == fetched:
		c.forbid("it runs what it fetches from the network")
	case in.kind == known:
		c.code(in.text)
	}
}

// code judges a text in another language.
func (c *checker) code(text string) {
	if forkBomb.MatchString(text) {
		c.forbid("it is a fork bomb")
	}
	if expandsTo.MatchString(text) {
		c.forbid("it deletes the home folder")
	}
	for _, m := range removes.FindAllStringSubmatch(text, -1) {
		p := m[2]
		if p == "~" || strings.HasPrefix(p, "~/") {
			p = c.home + p[1:]
		}
		c.judge(c.target(p, ""), "deletes", p)
	}
	if !runsShell.MatchString(text) {
		return
	}
	// Only what is surely destructive counts: a literal need not be a command.
	try := func(command string) {
		inner := &checker{home: c.home, depth: c.depth + 1, running: c.running, loaded: c.loaded}
		if file, err := parse(command); err == nil && inner.depth < maxDepth {
			inner.list(file.Stmts, newScope("", c.home), stream{})
			if inner.forbidden != "" {
				c.forbid(inner.forbidden)
			}
		}
	}
	for _, m := range literal.FindAllStringSubmatch(text, -1) {
		for _, s := range m[1:] {
			if s != "" {
				try(strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\n`, "\n").Replace(s))
			}
		}
	}
	for _, m := range lists.FindAllStringSubmatch(text, -1) {
		try(strings.NewReplacer(",", " ").Replace(m[1]))
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
