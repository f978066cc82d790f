package main

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"unicode/utf8"

	"perch/harness/tokens"
	"perch/harness/tokens/reference"
)

// enough is how much text a fit needs, in bytes; below it the shipped weights of
// the family are the better estimate.
const enough = 50_000

// fitUser fits weights for one model on the user's texts. A fifth of the texts is
// held out to say what error is to be expected.
func fitUser(tokenizer, model, dir string, texts []string, out io.Writer) error {
	ref, err := reference.Load(tokenizer)
	if err != nil {
		return err
	}
	docs, size, err := userTexts(texts)
	if err != nil {
		return err
	}
	if size < enough {
		return fmt.Errorf("the texts hold %d bytes; at least %d are needed for a fit that is better than the shipped weights: name more files or folders", size, enough)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var fit, held []message
	for _, d := range docs {
		for _, m := range cutAny(d, r) {
			if r.IntN(5) == 0 {
				held = append(held, m)
			} else {
				fit = append(fit, m)
			}
		}
	}
	w, err := fitOn(tokens.FamilyOf(model), ref, fit)
	if err != nil {
		return err
	}
	w.Models = []string{model}
	e, err := w.Estimate()
	if err != nil {
		return err
	}
	errs, err := measure(e.Text, ref, held)
	if err != nil {
		return err
	}
	w.Report = map[string]tokens.Errors{"held out": errs}
	path, err := tokens.Save(dir, model, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Fitted on %d texts, measured on %d: median error %.1f %%, 95th percentile %.1f %%.\nWritten to %s; Perch uses it for %s from its next start on.\n",
		len(fit), errs.Messages, errs.Median, errs.P95, path, model)
	return nil
}

// cutAny is cut for texts that may be shorter than a message.
func cutAny(d document, r *rand.Rand) []message {
	if utf8.RuneCountInString(d.text) <= minMessage {
		return []message{{d.kind, d.text}}
	}
	return cut(d, r)
}

// userTexts reads files and, in folders, every file that is text.
func userTexts(paths []string) (docs []document, size int, err error) {
	for _, p := range paths {
		err := filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !d.Type().IsRegular() {
				return nil
			}
			text := readText(path)
			if text == "" && path == p { // named by the user: take it as it is
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				if !utf8.Valid(data) {
					return fmt.Errorf("%s is not UTF-8 text", path)
				}
				text = string(data)
			}
			if text != "" {
				docs = append(docs, document{"user", "user", text})
				size += len(text)
			}
			return nil
		})
		if err != nil {
			return nil, 0, fmt.Errorf("read texts: %w", err)
		}
	}
	return docs, size, nil
}
