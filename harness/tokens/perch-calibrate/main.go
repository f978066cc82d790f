// Command perch-calibrate fits the weights of the token estimate to a real
// tokenizer.
//
//	perch-calibrate --tokenizer FILE --for MODEL TEXTS…
//
// fits weights for one model from a tokenizer.json and texts of the user's, and
// writes them into the user's data folder, where they win over the shipped ones.
// The subcommands fit, table and check serve `make calibrate`.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"perch/config"
)

// errUsage marks wrong usage, which has an exit code of its own.
type errUsage struct{ error }

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch err.(type) {
	case nil:
	case errUsage:
		fmt.Fprintln(os.Stderr, "perch-calibrate:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "perch-calibrate:", err)
		os.Exit(1)
	}
}

func run(args []string, out, errOut io.Writer) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return ship(args[0], args[1:], out, errOut)
	}
	fs := flag.NewFlagSet("perch-calibrate", flag.ContinueOnError)
	fs.SetOutput(errOut)
	tokenizer := fs.String("tokenizer", "", "the model's tokenizer.json")
	model := fs.String("for", "", "the model, as provider/model or its id")
	dir := fs.String("out", "", "folder for the weights (default: Perch's data folder)")
	if err := fs.Parse(args); err != nil {
		return errUsage{err}
	}
	if *tokenizer == "" || *model == "" || fs.NArg() == 0 {
		return errUsage{fmt.Errorf("usage: perch-calibrate --tokenizer FILE --for MODEL TEXTS…")}
	}
	if *dir == "" {
		paths, err := config.DefaultPaths()
		if err != nil {
			return err
		}
		*dir = paths.Calibration()
	}
	return fitUser(*tokenizer, *model, *dir, fs.Args(), out)
}
