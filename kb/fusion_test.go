package kb

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"perch/config"
	"perch/kb/backend"
	"perch/kb/backend/memory"
	"perch/kb/fuse"
	"perch/kb/kbtest"
	"perch/kb/segment"
)

// realVectors are texts with the vectors that a real model gave them.
type realVectors struct {
	texts   []string
	titles  []string
	vectors [][]float32
}

// loadReal reads npm @sap-ux/fiori-docs-embeddings below $PERCH_NPM.
func loadReal(t testing.TB) realVectors {
	npm := os.Getenv("PERCH_NPM")
	dir := filepath.Join(npm, "node_modules", "@sap-ux", "fiori-docs-embeddings", "data", "embeddings")
	bin, err := os.ReadFile(filepath.Join(dir, "embeddings.bin"))
	if npm == "" || err != nil {
		t.Skip("npm @sap-ux/fiori-docs-embeddings is not installed; set PERCH_NPM to the folder with its node_modules")
	}
	lines, err := os.ReadFile(filepath.Join(dir, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const dim = 384
	var r realVectors
	sc := bufio.NewScanner(bytes.NewReader(lines))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var rec struct {
			Content string `json:"content"`
			Title   string `json:"title"`
		}
		if err := json.Unmarshal(sc.Bytes(), &rec); err != nil {
			t.Fatal(err)
		}
		i := len(r.texts)
		v := make([]float32, dim)
		for k := range v {
			v[k] = math.Float32frombits(binary.LittleEndian.Uint32(bin[(i*dim+k)*4:]))
		}
		r.texts, r.titles, r.vectors = append(r.texts, rec.Content), append(r.titles, rec.Title), append(r.vectors, v)
	}
	if len(r.texts) < 700 {
		t.Fatalf("only %d records", len(r.texts))
	}
	return r
}

// queryModel gives each query a vector in the real model's space. There is no
// model here to ask, so a query lies between its text and others: a paraphrase
// near to it, a bare name, which says little to such a model, far.
type queryModel struct{ vectors map[string][]float32 }

func (m *queryModel) Model() string { return "real/minilm" }

func (m *queryModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = m.vectors[t]
	}
	return out, nil
}

// between mixes the vector of a text with those of others.
func (r *realVectors) between(rng *rand.Rand, text int, share float32) []float32 {
	v := make([]float32, len(r.vectors[text]))
	others := [2]int{rng.IntN(len(r.vectors)), rng.IntN(len(r.vectors))}
	for k := range v {
		v[k] = share*r.vectors[text][k] + (1-share)*(r.vectors[others[0]][k]+r.vectors[others[1]][k])/2
	}
	return v
}

func plainWords(s string) []string {
	return slices.DeleteFunc(strings.Fields(segment.FoldWords(s)), func(w string) bool { return len(w) < 4 })
}

// realBase is a base over the real texts and vectors.
func realBase(t *testing.T, r realVectors, m *queryModel, c func() config.KB) *Base {
	be := memory.New()
	an := segment.NewAnalyzer()
	var batch backend.Batch
	var vs []backend.Vector
	for i, text := range r.texts {
		p := backend.Part{Text: text, StartLine: 1, EndLine: 1 + strings.Count(text, "\n"), Terms: an.Terms(nil, text, "en")}
		batch.Put = append(batch.Put, backend.Entry{
			Document: backend.Document{Path: docName(i), Title: docName(i), Lang: "en"}, Parts: []backend.Part{p},
		})
		vs = append(vs, backend.Vector{Hash: backend.HashText(p.EmbedText()), Values: r.vectors[i]})
	}
	if err := be.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := be.PutVectors(t.Context(), backend.SetName(m.Model(), 384), vs); err != nil {
		t.Fatal(err)
	}
	return open(t, Options{Backend: be, Embedder: m, Config: c})
}

func docName(i int) string {
	return string(rune('a'+i/676%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
}

// realQueries makes half paraphrases and half exact names. A paraphrase asks
// with some words of its text and as many of the texts nearest to it.
func realQueries(r realVectors) ([]kbtest.Query, *queryModel) {
	rng := rand.New(rand.NewPCG(7, 7))
	m := &queryModel{map[string][]float32{}}
	var qs []kbtest.Query
	for i := 0; i < len(r.texts); i += 7 {
		text, share := "", float32(0.5)
		if len(qs)%2 == 0 {
			text = paraphrase(r, i)
		} else {
			share = 0.3
			for _, n := range segment.Names(r.texts[i]) {
				if len(n) < 40 && onlyIn(r.texts, n) {
					text = n
					break
				}
			}
		}
		if text == "" || m.vectors[text] != nil {
			continue
		}
		m.vectors[text] = r.between(rng, i, share)
		qs = append(qs, kbtest.Query{Text: text, Gain: map[string]float64{docName(i): 1}})
	}
	return qs, m
}

func paraphrase(r realVectors, text int) string {
	order := make([]int, len(r.texts))
	near := make([]float64, len(r.texts))
	for i := range order {
		order[i], near[i] = i, cosine(r.vectors[i], r.vectors[text])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(near[b], near[a]) })
	var out []string
	own := plainWords(r.texts[text])
	for _, i := range order[1:] { // one word of each neighbour, so that none is asked for instead
		for _, w := range plainWords(r.texts[i]) {
			if !slices.Contains(own, w) && !slices.Contains(out, w) {
				out = append(out, w)
				break
			}
		}
		if len(out) == 4 {
			break
		}
	}
	// Own words from the middle of the text, where titles and tags are behind.
	for _, w := range own[len(own)/2:] {
		if len(w) > 5 && !slices.Contains(out, w) && len(out) < 8 {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb+1e-20)
}

// onlyIn reports whether one text alone holds the string.
func onlyIn(texts []string, s string) bool {
	n := 0
	for _, t := range texts {
		if strings.Contains(t, s) {
			n++
		}
	}
	return n == 1
}

func TestHybridBeatsBothPassesOnRealVectors(t *testing.T) {
	r := loadReal(t)
	qs, m := realQueries(r)
	c := kbtest.Collection{Queries: qs}
	if len(c.Queries) < 40 {
		t.Fatalf("only %d queries", len(c.Queries))
	}
	var half [2]kbtest.Collection
	for i, q := range c.Queries {
		half[i%2].Queries = append(half[i%2].Queries, q)
	}
	measure := func(vector, keyword float64) float64 {
		b := realBase(t, r, m, settings(func(c *config.KB) { c.VectorWeight, c.KeywordWeight, c.Threshold = vector, keyword, 0 }))
		search := func(q string, k int) []string { return found(t, b, q) }
		t.Logf("weights %.1f and %.1f: paraphrases %.3f, names %.3f", vector, keyword, kbtest.Measure(&half[0], search).NDCG, kbtest.Measure(&half[1], search).NDCG)
		return kbtest.Measure(&c, search).NDCG
	}
	hybrid, vector, keyword := measure(.7, .3), measure(1, 0), measure(0, 1)
	t.Logf("%d queries, nDCG@10: hybrid %.3f, vectors %.3f, keywords %.3f", len(c.Queries), hybrid, vector, keyword)
	if hybrid <= vector || hybrid <= keyword {
		t.Errorf("hybrid %.3f does not beat vectors %.3f and keywords %.3f", hybrid, vector, keyword)
	}
}

func TestWeightsOfZeroAndOneAreTheSinglePasses(t *testing.T) {
	r := loadReal(t)
	qs, m := realQueries(r)
	for _, w := range []struct{ vector, keyword float64 }{{0, 1}, {1, 0}} {
		b := realBase(t, r, m, settings(func(c *config.KB) { c.VectorWeight, c.KeywordWeight, c.Threshold = w.vector, w.keyword, 0 }))
		for _, q := range qs {
			read := &reading{b: b, have: map[uint32]backend.Chunk{}}
			want, _, err := b.keywordPass(t.Context(), read, q.Text)
			if w.vector == 1 {
				want, _, err = b.vectorPass(t.Context(), q.Text)
			}
			if err != nil {
				t.Fatal(err)
			}
			ps, err := b.passes(t.Context(), read, q.Text, w.keyword, w.vector)
			if err != nil {
				t.Fatal(err)
			}
			var got []uint32
			for _, c := range fuse.Fuse(ps...) {
				got = append(got, c.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q with weights %v: %v, the pass alone %v", q.Text, w, got, want)
			}
		}
	}
}
