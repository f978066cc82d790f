package tokens

// The Han block that the bit set covers: extension A and the unified ideographs.
const (
	hanFirst = 0x3400
	hanLast  = 0x9fff
)

// hanSet says which Han characters are tokens of their own.
type hanSet [(hanLast - hanFirst + 8) / 8]uint8

func (h *hanSet) has(r rune) bool {
	if r < hanFirst || r > hanLast {
		return false
	}
	r -= hanFirst
	return h[r>>3]&(1<<(r&7)) != 0
}

func (h *hanSet) add(r rune) {
	if r >= hanFirst && r <= hanLast {
		r -= hanFirst
		h[r>>3] |= 1 << (r & 7)
	}
}
