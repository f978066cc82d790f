package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"perch/harness/tokens"
	"perch/harness/tokens/reference"
)

// goldenDir holds texts of our own, and goldenFile their true counts; both are
// committed, so that the tests need no tokenizer.
const (
	goldenDir  = "harness/tokens/testdata/golden"
	goldenFile = "harness/tokens/testdata/golden.json"
)

// golden counts the committed texts with every real tokenizer.
func golden(o shipOptions, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.txt"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no texts in %s: run this from the repository's root", goldenDir)
	}
	counts := map[string]map[string]int{}
	for family := range packages {
		ref, err := reference.Load(o.tokenizer(family))
		if err != nil {
			return err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			n, err := ref.Count(string(data))
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(filepath.Base(f), ".txt")
			if counts[name] == nil {
				counts[name] = map[string]int{}
			}
			counts[name][family] = n
			est := tokens.ForFamily(family).Text(string(data))
			fmt.Fprintf(out, "%-9s %-11s %5d true %5d estimated %+.1f %%\n", family, name, n, est, float64(est-n)/float64(n)*100)
		}
	}
	data, err := json.MarshalIndent(counts, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(goldenFile, append(data, '\n'), 0o644)
}
