package builtin

import (
	"math"
	"math/big"
)

// constants by name.
var constants = map[string]float64{
	"pi": math.Pi, "π": math.Pi, "tau": 2 * math.Pi, "e": math.E, "phi": math.Phi,
}

// function computes from its values; name is for the error.
type function func(name string, args []value) (value, *calcError)

// functions by name. It is filled in init, since a function may refer to it.
var functions map[string]function

func known(name string) bool {
	_, c := constants[name]
	_, f := functions[name]
	return c || f
}

func init() {
	functions = map[string]function{
		"sqrt": sqrt, "wurzel": sqrt, "корень": sqrt,
		"cbrt": real1(math.Cbrt), "exp": real1(math.Exp),
		"sin": real1(math.Sin), "cos": real1(math.Cos), "tan": real1(math.Tan),
		"asin": real1(math.Asin), "acos": real1(math.Acos), "atan": real1(math.Atan),
		"sinh": real1(math.Sinh), "cosh": real1(math.Cosh), "tanh": real1(math.Tanh),
		"ln": real1(math.Log), "log2": real1(math.Log2), "log10": real1(math.Log10), "lg": real1(math.Log10),
		"log": logarithm, "deg": real1(func(x float64) float64 { return x * 180 / math.Pi }),
		"rad":   real1(func(x float64) float64 { return x * math.Pi / 180 }),
		"abs":   exact1(func(r *big.Rat) *big.Rat { return new(big.Rat).Abs(r) }, math.Abs),
		"floor": exact1(func(r *big.Rat) *big.Rat { return new(big.Rat).SetInt(floorRat(r)) }, math.Floor),
		"ceil": exact1(func(r *big.Rat) *big.Rat {
			return new(big.Rat).Neg(new(big.Rat).SetInt(floorRat(new(big.Rat).Neg(r))))
		}, math.Ceil),
		"round": round,
		"min":   pick(func(a, b value) bool { return sub(a, b).float() < 0 }),
		"max":   pick(func(a, b value) bool { return sub(a, b).float() > 0 }),
		"sum":   fold(add), "avg": mean, "mean": mean,
		"gcd": divisors(true), "lcm": divisors(false), "hypot": hypot,
		"pow": two(pow), "mod": two(mod),
		"fact": func(name string, a []value) (value, *calcError) {
			if len(a) != 1 {
				return value{}, fail("e_args", name)
			}
			return factorial(a[0])
		},
	}
}

// real1 is a function of one real number.
func real1(f func(float64) float64) function {
	return func(name string, a []value) (value, *calcError) {
		if len(a) != 1 {
			return value{}, fail("e_args", name)
		}
		y := f(a[0].float())
		if math.IsNaN(y) || math.IsInf(y, -1) {
			return value{}, fail("e_domain", name)
		}
		// A sine of π is 0 for everybody but a float.
		if math.Abs(y) < 1e-15 && math.Abs(a[0].float()) > 1e-10 {
			y = 0
		}
		return inexact(y), nil
	}
}

// exact1 is a function of one number that keeps it exact.
func exact1(f func(*big.Rat) *big.Rat, g func(float64) float64) function {
	return func(name string, a []value) (value, *calcError) {
		if len(a) != 1 {
			return value{}, fail("e_args", name)
		}
		if a[0].rat != nil {
			return exact(f(a[0].rat)), nil
		}
		return inexact(g(a[0].f)), nil
	}
}

// sqrt is exact for squares.
func sqrt(name string, a []value) (value, *calcError) {
	if len(a) != 1 {
		return value{}, fail("e_args", name)
	}
	v := a[0]
	if v.float() < 0 {
		return value{}, fail("e_domain", name)
	}
	if v.rat != nil {
		n, d := new(big.Int).Sqrt(v.rat.Num()), new(big.Int).Sqrt(v.rat.Denom())
		r := new(big.Rat).SetFrac(n, d)
		if new(big.Rat).Mul(r, r).Cmp(v.rat) == 0 {
			return exact(r), nil
		}
	}
	return inexact(math.Sqrt(v.float())), nil
}

// logarithm is to base 10, or to the base given second.
func logarithm(name string, a []value) (value, *calcError) {
	switch len(a) {
	case 1:
		return real1(math.Log10)(name, a)
	case 2:
		y := math.Log(a[0].float()) / math.Log(a[1].float())
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return value{}, fail("e_domain", name)
		}
		return inexact(y), nil
	}
	return value{}, fail("e_args", name)
}

// round rounds half away from zero, to whole numbers or to the places given second.
func round(name string, a []value) (value, *calcError) {
	places := int64(0)
	if len(a) == 2 {
		n, ok := a[1].integer()
		if !ok || n < -300 || n > 300 {
			return value{}, fail("e_integer", name)
		}
		places = n
	} else if len(a) != 1 {
		return value{}, fail("e_args", name)
	}
	scale, err := pow(whole(10), whole(places))
	if err != nil {
		return value{}, err
	}
	v := mul(a[0], scale)
	if v.rat == nil {
		return div(inexact(math.Round(v.f)), scale)
	}
	half := big.NewRat(1, 2)
	r := new(big.Rat).SetInt(floorRat(new(big.Rat).Add(new(big.Rat).Abs(v.rat), half)))
	if v.rat.Sign() < 0 {
		r.Neg(r)
	}
	return div(exact(r), scale)
}

func pick(better func(a, b value) bool) function {
	return func(name string, a []value) (value, *calcError) {
		best := a[0]
		for _, v := range a[1:] {
			if better(v, best) {
				best = v
			}
		}
		return best, nil
	}
}

func fold(f func(a, b value) value) function {
	return func(_ string, a []value) (value, *calcError) {
		v := a[0]
		for _, w := range a[1:] {
			v = f(v, w)
		}
		return v, nil
	}
}

func mean(_ string, a []value) (value, *calcError) {
	s, err := fold(add)("", a)
	if err != nil {
		return s, err
	}
	return div(s, whole(int64(len(a))))
}

func two(f func(a, b value) (value, *calcError)) function {
	return func(name string, a []value) (value, *calcError) {
		if len(a) != 2 {
			return value{}, fail("e_args", name)
		}
		return f(a[0], a[1])
	}
}

func hypot(name string, a []value) (value, *calcError) {
	if len(a) != 2 {
		return value{}, fail("e_args", name)
	}
	return sqrt(name, []value{add(mul(a[0], a[0]), mul(a[1], a[1]))})
}

// divisors is the greatest common divisor or the least common multiple.
func divisors(greatest bool) function {
	return func(name string, a []value) (value, *calcError) {
		var acc *big.Int
		for _, v := range a {
			if v.rat == nil || !v.rat.IsInt() {
				return value{}, fail("e_integer", name)
			}
			n := new(big.Int).Abs(v.rat.Num())
			if acc == nil {
				acc = n
				continue
			}
			g := new(big.Int).GCD(nil, nil, acc, n)
			if greatest {
				acc = g
				continue
			}
			if g.Sign() == 0 {
				acc = g
				continue
			}
			acc = new(big.Int).Mul(new(big.Int).Quo(acc, g), n)
			if acc.BitLen() > maxBits {
				return value{}, fail("e_large")
			}
		}
		return exact(new(big.Rat).SetInt(acc)), nil
	}
}
