package tokens

import (
	"math"
	"sort"
)

// Fitter gathers how a real tokenizer splits text and turns it into weights. It
// belongs to calibration; estimates never use it.
type Fitter struct {
	family string
	single func(string) bool
	sc     scanner // with empty tables: only its walk is used

	texts     []fitText
	byHash    map[uint32]*tally // words
	text, cjk []tally           // by cell
	other     tally
	classSum  [classes]tally
	hanOwn    tally
	hanRest   tally
	// rows are texts kept back from the tables, for the scale of each class.
	rows []fitRow
	n    int
}

// tally is a sum of tokens over a number of runes.
type tally struct{ tokens, runes float64 }

// fitText is a text and where its tokens begin.
type fitText struct {
	text   string
	starts []int32
}

type fitRow struct {
	text string
	true float64
}

// Every keepBack-th text is kept back from the tables to fit the scales on:
// tables look too good on what they were made from.
const keepBack = 7

// Shrinkage of rare contexts towards the average of rare contexts of their
// class, in runes.
const (
	shrink  = 1.5
	rareMax = 3 // a context met at most so often is rare
	minMet  = 2 // a context met less often is left unseen
)

// scaleRidge pulls a scale to 1, in texts: a class that hardly occurs stays
// there.
const scaleRidge = 3

// NewFitter returns a fitter for a family. single reports whether a text is one
// token of its vocabulary.
func NewFitter(family string, single func(string) bool) *Fitter {
	f := &Fitter{family: family, single: single, byHash: make(map[uint32]*tally), text: make([]tally, tableSize), cjk: make([]tally, tableSize)}
	f.sc.text, f.sc.cjk, f.sc.han = new([tableSize]uint8), new([tableSize]uint8), new(hanSet)
	f.sc.words = new(wordTable)
	if single != nil {
		for r := rune(hanFirst); r <= hanLast; r++ {
			if single(string(r)) {
				f.sc.han.add(r)
			}
		}
	}
	return f
}

// Add takes one text and the byte offsets at which its tokens begin. A text
// without offsets teaches nothing.
func (f *Fitter) Add(text string, starts []int) {
	if len(starts) == 0 {
		return
	}
	f.n++
	if f.n%keepBack == 0 {
		f.rows = append(f.rows, fitRow{text, float64(len(starts))})
		return
	}
	short := make([]int32, len(starts))
	for i, x := range starts {
		short[i] = int32(x)
	}
	f.texts = append(f.texts, fitText{text, short})
}

// Frequent words get an average of their own.
const (
	wordMax = 20_000 // words; more than this crowd the table
	wordMin = 6      // times a word must have been met
)

// pass walks over all texts.
func (f *Fitter) pass(words bool) {
	for _, t := range f.texts {
		var none sums
		f.sc.scan(t.text, &none, &counter{f: f, text: t.text, starts: t.starts, words: words})
	}
}

// chooseWords fills the table of frequent words.
func (f *Fitter) chooseWords() {
	type word struct {
		hash uint32
		*tally
	}
	var all []word
	for h, t := range f.byHash {
		// A word of more tokens than a cell can say is left to its letters.
		if t.runes >= wordMin && t.tokens < t.runes*(maxInCell-0.25) {
			all = append(all, word{h, t})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].runes > all[j].runes || all[i].runes == all[j].runes && all[i].hash < all[j].hash
	})
	n := 0
	for _, w := range all {
		if n == wordMax {
			break
		}
		if f.sc.words.put(w.hash, code(w.tokens/w.runes)) {
			n++
		}
	}
}

// code is an average as a cell holds it.
func code(avg float64) uint8 {
	return uint8(clamp(math.Round(math.Sqrt(avg*unit)), 0, unseen-1))
}

// counter attributes each token to the rune in which it begins.
type counter struct {
	f      *Fitter
	text   string
	starts []int32
	next   int
	words  bool // the first pass, over words only
	// held are the visits of the word at hand: they count only where the word is
	// not a frequent one.
	held []visit
}

type visit struct {
	c      class
	cell   uint32
	tokens float64
}

func (c *counter) word(cls class, hash uint32, _, _ int) {
	sum := 0.0
	for _, v := range c.held {
		sum += v.tokens
	}
	if c.words {
		t := c.f.byHash[hash]
		if t == nil {
			t = new(tally)
			c.f.byHash[hash] = t
		}
		t.tokens += sum
		t.runes++
	} else if c.f.sc.words.value(hash) == unseen {
		for _, v := range c.held {
			for _, t := range []*tally{&c.f.text[v.cell], &c.f.classSum[v.c]} {
				t.tokens += v.tokens
				t.runes++
			}
		}
	}
	c.held = c.held[:0]
}

func (c *counter) visit(cls class, cjk bool, cell uint32, from, to, n int) {
	tokens := 0.0
	for c.next < len(c.starts) && int(c.starts[c.next]) < to {
		tokens++
		c.next++
	}
	if cls <= classIndic { // a word ends these visits
		c.held = append(c.held, visit{cls, cell, tokens})
		return
	}
	if c.words {
		return
	}
	add := func(t *tally) {
		t.tokens += tokens
		t.runes += float64(n)
	}
	switch {
	case cls == classOther:
		add(&c.f.other)
		return
	case cjk:
		add(&c.f.cjk[cell])
	default:
		add(&c.f.text[cell])
	}
	add(&c.f.classSum[cls])
	if cls == classHan {
		r := []rune(c.text[from:to])[0]
		if c.f.sc.han.has(r) {
			add(&c.f.hanOwn)
		} else {
			add(&c.f.hanRest)
		}
	}
}

// Flat averages where a class never occurred in the text, in tokens a rune.
const (
	flatUnknown = 1.0
	otherByte   = 0.35 // a byte of an unknown script
	minOther    = 500  // bytes of unknown scripts below which otherByte stands
	minFlat     = 200  // runes of a class below which flatUnknown counts
)

// Weights fits what was gathered.
func (f *Fitter) Weights() *Weights {
	f.pass(true)
	f.chooseWords()
	f.pass(false)
	w := &Weights{Format: Format, Family: f.family, Scale: map[string]float64{}, Flat: map[string]float64{}}
	rareText, rareCJK := rare(f.text), rare(f.cjk)
	var flat [classes]float64
	for c := range classes {
		t := f.classSum[c]
		avg := (t.tokens + flatUnknown*minFlat/10) / (t.runes + minFlat/10)
		switch c {
		case classHan, classKana, classHangul, classCJK, classEmoji:
			flat[c] = max(avg, min(rareCJK, 2*avg))
		case classSpace, classDigit:
			flat[c] = avg
		default:
			flat[c] = max(avg, min(rareText, 2*avg))
		}
	}
	flat[classOther] = otherByte
	if f.other.runes >= minOther {
		flat[classOther] = clamp(f.other.tokens/f.other.runes, 0.15, 1)
	}
	if f.hanOwn.runes > minFlat {
		flat[classHan] = f.hanOwn.tokens / f.hanOwn.runes
	}
	w.HanSplit = 2
	if f.hanRest.runes > minFlat {
		w.HanSplit = f.hanRest.tokens / f.hanRest.runes
	}
	for c := range classes {
		w.Flat[classNames[c]] = round4(flat[c])
		w.Scale[classNames[c]] = 1
	}
	w.HanSplit = round4(w.HanSplit)
	w.Text, w.CJK, w.Han = pack(cells(f.text, rareText)), pack(cells(f.cjk, rareCJK)), pack(f.sc.han[:])
	w.Words = pack(f.sc.words[:])
	f.fitScales(w)
	return w
}

// rare is the average of contexts met a few times: those met never behave like
// them, not like the frequent ones.
func rare(cells []tally) float64 {
	var t tally
	for _, c := range cells {
		if c.runes > 0 && c.runes <= rareMax {
			t.tokens += c.tokens
			t.runes += c.runes
		}
	}
	if t.runes == 0 {
		return flatUnknown
	}
	return t.tokens / t.runes
}

// cells are the averages of contexts as a table holds them.
func cells(in []tally, rare float64) []byte {
	out := make([]byte, len(in))
	for i, c := range in {
		out[i] = unseen
		if c.runes >= minMet {
			avg := (c.tokens + rare*shrink) / (c.runes + shrink)
			out[i] = code(avg)
		}
	}
	return out
}

// fitScales finds the scale of each class that makes the relative errors of the
// texts kept back smallest, by coordinate descent. Scales stay within their
// limits, so none is negative.
func (f *Fitter) fitScales(w *Weights) {
	e, err := build(w, nil)
	if err != nil || len(f.rows) == 0 {
		return
	}
	rows := make([][classes]float64, 0, len(f.rows))
	for _, r := range f.rows {
		if r.true == 0 {
			continue
		}
		var s sums
		e.sc.scan(r.text, &s, nil)
		var x [classes]float64
		for c := range classes {
			x[c] = float64(s[c]) / unit / r.true
		}
		rows = append(rows, x)
	}
	var scale [classes]float64
	for c := range scale {
		scale[c] = 1
	}
	const rounds = 60 // more change nothing in the third digit
	for range rounds {
		for c := range classes {
			num, den := float64(scaleRidge), float64(scaleRidge)
			for _, x := range rows {
				if x[c] == 0 {
					continue
				}
				rest := 1.0
				for k := range classes {
					if k != c {
						rest -= scale[k] * x[k]
					}
				}
				num += x[c] * rest
				den += x[c] * x[c]
			}
			scale[c] = clamp(num/den, minScale, maxScale)
		}
	}
	for c := range classes {
		w.Scale[classNames[c]] = round4(scale[c])
	}
}

func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }

func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// Measure turns pairs of estimated and true counts into relative errors.
func Measure(estimated, truth []int) Errors {
	var errs []float64
	out := Errors{}
	for i, t := range truth {
		if t == 0 {
			continue
		}
		d := float64(estimated[i]-t) / float64(t) * 100
		out.Under = max(out.Under, -d)
		errs = append(errs, math.Abs(d))
	}
	if len(errs) == 0 {
		return out
	}
	sort.Float64s(errs)
	at := func(q float64) float64 { return math.Round(errs[int(q*float64(len(errs)-1)+.5)]*10) / 10 }
	out.Messages, out.Median, out.P95 = len(errs), at(.5), at(.95)
	out.Under = math.Round(out.Under*10) / 10
	return out
}

// Estimate is the estimator for fitted weights, before they are saved.
func (w *Weights) Estimate() (*Estimator, error) {
	e, err := build(w, []byte(w.Text+w.CJK))
	if err == nil {
		e.shape = shapeOf("", w.Family)
	}
	return e, err
}
