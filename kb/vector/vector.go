// Package vector searches unit vectors exactly, by cosine.
//
// Vectors are kept as sixteen-bit integers with a scale each. A search runs over
// their upper eight bits, which are a quarter of the memory of floats, and
// computes the best of them again from all sixteen. Measured on 100,000 vectors
// of 384 dimensions this finds the same first ten as floats do, several times
// faster; an approximate graph index found a quarter of them.
package vector

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
)

// ErrZero is a vector without a direction.
var ErrZero = errors.New("the vector has no direction: all its values are zero or not numbers")

// A Row is a vector of length one, in sixteen bits.
type Row struct {
	Scale  float32
	Values []int16
}

// Quantize brings a vector to length one and to sixteen bits.
func Quantize(v []float32) (Row, error) {
	sum, largest := 0.0, 0.0
	for _, x := range v {
		f := float64(x)
		sum += f * f
		largest = max(largest, math.Abs(f))
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) || largest == 0 {
		return Row{}, ErrZero
	}
	norm := math.Sqrt(sum)
	r := Row{Scale: float32(largest / norm / math.MaxInt16), Values: make([]int16, len(v))}
	for i, x := range v {
		r.Values[i] = int16(math.Round(float64(x) / largest * math.MaxInt16))
	}
	return r, nil
}

// Unit returns v with length one.
func Unit(v []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, ErrZero
	}
	n := float32(1 / math.Sqrt(sum))
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = x * n
	}
	return out, nil
}

// Dot is the cosine of the row and a query of length one.
func (r Row) Dot(q []float32) float64 {
	var s0, s1, s2, s3 float32
	v := r.Values
	n := min(len(v), len(q))
	i := 0
	for ; i+4 <= n; i += 4 {
		s0 += float32(v[i]) * q[i]
		s1 += float32(v[i+1]) * q[i+1]
		s2 += float32(v[i+2]) * q[i+2]
		s3 += float32(v[i+3]) * q[i+3]
	}
	for ; i < n; i++ {
		s0 += float32(v[i]) * q[i]
	}
	return float64((s0+s1)+(s2+s3)) * float64(r.Scale)
}

// RowBytes is the encoded size of a row.
func RowBytes(dim int) int { return 4 + 2*dim }

// Append encodes the row.
func (r Row) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(r.Scale))
	for _, v := range r.Values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// Decode reads a row of that dimension.
func Decode(b []byte, dim int) (Row, bool) {
	if len(b) < RowBytes(dim) {
		return Row{}, false
	}
	r := Row{Scale: math.Float32frombits(binary.LittleEndian.Uint32(b)), Values: make([]int16, dim)}
	for i := range r.Values {
		r.Values[i] = int16(binary.LittleEndian.Uint16(b[4+2*i:]))
	}
	return r, true
}

// A Matrix holds the upper eight bits of many rows. It is safe for one writer
// or many readers.
type Matrix struct {
	dim    int
	width  int // dim rounded up to a multiple of lane
	data   []int8
	scales []float32 // 0 marks a slot without a row
}

// lane is the number of values the fast loops take at a time.
const lane = 32

// NewMatrix returns an empty matrix.
func NewMatrix(dim int) *Matrix {
	return &Matrix{dim: dim, width: (dim + lane - 1) / lane * lane}
}

// Slots is the number of slots, empty ones included.
func (m *Matrix) Slots() int { return len(m.scales) }

// Bytes is what the matrix holds in memory.
func (m *Matrix) Bytes() int { return cap(m.data) + 4*cap(m.scales) }

// Grow makes room for that many slots at once.
func (m *Matrix) Grow(slots int) {
	m.data = slices.Grow(m.data, max(0, slots*m.width-len(m.data)))
	m.scales = slices.Grow(m.scales, max(0, slots-len(m.scales)))
}

// Set puts a row into a slot, adding empty slots before it as needed.
func (m *Matrix) Set(slot int, r Row) {
	m.open(slot)
	m.scales[slot] = r.Scale * 256
	row := m.data[slot*m.width : (slot+1)*m.width]
	for i, v := range r.Values {
		row[i] = upper(v)
	}
}

// SetEncoded is Set from the encoded form, without allocation.
func (m *Matrix) SetEncoded(slot int, b []byte) bool {
	if len(b) < RowBytes(m.dim) {
		return false
	}
	m.open(slot)
	m.scales[slot] = math.Float32frombits(binary.LittleEndian.Uint32(b)) * 256
	row := m.data[slot*m.width : (slot+1)*m.width]
	for i := range m.dim {
		row[i] = upper(int16(binary.LittleEndian.Uint16(b[4+2*i:])))
	}
	return true
}

func (m *Matrix) open(slot int) {
	for len(m.scales) <= slot {
		m.scales = append(m.scales, 0)
	}
	if need := (slot + 1) * m.width; len(m.data) < need {
		m.data = append(m.data, make([]int8, need-len(m.data))...)
	}
}

// Clear empties a slot.
func (m *Matrix) Clear(slot int) {
	if slot < len(m.scales) {
		m.scales[slot] = 0
	}
}

func upper(v int16) int8 { return int8(min((int(v)+128)>>8, 127)) }

// Candidate is a slot with its approximate cosine.
type Candidate struct {
	Slot  int
	Score float32
}

// rowsPerWorker is how many rows make a second goroutine worth its start.
const rowsPerWorker = 64 << 10

// maxWorkers bounds the cores that one search takes.
const maxWorkers = 4

// Top returns about the best k slots by approximate cosine to a query of length
// one, in no order. workers bounds the goroutines; 0 takes the usual number.
func (m *Matrix) Top(query []float32, k, workers int) []Candidate {
	q, err := Quantize(query)
	if err != nil || len(query) != m.dim || k <= 0 {
		return nil
	}
	q8 := make([]int8, m.width)
	for i, v := range q.Values {
		q8[i] = upper(v)
	}
	qs := q.Scale * 256
	n := m.Slots()
	if workers <= 0 {
		workers = maxWorkers
	}
	workers = max(1, min(workers, n/rowsPerWorker))
	parts := make([][]Candidate, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := n*w/workers, n*(w+1)/workers
		if w == workers-1 {
			parts[w] = m.scan(q8, qs, from, to, k)
			continue
		}
		wg.Go(func() { parts[w] = m.scan(q8, qs, from, to, k) })
	}
	wg.Wait()
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b Candidate) int {
		if a.Score != b.Score {
			if a.Score > b.Score {
				return -1
			}
			return 1
		}
		return a.Slot - b.Slot
	})
	return all[:min(k, len(all))]
}

// scan keeps the best k rows of a range. It gathers twice as many and halves
// them, which is cheaper than a heap when few rows pass the bar.
func (m *Matrix) scan(q8 []int8, qs float32, from, to, k int) []Candidate {
	best := make([]Candidate, 0, 2*k)
	bar := float32(-2)
	for s := from; s < to; s++ {
		sc := m.scales[s]
		if sc == 0 {
			continue
		}
		v := float32(dot8(m.data[s*m.width:(s+1)*m.width], q8)) * sc * qs
		if v <= bar {
			continue
		}
		best = append(best, Candidate{s, v})
		if len(best) == 2*k {
			slices.SortFunc(best, byScore)
			best = best[:k]
			bar = best[k-1].Score
		}
	}
	slices.SortFunc(best, byScore)
	return best[:min(k, len(best))]
}

func byScore(a, b Candidate) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return a.Slot - b.Slot
}
