package tokens

// Size of the table of frequent words and the FNV-1a constants of its hash.
// Words behind a space hash differently: tokenizers keep both forms.
const (
	wordBits      = 15
	wordSlots     = 1 << wordBits
	wordPrime     = 16777619
	wordSeed      = 2166136261
	wordSeedSpace = wordSeed ^ 0x5bd1e995
)

// wordTable holds the averages of frequent words, as a cell holds its own, under
// the word's hash. A slot keeps eight more bits of the hash in its first byte (0
// is empty), so that one unknown word in 255 at most is taken for a known one.
type wordTable [2 * wordSlots]uint8

func wordSlot(hash uint32) (slot uint32, tag uint8) {
	hash ^= hash >> 15 // FNV leaves the last letter in the low bits
	hash *= hashCur
	return hash >> (32 - wordBits) * 2, uint8(hash>>8)%255 + 1
}

// value is the average of a word, unseen where the table does not hold it.
func (t *wordTable) value(hash uint32) uint64 {
	slot, tag := wordSlot(hash)
	if t[slot] != tag {
		return unseen
	}
	return uint64(t[slot+1])
}

// put takes a word in unless its slot is taken.
func (t *wordTable) put(hash uint32, v uint8) bool {
	slot, tag := wordSlot(hash)
	if t[slot] != 0 {
		return false
	}
	t[slot], t[slot+1] = tag, v
	return true
}
