package exec

import (
	"os"
	"path/filepath"
	"strings"

	"perch/config"
	"perch/tools/places"
)

// systemRead are the folders that programs need to run: programs, libraries,
// settings of the system, and what the kernel tells.
var systemRead = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap", "/proc", "/sys",
	"/var/lib", "/var/cache", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system", "/run/wrappers", "/run/opengl-driver", "/run/host",
	"/home/linuxbrew",
}

// elsewhere are files in /etc that some systems keep in another place and link.
var elsewhere = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/ssl/cert.pem", "/etc/ssl/certs"}

// devices are the device files that any program may use.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm",
}

// homeRead are tools that people install below their home folder, and settings
// that commands need to behave as they do for the user.
var homeRead = []string{
	".local/bin", ".local/lib", ".local/share/pipx", ".local/share/uv", ".local/share/mise", ".local/share/pnpm", ".local/share/virtualenvs",
	"bin", "go", "sdk", ".cargo", ".rustup", ".nvm", ".fnm", ".volta", ".bun", ".deno", ".pyenv", ".rbenv", ".asdf", ".sdkman", ".jenv", ".ghcup", ".cabal", ".stack",
	".opam", ".juliaup", ".julia", ".dotnet", ".nix-profile", ".conda", "miniconda3", "anaconda3", "mambaforge", ".fzf", ".linuxbrew",
	".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".config/pip", ".config/go", ".config/uv", ".inputrc", ".editorconfig", ".vimrc",
	".local/share/fonts", ".fonts", ".config/fontconfig", ".config/matplotlib", ".terminfo", ".hushlogin",
}

// caches are where package managers and build tools keep what can be made again.
// The first column is the program whose cache is made if it is missing: without
// it that program fails.
var caches = [][2]string{
	{"go", ".cache/go-build"}, {"go", "go/pkg"}, {"npm", ".npm"}, {"pip", ".cache/pip"}, {"pip3", ".cache/pip"}, {"uv", ".cache/uv"}, {"cargo", ".cargo/registry"},
	{"yarn", ".cache/yarn"}, {"pnpm", ".cache/pnpm"}, {"", ".cargo/git"}, {"", ".local/share/pnpm/store"}, {"", ".cache/node"}, {"", ".cache/node-gyp"},
	{"", ".cache/golangci-lint"}, {"", ".cache/staticcheck"}, {"ccache", ".cache/ccache"}, {"", ".cache/sccache"}, {"", ".cache/pypoetry"}, {"", ".cache/pre-commit"},
	{"", ".cache/deno"}, {"", ".cache/bazel"}, {"", ".cache/zig"}, {"", ".cache/Cypress"}, {"", ".cache/ms-playwright"}, {"", ".cache/puppeteer"}, {"", ".cache/electron"},
	{"", ".cache/fontconfig"}, {"", ".cache/matplotlib"}, {"", ".cache/mesa_shader_cache"}, {"", ".cache/composer"}, {"", ".gradle/caches"}, {"", ".gradle/wrapper"}, {"", ".gradle/daemon"},
	{"", ".m2/repository"}, {"", ".nuget/packages"}, {"", ".cache/pylint"}, {"", ".cache/ruff"}, {"", ".cache/mypy"}, {"", ".cache/black"}, {"", ".stack/pantry"}, {"", ".cabal/packages"},
}

// allow fills in what the child may read and write: an allowlist, since Landlock
// has no deny rule. A folder that holds a secret place is never granted whole.
func (e *Executor) allow(s *spec, c Command, sb config.Sandbox) {
	pl := e.c.Places
	home := pl.Home()
	below := func(rel string) string { return filepath.Join(home, filepath.FromSlash(rel)) }
	read := func(paths ...string) {
		for _, p := range paths {
			s.Read = append(s.Read, pl.Open(settle(p))...)
		}
	}
	write := func(paths ...string) {
		for _, p := range paths {
			s.Write = append(s.Write, pl.Open(settle(p))...)
		}
	}
	read(systemRead...)
	read(elsewhere...) // settled: the file that a link leads to
	for _, dir := range filepath.SplitList(lookup(s.Env, "PATH")) {
		if filepath.IsAbs(dir) {
			read(dir)
		}
	}
	if home != "" {
		for _, rel := range homeRead {
			read(below(rel))
		}
		for _, t := range caches {
			makeCache(t[0], below(t[1]), s.Env)
			write(below(t[1]))
		}
	}
	s.Devices = devices
	// Opened entry by entry, since it holds secret files; their names are none.
	s.List = []string{"/etc"}
	write(c.Dir)
	e.temp(s, c)
	// What the user named is granted as it is, a secret place, too: it was asked
	// about as such. A folder that merely holds one is still not granted whole.
	named := func(paths []string, grant func(...string), list *[]string) {
		for _, p := range paths {
			p = settle(p)
			if pl.Secret(p) {
				*list = append(*list, p)
			} else {
				grant(p)
			}
		}
	}
	named(sb.Read, read, &s.Read)
	named(c.Read, read, &s.Read)
	named(sb.Write, write, &s.Write)
	named(c.Write, write, &s.Write)
	e.hide(s)
}

// temp grants the temporary folder. Where that holds a secret place (a home
// folder below /tmp) it cannot be granted, and the child gets one of its own.
func (e *Executor) temp(s *spec, c Command) {
	tmp := lookup(s.Env, "TMPDIR")
	if tmp == "" {
		tmp = "/tmp"
	}
	whole := func(dir string) bool { return !e.c.Places.Holds(dir) && !e.c.Places.Secret(dir) }
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if whole(dir) {
			s.Write = append(s.Write, dir)
		}
	}
	if tmp = settle(tmp); whole(tmp) {
		s.Write = append(s.Write, tmp)
		return
	}
	if c.SpoolDir == "" {
		return
	}
	if own := filepath.Join(c.SpoolDir, "tmp"); os.MkdirAll(own, 0o700) == nil {
		s.Write = append(s.Write, settle(own))
		s.Env = append(s.Env, "TMPDIR="+own)
	}
}

// settle makes a path absolute and resolved; ~ is the home folder.
func settle(p string) string {
	r, err := places.Resolve("/", p)
	if err != nil {
		return filepath.Clean(p)
	}
	return r
}

// makeCache makes the cache folder of a program that is installed.
func makeCache(program, dir string, environ []string) {
	if program == "" {
		return
	}
	if _, err := os.Stat(dir); err == nil {
		return
	}
	for _, p := range filepath.SplitList(lookup(environ, "PATH")) {
		if fi, err := os.Stat(filepath.Join(p, program)); err == nil && fi.Mode()&0o111 != 0 && !strings.HasPrefix(dir, p) {
			os.MkdirAll(dir, 0o700) // a failure shows as the program's own
			return
		}
	}
}
