//go:build !amd64

package vector

func dot8(a, b []int8) int32 { return dot8Portable(a, b) }
