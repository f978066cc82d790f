package vector

import "golang.org/x/sys/cpu"

// dot8AVX2 needs len(a) to be a multiple of 32 and len(b) at least as large.
//
//go:noescape
func dot8AVX2(a, b *int8, n int) int32

var hasAVX2 = cpu.X86.HasAVX2

func dot8(a, b []int8) int32 {
	if hasAVX2 && len(a) > 0 && len(a)%lane == 0 && len(b) >= len(a) {
		return dot8AVX2(&a[0], &b[0], len(a))
	}
	return dot8Portable(a, b)
}
