// Package reference runs real tokenizers, to fit and to check the estimate
// against. It is part of perch-calibrate only: the run-time path never needs a
// vocabulary.
//
// It reads Hugging Face tokenizer.json files of byte-pair models and runs them
// through github.com/sugarme/tokenizer with a pre-tokenizer and a model of its
// own, since that library cannot read look-ahead in split patterns, breaks ties
// between merges wrongly, and knows neither byte fallback nor ignore_merges.
// Normalisation (NFC, NFKC) happens before, outside of it.
package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/sugarme/tokenizer"
	"golang.org/x/text/unicode/norm"
)

// Tokenizer is one real tokenizer. It is not safe for concurrent use.
type Tokenizer struct {
	shell *tokenizer.Tokenizer
	split splitFunc
	model *bpe
	form  func(string) string // nil leaves text as it is
}

// file is the part of a tokenizer.json that byte-pair models use.
type file struct {
	Normalizer   *component `json:"normalizer"`
	PreTokenizer *component `json:"pre_tokenizer"`
	Model        struct {
		Type         string           `json:"type"`
		Vocab        map[string]int32 `json:"vocab"`
		Merges       []merge          `json:"merges"`
		ByteFallback bool             `json:"byte_fallback"`
		IgnoreMerges bool             `json:"ignore_merges"`
		UnkToken     *string          `json:"unk_token"`
	} `json:"model"`
}

// component is a normalizer or a pre-tokenizer.
type component struct {
	Type          string      `json:"type"`
	Normalizers   []component `json:"normalizers"`
	PreTokenizers []component `json:"pretokenizers"`
	Pattern       struct {
		Regex  string `json:"Regex"`
		String string `json:"String"`
	} `json:"pattern"`
	Content  string `json:"content"`
	Behavior string `json:"behavior"`
	Invert   bool   `json:"invert"`
	UseRegex *bool  `json:"use_regex"`
}

// merge is a pair of symbols; older files write it as one string.
type merge [2]string

// UnmarshalJSON reads ["a","b"] or "a b".
func (m *merge) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[2]string)(m))
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	for i := 1; i < len(s); i++ {
		if s[i] == ' ' {
			*m = merge{s[:i], s[i+1:]}
			return nil
		}
	}
	return fmt.Errorf("merge %q is no pair", s)
}

// Load reads a tokenizer.json.
func Load(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read tokenizer %s: %w", path, err)
	}
	if f.Model.Type != "" && f.Model.Type != "BPE" {
		return nil, fmt.Errorf("tokenizer %s is a %s model; only byte-pair models (BPE) can be used for calibration", path, f.Model.Type)
	}
	t := &Tokenizer{}
	space := " "
	if t.form, space, err = normaliser(f.Normalizer); err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	split, bytesMapped, err := splitter(f.PreTokenizer, space)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	if t.model, err = newBPE(&f, bytesMapped, space); err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	t.split = split
	t.shell = tokenizer.NewTokenizer(t.model)
	t.shell.WithPreTokenizer(preTokenizer{split})
	return t, nil
}

// normaliser returns what is done to a text before it is split, and what stands
// for a space afterwards.
func normaliser(c *component) (form func(string) string, space string, err error) {
	space = " "
	if c == nil {
		return nil, space, nil
	}
	switch c.Type {
	case "NFC":
		return norm.NFC.String, space, nil
	case "NFKC":
		return norm.NFKC.String, space, nil
	case "Replace":
		if c.Pattern.String == " " {
			return nil, c.Content, nil
		}
	case "Sequence":
		var all []func(string) string
		for i := range c.Normalizers {
			f, s, err := normaliser(&c.Normalizers[i])
			if err != nil {
				return nil, space, err
			}
			if s != " " {
				space = s
			}
			if f != nil {
				all = append(all, f)
			}
		}
		if len(all) == 0 {
			return nil, space, nil
		}
		return func(s string) string {
			for _, f := range all {
				s = f(s)
			}
			return s
		}, space, nil
	}
	return nil, space, fmt.Errorf("its normalizer %q is not supported", c.Type)
}

// Normal returns a text as the tokenizer sees it; offsets are into this.
func (t *Tokenizer) Normal(s string) string {
	if t.form == nil {
		return s
	}
	return t.form(s)
}

// Encode returns the ids of a text and at which byte of [Tokenizer.Normal] each
// token begins; no offsets where they cannot be known. Special tokens in the text
// are taken as plain text.
func (t *Tokenizer) Encode(s string) (ids []int, starts []int, err error) {
	s = t.Normal(s)
	if s == "" {
		return nil, nil, nil
	}
	at := 0
	for _, piece := range t.split(strings.ToValidUTF8(s, "\ufffd")) {
		part, err := t.model.encode(piece)
		if err != nil {
			return nil, nil, fmt.Errorf("tokenize: %w", err)
		}
		for _, id := range part {
			ids, starts = append(ids, int(id)), append(starts, at)
			at += t.model.length(int(id))
		}
	}
	if at != len(s) {
		starts = nil // the text holds the sign that stands for a space, or the unknown token
	}
	return ids, starts, nil
}

// Library returns the ids of a text by way of the library: the same splits and
// the same model, driven by it. It is some four times slower than Encode, since
// the library keeps an alignment for every byte; that both give the same is
// checked while fitting.
func (t *Tokenizer) Library(s string) ([]int, error) {
	s = t.Normal(s)
	if s == "" {
		return nil, nil
	}
	enc, err := t.shell.EncodeSingle(s)
	if err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	return enc.Ids, nil
}

// Count is the number of tokens of a text.
func (t *Tokenizer) Count(s string) (int, error) {
	ids, _, err := t.Encode(s)
	return len(ids), err
}

// Single reports whether a text is one token of the vocabulary.
func (t *Tokenizer) Single(s string) bool {
	ids, err := t.model.encode(t.Normal(s))
	return err == nil && len(ids) == 1
}
