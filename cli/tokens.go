package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
)

// calibrateProgram fits the weights of a model's token estimate. It is a program
// of its own, as the tokenizer library stays out of perch.
const calibrateProgram = "perch-calibrate"

func (a *app) tokensCommand() *cobra.Command {
	var model string
	c := a.command("tokens FILE", "cli.tokens", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		in := a.Stdin
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return a.failed("cli.bad_file", args[0], reason(err))
			}
			defer f.Close()
			in = f
		}
		text, err := io.ReadAll(io.LimitReader(in, maxPiped+1))
		if err != nil {
			return a.failed("cli.bad_file", args[0], reason(err))
		}
		if len(text) > maxPiped {
			return a.failed("cli.stdin_large", maxPiped>>20)
		}
		c, err := a.owner()
		if err != nil {
			return err
		}
		n, err := c.EstimateTokens(ctx, model, string(text))
		if err != nil {
			return err
		}
		return a.print(strconv.Itoa(n))
	})
	c.Flags().StringVarP(&model, "model", "m", "", a.t("cli.flag_model"))
	return c
}

func (a *app) calibrateCommand() *cobra.Command {
	c := a.command("calibrate --tokenizer FILE --for MODEL TEXTS...", "cli.calibrate", cobra.ArbitraryArgs, func(ctx context.Context, args []string) error {
		program, err := beside(calibrateProgram)
		if err != nil {
			return a.failed("cli.no_program", calibrateProgram)
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.Stdin, a.Stdout, a.Stderr, a.Environ
		err = cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() >= 0 {
			return &failure{exit.ExitCode(), nil}
		}
		return err
	})
	c.DisableFlagParsing = true // its flags are the other program's
	return c
}

// beside finds a program of Perch next to this one, or else in PATH.
func beside(name string) (string, error) {
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(exe), name)); err == nil {
			return path, nil
		}
	}
	return exec.LookPath(name)
}
