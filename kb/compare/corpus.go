package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"perch/kb/kbtest"
)

// corpus makes texts of about 1 kB a passage whose words follow Zipf's law over
// a real vocabulary.
type corpus struct {
	words []string
	rng   *rand.Rand
	zipf  *rand.Zipf
}

// wordsInPassage makes about a kilobyte.
const wordsInPassage = 82

func newCorpus(seed uint64) *corpus {
	c := &corpus{rng: rand.New(rand.NewPCG(seed, 1))}
	seen := map[string]bool{}
	add := func(w string) {
		if len(w) > 2 && len(w) < 30 && !seen[w] {
			seen[w] = true
			c.words = append(c.words, w)
		}
	}
	if shared := kbtest.Shared(); shared != "" {
		if cs, err := kbtest.Load(shared); err == nil {
			for _, d := range cs[0].Docs {
				for w := range strings.FieldsSeq(d.Text) {
					add(strings.Trim(w, ".,()"))
				}
			}
			for _, d := range cs[1].Docs {
				for w := range strings.FieldsSeq(d.Text) {
					add(strings.Trim(w, ".,()[]{}:\"'"))
				}
			}
		}
	}
	for i := 0; len(c.words) < 60_000; i++ {
		add(fmt.Sprintf("w%s%d", syllables[i%len(syllables)], i))
	}
	c.rng.Shuffle(len(c.words), func(i, j int) { c.words[i], c.words[j] = c.words[j], c.words[i] })
	c.zipf = rand.NewZipf(c.rng, 1.07, 4, uint64(len(c.words)-1))
	return c
}

var syllables = strings.Fields("ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za")

func (c *corpus) word() string { return c.words[c.zipf.Uint64()] }

func (c *corpus) passage() string {
	var b strings.Builder
	for i := range wordsInPassage {
		b.WriteString(c.word())
		switch {
		case i%15 == 14:
			b.WriteString(".\n")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// query has two to five words, none of the hundred most frequent.
func (c *corpus) query() string {
	var out []string
	for n := 2 + c.rng.IntN(4); len(out) < n; {
		if k := c.zipf.Uint64(); k > 100 {
			out = append(out, c.words[k])
		}
	}
	return strings.Join(out, " ")
}

// passagesInFile is how many passages a file of the corpus holds.
const passagesInFile = 10

// write puts n passages into files below dir and returns their texts.
func (c *corpus) write(dir string, n int) ([]string, error) {
	var texts []string
	for f := 0; f*passagesInFile < n; f++ {
		var file []string
		for range passagesInFile {
			file = append(file, c.passage())
		}
		texts = append(texts, file...)
		p := filepath.Join(dir, fmt.Sprintf("%03d", f/100), fmt.Sprintf("%06d.txt", f))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(p, []byte(strings.Join(file, "\n")), 0o644); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

const dims = 384

// fake gives texts vectors at once; the same text has the same vector.
type fake struct{ seed maphash.Seed }

func (f fake) Model() string { return "fake/model" }

func (f fake) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = f.vector(t)
	}
	return out, nil
}

func (f fake) vector(t string) []float32 {
	r := rand.New(rand.NewPCG(maphash.String(f.seed, t), 2))
	v := make([]float32, dims)
	for k := range v {
		v[k] = float32(r.NormFloat64()) + 0.5 // a common part, so that cosines pass the floor
	}
	return v
}
