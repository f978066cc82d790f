package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"

	"perch/harness/tokens"
	"perch/harness/tokens/reference"
)

// measure compares a rule with a real tokenizer, message by message.
func measure(count func(string) int, ref *reference.Tokenizer, held []message) (tokens.Errors, error) {
	est, truth, err := counts(count, ref, held)
	return tokens.Measure(est, truth), err
}

func counts(count func(string) int, ref *reference.Tokenizer, held []message) (est, truth []int, err error) {
	for _, m := range held {
		n, err := ref.Count(m.text)
		if err != nil {
			return nil, nil, err
		}
		est, truth = append(est, count(m.text)), append(truth, n)
	}
	return est, truth, nil
}

// groups are the rows of the report: which kinds belong to each.
var groups = []struct {
	name string
	has  func(kind string) bool
}{
	{"all", func(string) bool { return true }},
	{"English and mixed", func(k string) bool { return k == "en" || k == "mixed" }},
	{"Chinese, Japanese, Korean", func(k string) bool { return k == "zh" || k == "zh-tw" || k == "ja" || k == "ko" }},
	{"code, data", func(k string) bool { return k == "code" || k == "json" || k == "terminal" }},
}

func of(held []message, has func(string) bool) []message {
	var out []message
	for _, m := range held {
		if has(m.kind) {
			out = append(out, m)
		}
	}
	return out
}

// historyLength is how many messages the histories of the report have.
const historyLength = 10

// historyErrors joins messages to histories and measures those. Under is taken
// with the safety factor of the trigger.
func historyErrors(est, truth []int) tokens.Errors {
	const histories, safety = 200, 1.05
	r := rand.New(rand.NewPCG(5, 6))
	e, t := make([]int, histories), make([]int, histories)
	s := make([]int, histories)
	for i := range histories {
		for range historyLength {
			k := r.IntN(len(est))
			e[i] += est[k]
			t[i] += truth[k]
		}
		s[i] = int(float64(e[i]) * safety)
	}
	out := tokens.Measure(e, t)
	out.Under = tokens.Measure(s, t).Under
	return out
}

func report(w *tokens.Weights, ref *reference.Tokenizer, held []message) (map[string]tokens.Errors, error) {
	e, err := w.Estimate()
	if err != nil {
		return nil, err
	}
	out := map[string]tokens.Errors{}
	for _, g := range groups {
		if out[g.name], err = measure(e.Text, ref, of(held, g.has)); err != nil {
			return nil, err
		}
	}
	kinds := map[string]bool{}
	for _, m := range held {
		kinds[m.kind] = true
	}
	for k := range kinds {
		if out["kind "+k], err = measure(e.Text, ref, of(held, func(x string) bool { return x == k })); err != nil {
			return nil, err
		}
	}
	est, truth, err := counts(e.Text, ref, held)
	if err != nil {
		return nil, err
	}
	out["histories of ten, under at the safety factor"] = historyErrors(est, truth)
	return out, nil
}

// rules are the simple estimates that the table compares with.
var rules = []struct {
	name  string
	count func(string) int
}{
	{"bytes / 4", func(s string) int { return (len(s) + 3) / 4 }},
	{"CJK = 1, else / 4", func(s string) int { return cjkRule(s, 1) }},
	{"CJK = 1.5, else / 4", func(s string) int { return cjkRule(s, 1.5) }},
}

func cjkRule(s string, weight float64) int {
	n := 0
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return int(float64(n)*weight + float64(utf8.RuneCountInString(s)-n)/4 + .5)
}

// table prints the errors of the shipped weights beside simple rules, on text
// that no figure was fitted on.
func table(o shipOptions, out io.Writer) error {
	docs, err := readCorpus(o.texts)
	if err != nil {
		return err
	}
	_, held := split(docs)
	fmt.Fprintf(out, "Error of single messages of %d to %d characters, held out, median / 95th percentile in %%.\n\n", minMessage, maxMessage)
	head := []string{"family", "texts"}
	for _, r := range rules {
		head = append(head, r.name)
	}
	head = append(head, "Perch", "Perch, histories of ten", "most under at × 1.05")
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, family := range tokens.Families {
		if packages[family] == "" {
			continue
		}
		ref, err := reference.Load(o.tokenizer(family))
		if err != nil {
			return err
		}
		for _, g := range groups {
			part := of(held, g.has)
			row := []string{family, g.name}
			for _, r := range rules {
				e, err := measure(r.count, ref, part)
				if err != nil {
					return err
				}
				row = append(row, fmt.Sprintf("%.1f / %.0f", e.Median, e.P95))
			}
			est, truth, err := counts(tokens.ForFamily(family).Text, ref, part)
			if err != nil {
				return err
			}
			e, h := tokens.Measure(est, truth), historyErrors(est, truth)
			row = append(row, fmt.Sprintf("%.1f / %.1f", e.Median, e.P95), fmt.Sprintf("%.1f / %.1f", h.Median, h.P95), fmt.Sprintf("%.1f", h.Under))
			fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return nil
}
