package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func random(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestBothInnerProductsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < 2000; n += 32 {
		a, b := make([]int8, n), make([]int8, n)
		for i := range a {
			a[i], b[i] = int8(r.IntN(256)-128), int8(r.IntN(256)-128)
		}
		if got, want := dot8(a, b), dot8Portable(a, b); got != want {
			t.Fatalf("length %d: %d, want %d", n, got, want)
		}
	}
}

func TestScanFindsTheSameTenAsFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, dim = 20000, 100
	m := NewMatrix(dim)
	rows := make([]Row, n)
	units := make([][]float32, n)
	for i := range n {
		v := random(r, dim)
		rows[i], _ = Quantize(v)
		units[i], _ = Unit(v)
		m.Set(i, rows[i])
	}
	for range 20 {
		q, _ := Unit(random(r, dim))
		type pair struct {
			slot int
			cos  float64
		}
		var exact, approx []pair
		for i, u := range units {
			s := 0.0
			for j := range u {
				s += float64(u[j]) * float64(q[j])
			}
			exact = append(exact, pair{i, s})
		}
		for _, c := range m.Top(q, 60, 0) {
			approx = append(approx, pair{c.Slot, rows[c.Slot].Dot(q)})
		}
		less := func(a, b pair) int { return int(math.Copysign(1, b.cos-a.cos)) }
		slices.SortFunc(exact, less)
		slices.SortFunc(approx, less)
		for i := range 10 {
			if exact[i].slot != approx[i].slot {
				t.Fatalf("place %d: slot %d, want %d", i, approx[i].slot, exact[i].slot)
			}
			if math.Abs(exact[i].cos-approx[i].cos) > 1e-4 {
				t.Fatalf("cosine %.6f, want %.6f", approx[i].cos, exact[i].cos)
			}
		}
	}
}

func TestAVectorWithoutDirectionIsRefused(t *testing.T) {
	for _, v := range [][]float32{nil, {0, 0}, {float32(math.NaN()), 1}, {float32(math.Inf(1)), 1}} {
		if _, err := Quantize(v); err == nil {
			t.Errorf("%v is accepted", v)
		}
	}
}

func BenchmarkTop100k(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	m := NewMatrix(384)
	for i := range 100_000 {
		row, _ := Quantize(random(r, 384))
		m.Set(i, row)
	}
	q, _ := Unit(random(r, 384))
	for b.Loop() {
		m.Top(q, 60, 1)
	}
}
