package guard

import (
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// subcommands are programs whose first word says what they do, so that a rule
// covers the program with that word; with two where the first is one of these.
var subcommands = map[string][]string{
	"git": {"stash", "remote", "submodule", "worktree", "bisect"}, "npm": {"run"}, "pnpm": {"run"}, "yarn": {"run"}, "bun": {"run"}, "deno": nil, "go": {"mod", "tool"}, "cargo": nil, "rustup": nil,
	"docker": {"compose", "image", "container", "volume", "network"}, "podman": {"compose", "image", "container"}, "kubectl": nil, "helm": nil, "systemctl": nil, "journalctl": nil,
	"apt": nil, "apt-get": nil, "dnf": nil, "brew": nil, "pip": nil, "pip3": nil, "uv": {"pip", "run"}, "poetry": {"run"}, "pipx": nil, "conda": nil, "gem": nil, "bundle": {"exec"}, "composer": nil, "dotnet": nil, "mvn": nil, "gradle": nil,
	"gh": {"pr", "issue", "repo", "run"}, "terraform": nil, "flutter": nil, "rails": nil, "mix": nil, "cabal": nil, "stack": nil, "zig": nil, "npx": nil, "make": nil, "just": nil, "hg": nil, "svn": nil,
}

// scripts are interpreters for which a rule covers one script.
var scripts = map[string]bool{"python": true, "python3": true, "node": true, "ruby": true, "perl": true, "php": true, "bash": true, "sh": true, "lua": true, "Rscript": true}

// alone are programs that only look, build or test, for which a rule may cover
// all uses. Every other program gets a rule for the exact command.
var alone = set2(
	"ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg", "file", "stat", "du", "df", "tree", "diff", "cmp", "sort", "uniq", "cut", "tr", "nl", "column", "jq", "yq", "date", "cal", "uname", "whoami", "id", "hostname", "uptime",
	"pwd", "echo", "printf", "which", "type", "basename", "dirname", "realpath", "readlink", "md5sum", "sha1sum", "sha256sum", "cksum", "od", "xxd", "hexdump", "strings", "ps", "free", "lscpu", "lsblk", "lsof", "ss",
	"pytest", "mypy", "ruff", "black", "flake8", "pylint", "eslint", "prettier", "tsc", "jest", "vitest", "gofmt", "golangci-lint", "staticcheck", "rustfmt", "clippy", "shellcheck", "cmake", "ninja", "gcc", "g++", "clang", "clang++", "javac", "cloc", "tokei", "pandoc", "pdftotext", "identify", "ffprobe", "test", "true", "false", "seq", "sleep",
)

var (
	plainWord  = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./^-]+$`)
	subcommand = regexp.MustCompile(`^[a-z][a-z0-9:._-]*$`)
)

// prefixOf returns what a rule may cover of a simple command: one program with
// plain arguments, nothing chained, redirected, computed or in the background.
func prefixOf(f *syntax.File) string {
	if len(f.Stmts) != 1 {
		return ""
	}
	s := f.Stmts[0]
	x, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || s.Background || s.Negated || s.Coprocess || len(x.Assigns) > 0 || len(x.Args) == 0 {
		return ""
	}
	var words []string
	for _, w := range x.Args {
		text, plain := wordText(w)
		if !plain {
			return ""
		}
		words = append(words, text)
	}
	if !plainWord.MatchString(words[0]) {
		return ""
	}
	prog := path.Base(words[0])
	second := ""
	if len(words) > 1 && plainWord.MatchString(words[1]) {
		second = words[1]
	}
	switch two, has := subcommands[prog]; {
	case has && subcommand.MatchString(second):
		for _, t := range two {
			if t == second && len(words) > 2 && subcommand.MatchString(words[2]) {
				return strings.Join(words[:3], " ")
			}
		}
		return words[0] + " " + second
	case has:
		return ""
	case scripts[prog] && second != "" && !strings.HasPrefix(second, "-"):
		return words[0] + " " + second
	case alone[prog] && prog == words[0]:
		return prog
	}
	return ""
}

// wordText is the text of a word without anything computed; quotes are allowed.
func wordText(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `\{`) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(l.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}
