package tools

import (
	"fmt"
	"strings"
)

const (
	// diffContext is how many unchanged lines stand around a change.
	diffContext = 3
	// maxEdits bounds the search for the shortest difference, in changed lines:
	// its cost grows with their square. Beyond it everything between the first and
	// the last change is shown as replaced.
	maxEdits = 1500
)

// diff shows the change from a to b in the unified form, whole.
func diff(name, a, b string) string {
	if a == b {
		return "(no change)"
	}
	x, y := lines(a), lines(b)
	ops := edits(x, y)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for i := 0; i < len(ops); {
		if ops[i].kind == ' ' {
			i++
			continue
		}
		// A hunk reaches to where more than twice the context is unchanged.
		start := max(0, i-diffContext)
		end, same := i, 0
		for end < len(ops) && same <= 2*diffContext {
			if ops[end].kind == ' ' {
				same++
			} else {
				same = 0
			}
			end++
		}
		end -= max(0, same-diffContext)
		hunk := ops[start:end]
		var n, m int
		for _, o := range hunk {
			if o.kind != '+' {
				n++
			}
			if o.kind != '-' {
				m++
			}
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", hunk[0].a+1, n, hunk[0].b+1, m)
		for _, o := range hunk {
			out.WriteByte(o.kind)
			out.WriteString(strings.TrimSuffix(o.line, "\n"))
			out.WriteByte('\n')
			if !strings.HasSuffix(o.line, "\n") {
				out.WriteString("\\ No newline at end of file\n")
			}
		}
		i = end
	}
	return out.String()
}

// lines splits a text behind each line break.
func lines(s string) []string {
	l := strings.SplitAfter(s, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

// edit is one line of a difference: ' ', '-' or '+'. a and b are the line's
// places on both sides, from 0.
type edit struct {
	kind byte
	line string
	a, b int
}

// edits finds the shortest difference (Myers, An O(ND) Difference Algorithm,
// 1986).
func edits(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []edit
	for i := range head {
		out = append(out, edit{' ', a[i], i, i})
	}
	mid := middle(a[head:len(a)-tail], b[head:len(b)-tail])
	for _, e := range mid {
		e.a += head
		e.b += head
		out = append(out, e)
	}
	for i := tail; i > 0; i-- {
		out = append(out, edit{' ', a[len(a)-i], len(a) - i, len(b) - i})
	}
	return out
}

func middle(a, b []string) []edit {
	n, m := len(a), len(b)
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+2)
	at := func(k int) int { return k + limit }
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v[at(-d):at(d)+1]...))
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = v[at(k+1)]
			} else {
				x = v[at(k-1)] + 1
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[at(k)] = x
			if x >= n && y >= m {
				return backtrack(a, b, trace, d)
			}
		}
	}
	var out []edit
	for i, l := range a {
		out = append(out, edit{'-', l, i, 0})
	}
	for i, l := range b {
		out = append(out, edit{'+', l, n, i})
	}
	return out
}

// backtrack walks the recorded rounds from the end to the start.
func backtrack(a, b []string, trace [][]int, d int) []edit {
	x, y := len(a), len(b)
	var rev []edit
	for ; d > 0; d-- {
		v := trace[d] // the values before round d, for k from -d to d
		get := func(k int) int { return v[k+d] }
		k := x - y
		var prev int
		if k == -d || k != d && get(k-1) < get(k+1) {
			prev = k + 1
		} else {
			prev = k - 1
		}
		px := get(prev)
		py := px - prev
		for x > px && y > py {
			x, y = x-1, y-1
			rev = append(rev, edit{' ', a[x], x, y})
		}
		if x > px {
			x--
			rev = append(rev, edit{'-', a[x], x, y})
		} else if y > py {
			y--
			rev = append(rev, edit{'+', b[y], x, y})
		}
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		rev = append(rev, edit{' ', a[x], x, y})
	}
	out := make([]edit, 0, len(rev))
	for i := len(rev) - 1; i >= 0; i-- {
		out = append(out, rev[i])
	}
	return out
}
