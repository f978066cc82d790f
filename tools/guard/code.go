package guard

import (
	"path"
	"regexp"
	"strings"
)

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
