package tokens

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Format is the version of the weight files.
const Format = 1

// Weights are the figures of one family, as a file holds them.
type Weights struct {
	Format int    `json:"format"`
	Family string `json:"family"`
	// Models are the model ids that the user fitted these for; empty in the
	// shipped files.
	Models []string `json:"models,omitempty"`
	// Scale corrects the sum of each class, fitted without negative values.
	Scale map[string]float64 `json:"scale"`
	// Flat is the average number of tokens a rune by class where calibration
	// never met the context; of "other" it is by byte.
	Flat map[string]float64 `json:"flat"`
	// HanSplit is Flat for Han characters that are no token of their own.
	HanSplit float64 `json:"han_split"`
	// Han is the bit set of Han characters that are tokens of their own, Text
	// and CJK the context tables: gzip in base64.
	Han  string `json:"han,omitempty"`
	Text string `json:"text,omitempty"`
	CJK  string `json:"cjk,omitempty"`
	// Words is the table of frequent words.
	Words string `json:"words,omitempty"`
	// Report holds the errors on held-out text, for people.
	Report map[string]Errors `json:"report,omitempty"`
}

// Errors are relative errors in percent.
type Errors struct {
	Messages int     `json:"messages"`
	Median   float64 `json:"median"`
	P95      float64 `json:"p95"`
	// Under is the largest error below the true count.
	Under float64 `json:"under"`
}

// Limits of a class's scale: a fit on little text of a class must not run away.
const (
	minScale = 0.5
	maxScale = 2.0
)

// Estimator counts tokens for one family. It is immutable and may be used from
// many goroutines.
type Estimator struct {
	name   string
	family string
	sc     scanner
	// scale turns the sums of the scan into tokens.
	scale [classes]float64
	shape shape
}

// parse reads a weight file.
func parse(data []byte) (*Estimator, error) {
	var w Weights
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	return build(&w, data)
}

func build(w *Weights, data []byte) (*Estimator, error) {
	if w.Format != Format {
		return nil, fmt.Errorf("format %d, this version reads %d; run perch calibrate again", w.Format, Format)
	}
	e := &Estimator{family: w.Family}
	for c := range classes {
		s, ok := w.Scale[classNames[c]]
		if !ok {
			s = 1
		}
		if math.IsNaN(s) {
			return nil, fmt.Errorf("scale of %s is no number", classNames[c])
		}
		e.scale[c] = min(max(s, minScale), maxScale) / unit
		f := w.Flat[classNames[c]]
		if math.IsNaN(f) || f < 0 || f > 4 {
			return nil, fmt.Errorf("average of %s is %v, must be 0…4", classNames[c], f)
		}
		e.sc.flat[c] = uint64(math.Round(f * unit))
	}
	if math.IsNaN(w.HanSplit) || w.HanSplit < 0 || w.HanSplit > 4 {
		return nil, fmt.Errorf("han_split is %v, must be 0…4", w.HanSplit)
	}
	e.sc.hanSplit = uint64(math.Round(w.HanSplit * unit))
	e.sc.text, e.sc.cjk, e.sc.han = new([tableSize]uint8), new([tableSize]uint8), new(hanSet)
	e.sc.words = new(wordTable)
	for _, t := range []struct {
		packed string
		into   []byte
		empty  byte
	}{{w.Text, e.sc.text[:], unseen}, {w.CJK, e.sc.cjk[:], unseen}, {w.Han, e.sc.han[:], 0}, {w.Words, e.sc.words[:], 0}} {
		if err := unpack(t.packed, t.into, t.empty); err != nil {
			return nil, err
		}
	}
	sum := fnv.New32a()
	sum.Write(data)
	e.name = fmt.Sprintf("%s-%08x", w.Family, sum.Sum32())
	return e, nil
}

// unpack reads gzip in base64; an empty string fills with empty.
func unpack(s string, into []byte, empty byte) error {
	if s == "" {
		for i := range into {
			into[i] = empty
		}
		return nil
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(s)))
	if err != nil {
		return fmt.Errorf("unpack table: %w", err)
	}
	if _, err := io.ReadFull(z, into); err != nil {
		return fmt.Errorf("unpack table: %w", err)
	}
	return nil
}

func pack(b []byte) string {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	_, _ = z.Write(b) // a bytes.Buffer takes everything
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

// userFile is the file of a model's own weights in the user's folder.
func userFile(dir, model string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, model)
	return filepath.Join(dir, strings.TrimLeft(safe, ".")+".json")
}

// Save writes weights for a model into the user's folder, from where they win
// over the shipped ones. The file is replaced whole or not at all.
func Save(dir, model string, w *Weights) (string, error) {
	data, err := json.MarshalIndent(w, "", " ")
	if err != nil {
		return "", err
	}
	if _, err := build(w, data); err != nil {
		return "", fmt.Errorf("weights for %s: %w", model, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make folder for weights: %w", err)
	}
	path := userFile(dir, model)
	tmp, err := os.CreateTemp(dir, ".weights-*")
	if err != nil {
		return "", fmt.Errorf("write weights: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("write weights to %s: %w", path, err)
	}
	return path, nil
}
