package builtin

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxBits bounds exact numbers: beyond, a result is kept as a float. 2^1000
	// and 500! are exact, 9^9^9 is not even begun.
	maxBits = 1 << 14
	// maxDigits is the longest number written out in full, in digits.
	maxDigits = 60
	// significant is how many digits of an inexact result are shown: what a
	// float64 keeps after a few operations.
	significant = 12
)

// value is a number: exact as long as possible, else a float.
type value struct {
	rat *big.Rat // nil for an inexact number
	f   float64
}

func exact(r *big.Rat) value {
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		f, _ := r.Float64()
		return value{f: f}
	}
	return value{rat: r}
}

func inexact(f float64) value { return value{f: f} }

func whole(n int64) value { return value{rat: new(big.Rat).SetInt64(n)} }

func (v value) float() float64 {
	if v.rat == nil {
		return v.f
	}
	f, _ := v.rat.Float64()
	return f
}

func (v value) isZero() bool {
	if v.rat != nil {
		return v.rat.Sign() == 0
	}
	return v.f == 0
}

// integer returns a whole number that fits an int64.
func (v value) integer() (int64, bool) {
	if v.rat == nil || !v.rat.IsInt() || !v.rat.Num().IsInt64() {
		return 0, false
	}
	return v.rat.Num().Int64(), true
}

func neg(a value) value {
	if a.rat != nil {
		return value{rat: new(big.Rat).Neg(a.rat)}
	}
	return inexact(-a.f)
}

func both(a, b value) bool { return a.rat != nil && b.rat != nil }

func add(a, b value) value {
	if both(a, b) {
		return exact(new(big.Rat).Add(a.rat, b.rat))
	}
	return inexact(a.float() + b.float())
}

func sub(a, b value) value { return add(a, neg(b)) }

func mul(a, b value) value {
	if both(a, b) {
		return exact(new(big.Rat).Mul(a.rat, b.rat))
	}
	return inexact(a.float() * b.float())
}

func div(a, b value) (value, *calcError) {
	if b.isZero() {
		return value{}, fail("e_zero")
	}
	if both(a, b) {
		return exact(new(big.Rat).Quo(a.rat, b.rat)), nil
	}
	return inexact(a.float() / b.float()), nil
}

// mod is the remainder with the sign of the divisor, so that clock arithmetic
// comes out right.
func mod(a, b value) (value, *calcError) {
	if b.isZero() {
		return value{}, fail("e_zero")
	}
	if both(a, b) {
		q := new(big.Rat).Quo(a.rat, b.rat)
		fl := floorRat(q)
		return exact(new(big.Rat).Sub(a.rat, new(big.Rat).Mul(b.rat, new(big.Rat).SetInt(fl)))), nil
	}
	x, y := a.float(), b.float()
	return inexact(x - y*math.Floor(x/y)), nil
}

func floorRat(r *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	_ = m // Euclidean division by a positive denominator is the floor
	return q
}

// pow is exact for whole exponents of a bearable size.
func pow(a, b value) (value, *calcError) {
	if n, ok := b.integer(); ok && a.rat != nil {
		if n < 0 && a.isZero() {
			return value{}, fail("e_zero")
		}
		bits := max(a.rat.Num().BitLen(), a.rat.Denom().BitLen())
		abs := n
		if abs < 0 {
			abs = -abs
		}
		one := bits <= 1 // 0, 1 and -1 stay small whatever the exponent
		if one && abs > 2 {
			abs = 2 + abs%2
		}
		if abs >= 0 && (one || abs <= maxBits && int64(bits)*abs <= maxBits) {
			num := new(big.Int).Exp(a.rat.Num(), big.NewInt(abs), nil)
			den := new(big.Int).Exp(a.rat.Denom(), big.NewInt(abs), nil)
			if n < 0 {
				num, den = den, num
			}
			return exact(new(big.Rat).SetFrac(num, den)), nil
		}
	}
	f := math.Pow(a.float(), b.float())
	if math.IsNaN(f) {
		return value{}, fail("e_domain", "^")
	}
	return inexact(f), nil
}

// factorial is exact up to where its digits are bounded.
func factorial(a value) (value, *calcError) {
	const limit = 1500 // its logarithm stays within maxBits
	n, ok := a.integer()
	switch {
	case !ok || n < 0:
		return value{}, fail("e_integer", "!")
	case n > limit:
		return value{}, fail("e_large")
	}
	return exact(new(big.Rat).SetInt(new(big.Int).MulRange(1, max(n, 1)))), nil
}

// format writes a number. approx says that digits were left out.
func (v value) format() (s string, approx bool, err *calcError) {
	if v.rat == nil {
		if math.IsInf(v.f, 0) || math.IsNaN(v.f) {
			return "", false, fail("e_large")
		}
		return formatFloat(v.f), true, nil
	}
	if v.rat.IsInt() {
		s := v.rat.Num().String()
		if len(strings.TrimPrefix(s, "-")) <= maxDigits {
			return s, false, nil
		}
		return scientific(s), true, nil
	}
	// A fraction that ends is written in full, where that is short.
	if n, ok := v.rat.FloatPrec(); ok && n <= 20 {
		if s := v.rat.FloatString(n); len(s) <= maxDigits {
			return s, false, nil
		}
	}
	f, _ := v.rat.Float64()
	if f == 0 || math.IsInf(f, 0) {
		return "", false, fail("e_large")
	}
	return formatFloat(f), true, nil
}

// scientific writes the digits of a large whole number as m × 10^n.
func scientific(digits string) string {
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	exp := len(digits) - 1
	n, _ := strconv.ParseInt(digits[:significant], 10, 64)
	if digits[significant] >= '5' {
		n++
	}
	m := strconv.FormatInt(n, 10)
	if len(m) > significant { // 9.99… became 10
		exp++
	}
	tail := strings.TrimRight(m[1:], "0")
	if tail != "" {
		tail = "." + tail
	}
	return sign + m[:1] + tail + " × 10^" + strconv.Itoa(exp)
}

// formatFloat writes the significant digits of a float without noise.
func formatFloat(f float64) string {
	if f == 0 {
		return "0"
	}
	abs := math.Abs(f)
	if abs >= 1e15 || abs < 1e-6 {
		s := strconv.FormatFloat(f, 'e', significant-1, 64)
		m, e, _ := strings.Cut(s, "e")
		if strings.Contains(m, ".") {
			m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
		}
		n, _ := strconv.Atoi(e)
		return m + " × 10^" + strconv.Itoa(n)
	}
	digits := significant - 1 - int(math.Floor(math.Log10(abs)))
	s := strconv.FormatFloat(f, 'f', max(digits, 0), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
