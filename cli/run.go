package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"perch/assets"
	"perch/chat"
	"perch/config"
	"perch/control"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

// Env is what the composition root gives to a command.
type Env struct {
	Paths   config.Paths
	Version control.Version // Version and Commit count
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// StartOwner starts a detached owner and returns at once.
	StartOwner func() error
	// StartTray is the tray: it returns the exit code when Perch ends.
	StartTray func(ctx context.Context) int
	// Getenv and Environ are the client's environment; nil is the process's.
	Getenv  func(string) string
	Environ []string
}

// app is one call of the program.
type app struct {
	Env
	ctx    context.Context
	cfg    *config.Config // read on first use
	texts  *assets.Texts
	lines  *lines // standard input by the line, on first use
	client *control.Client
}

// failure ends the program with a code. A nil err has been said already.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// Run runs the command that args name (without the program's own name) and
// returns the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") {
		// Before anything is read: scripts ask for it often.
		fmt.Fprintln(env.Stdout, versionLine(env.Version))
		return exitOK
	}
	if env.Getenv == nil {
		env.Getenv = os.Getenv
	}
	if env.Environ == nil {
		env.Environ = os.Environ()
	}
	// A reader that goes away is an error of a write, not the end of the process.
	// The signal is taken and not ignored: children would inherit that, and their
	// pipes would never end.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	a := &app{Env: env, ctx: ctx}
	defer a.close()
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return a.exit(err)
}

func (a *app) close() {
	if a.client != nil {
		a.client.Close()
	}
}

// exit says what went wrong and returns the exit code.
func (a *app) exit(err error) int {
	var f *failure
	var classed *chat.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f):
		if f.err != nil {
			a.complain(f.err)
		}
		return f.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE):
		return exitFailed // nobody is left to tell
	case errors.As(err, &classed):
		a.complain(err)
		return exitFailed
	}
	// What is left comes from the parser of the command line.
	a.complain(err)
	fmt.Fprintln(a.Stderr, a.t("cli.see_help"))
	return exitUsage
}

func (a *app) complain(err error) { fmt.Fprintln(a.Stderr, "perch: "+a.sentence(err)) }

// sentence is an error in the user's language.
func (a *app) sentence(err error) string {
	var classed *chat.Error
	if errors.As(err, &classed) {
		return a.t("") + a.texts.Error(classed)
	}
	return err.Error()
}

// misuse is an error of the command line, which ends with code 2.
func (a *app) misuse(id string, args ...any) error {
	return &failure{exitUsage, errors.New(a.t(id, args...))}
}

// failed is an error of what was tried, which ends with code 1.
func (a *app) failed(id string, args ...any) error {
	return &failure{exitFailed, errors.New(a.t(id, args...))}
}

// settings are those of the file; a mistake in it is said once, and the
// defaults hold.
func (a *app) settings() config.Config {
	if a.cfg == nil {
		c, err := config.Load(a.Paths.ConfigFile)
		a.cfg = &c
		a.texts = assets.NewTexts(c.Language)
		if err != nil {
			a.complain(err)
		}
	}
	return *a.cfg
}

// t is a text in the user's language.
func (a *app) t(id string, args ...any) string {
	a.settings()
	if id == "" {
		return ""
	}
	return a.texts.T(id, args...)
}

// owner returns a client of the running Perch, starting one if need be.
func (a *app) owner() (*control.Client, error) {
	if a.client != nil {
		return a.client, nil
	}
	if err := a.Paths.Make(); err != nil {
		return nil, err
	}
	c, err := control.EnsureOwner(a.ctx, a.Paths, a.StartOwner)
	if err != nil {
		return nil, err
	}
	a.client = c
	return c, nil
}

// running returns a client of the running Perch, or nil if there is none.
func (a *app) running() (*control.Client, error) {
	c, err := control.DialAny(a.Paths)
	if errors.Is(err, control.ErrNotRunning) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.client = c
	return c, nil
}

// root is the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "perch", Short: a.t("cli.about"), Args: cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return a.start() },
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		a.askCommand(), a.chatCommand(),
		a.sessionsCommand(), a.sessionCommand(),
		a.kbCommand(), a.memoryCommand(),
		a.modelsCommand(), a.authCommand(),
		a.tokensCommand(), a.calibrateCommand(),
		a.statsCommand(), a.doctorCommand(),
		a.frontCommand("toggle"), a.frontCommand("show"), a.quitCommand(),
		&cobra.Command{Use: "version", Short: a.t("cli.version"), Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return a.print(versionLine(a.Version))
		}},
	)
	localize(root, a)
	return root
}

// group makes a command that only holds others.
func (a *app) group(name, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: a.t(short), Args: cobra.ArbitraryArgs, RunE: func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return a.misuse("cli.unknown_command", args[0], c.CommandPath())
		}
		return c.Help()
	}}
	c.AddCommand(subs...)
	return c
}

// command makes a command whose run ends at an interrupt.
func (a *app) command(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: a.t(short), Args: args, RunE: func(c *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		a.ctx = ctx
		return run(ctx, args)
	}}
}

// localize says the parts of the help that cobra writes in the user's language.
func localize(root *cobra.Command, a *app) {
	root.SetUsageTemplate(strings.NewReplacer(
		"Usage:", a.t("cli.help_usage"), "Available Commands:", a.t("cli.help_commands"), "Additional Commands:", a.t("cli.help_commands"),
		"Global Flags:", a.t("cli.help_flags"), "Flags:", a.t("cli.help_flags"), "Aliases:", a.t("cli.help_aliases"), "Examples:", a.t("cli.help_examples"),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, a.t("cli.help_more", "{{.CommandPath}}"),
	).Replace(root.UsageTemplate()))
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short = a.t("cli.help")
		}
	}
	var flags func(c *cobra.Command)
	flags = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		if f := c.Flags().Lookup("help"); f != nil {
			f.Usage = a.t("cli.help_flag")
		}
		for _, s := range c.Commands() {
			flags(s)
		}
	}
	flags(root)
}

// print writes a line to standard output.
func (a *app) print(s string) error {
	_, err := io.WriteString(a.Stdout, s+"\n")
	return err
}

// note writes a line to standard error.
func (a *app) note(s string) { fmt.Fprintln(a.Stderr, s) }

func versionLine(v control.Version) string {
	s := "perch " + v.Version
	if v.Commit != "" && !strings.Contains(v.Version, v.Commit) {
		s += " (" + v.Commit + ")"
	}
	return fmt.Sprintf("%s, protocol %d, %s %s/%s", s, control.Protocol, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
