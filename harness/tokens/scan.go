package tokens

import "unicode/utf8"

// class is what kind of text a rune is.
type class uint8

// The classes of text. Each has a weight in every family.
const (
	classLatin class = iota
	classGreek
	classCyrillic
	classSemitic // Arabic, Hebrew
	classIndic   // the last of the alphabets
	classDigit
	classPunct
	classSpace
	classHan
	classKana
	classHangul
	classCJK
	classEmoji
	classOther
	classes
)

// classNames are the classes as the weight files call them.
var classNames = [classes]string{
	"latin", "greek", "cyrillic", "semitic", "indic", "digit", "punct", "space", "han", "kana", "hangul", "cjk", "emoji", "other",
}

// Sizes of the context tables. A context is the rune and the two before it,
// hashed; contexts that fall together share their average. At 64 K the error on
// held-out text no longer falls with size.
const (
	tableBits = 16
	tableSize = 1 << tableBits
	hashShift = 32 - tableBits
)

// A cell of a table holds the square root of the average number of tokens that
// begin in a rune: a letter inside a word has about 0.02, a rare Han character 3,
// and both need the same relative precision. unseen marks a context that
// calibration never met. Sums are in units of 1/unit of a token.
const (
	unseen    = 255
	maxInCell = 4.5 // tokens; no rune or block was seen to need more
	unit      = (unseen - 1) * (unseen - 1) / maxInCell
)

// Odd multipliers of the context hash (the constants of xxHash32).
const (
	hashCur  = 2654435761
	hashPrev = 2246822519
	hashPre2 = 3266489917
)

// Codes above Unicode stand for runs in a context.
const (
	codeSpaces   = 0x110000 // + length of a run of spaces
	codeTabs     = 0x110100
	codeNewlines = 0x110200
	codeRepeat   = 0x110300 // + length of a run of one sign
	codeDigit    = 0x110400 // + place in its group of three
	codeStart    = 0x110500
)

// blockRun is the length in runes at which a run is counted in blocks, since
// the longest whitespace and rule tokens of the vocabularies are about so long.
const blockRun = 64

// minRepeat is how many equal signs make a run: shorter ones are words of
// programming languages, such as "===".
const minRepeat = 4

// scanner reads text class by class. Its fields are the family's averages.
type scanner struct {
	text *[tableSize]uint8 // contexts of alphabets, digits, signs, whitespace
	cjk  *[tableSize]uint8 // contexts of Han, kana, Hangul, emoji
	// flat are the averages by class for unseen contexts, in 1/unit; for
	// classOther it is by byte.
	flat [classes]uint64
	// hanSplit is flat for Han characters that are no token of their own.
	hanSplit uint64
	han      *hanSet
	words    *wordTable
}

// sums are tokens by class in 1/unit.
type sums [classes]uint64

// visitor is told each rune's place and context while calibrating; nil costs
// the scan one predictable branch a rune.
type visitor interface {
	// word is told after the letters of a word that they were one, by its hash.
	word(c class, hash uint32, from, to int)
	// visit names the bytes [from, to) and the table cell that stands for them;
	// n is how many times the cell counts (blocks of a long run).
	visit(c class, cjk bool, cell uint32, from, to, n int)
}

func cell(pre2, prev, cur uint32) uint32 {
	return (pre2*hashPre2 + prev*hashPrev + cur*hashCur) >> hashShift
}

func (sc *scanner) value(c class, at uint32) uint64 {
	if v := uint64(sc.text[at]); v != unseen {
		return v * v
	}
	return sc.flat[c]
}

// scan adds up a text. It makes one pass and allocates nothing.
func (sc *scanner) scan(s string, out *sums, see visitor) {
	pre2, prev := uint32(codeStart), uint32(codeStart)
	digits := uint32(0)
	for i := 0; i < len(s); {
		c := s[i]
		k := kinds[c]
		if k == kindLetter || k == kindHigh {
			if n, last, before := sc.word(s[i:], i, pre2, prev, out, see); n > 0 {
				digits = 0
				pre2, prev = before, last
				i += n
				continue
			}
		}
		if k == kindDigit {
			cur := codeDigit + digits
			if digits++; digits == 3 {
				digits = 0
			}
			at := cell(pre2, prev, cur)
			out[classDigit] += sc.value(classDigit, at)
			if see != nil {
				see.visit(classDigit, false, at, i, i+1, 1)
			}
			pre2, prev = prev, cur
			i++
			continue
		}
		digits = 0
		if k == kindPunct {
			n := 1
			for i+n < len(s) && s[i+n] == c {
				n++
			}
			if n < minRepeat {
				at := cell(pre2, prev, uint32(c))
				out[classPunct] += sc.value(classPunct, at)
				if see != nil {
					see.visit(classPunct, false, at, i, i+1, 1)
				}
				pre2, prev = prev, uint32(c)
				i++
				continue
			}
			sc.run(classPunct, codeRepeat, uint32(c), uint32(c), i, n, out, see)
			pre2, prev = uint32(c), uint32(c)
			i += n
			continue
		}
		if k == kindSpace {
			n := 1
			for i+n < len(s) && s[i+n] == c {
				n++
			}
			next := uint32(kindNewline)
			if i+n < len(s) {
				next = uint32(kinds[s[i+n]])
			}
			code := uint32(codeSpaces)
			switch c {
			case '\t':
				code = codeTabs
			case '\n', '\r':
				code, next = codeNewlines, follow(prev)
			}
			if n == 1 && c == ' ' {
				// The common case: a word's own space.
				at := cell(codeSpaces, follow(prev), codeSpaces+next)
				out[classSpace] += sc.value(classSpace, at)
				if see != nil {
					see.visit(classSpace, false, at, i, i+1, 1)
				}
				pre2, prev = prev, ' '
				i++
				continue
			}
			sc.run(classSpace, code, next, 0, i, n, out, see)
			pre2, prev = codeSpaces, uint32(c)
			if n > 1 {
				prev = code + 1
			}
			i += n
			continue
		}
		if c < utf8.RuneSelf { // control characters
			out[classOther] += sc.flat[classOther]
			if see != nil {
				see.visit(classOther, false, 0, i, i+1, 1)
			}
			pre2, prev = prev, uint32(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		cls := classOf(r)
		cur := uint32(r)
		switch cls {
		case classOther:
			out[cls] += uint64(n) * sc.flat[cls]
			if see != nil {
				see.visit(cls, false, 0, i, i+n, n)
			}
		case classHan:
			at := cell(0, prev, cur)
			if v := uint64(sc.cjk[at]); v != unseen {
				out[cls] += v * v
			} else if sc.han.has(r) {
				out[cls] += sc.flat[classHan]
			} else {
				out[cls] += sc.hanSplit
			}
			if see != nil {
				see.visit(cls, true, at, i, i+n, 1)
			}
		case classKana, classHangul, classCJK, classEmoji:
			at := cell(pre2, prev, cur)
			if v := uint64(sc.cjk[at]); v != unseen {
				out[cls] += v * v
			} else {
				out[cls] += sc.flat[cls]
			}
			if see != nil {
				see.visit(cls, true, at, i, i+n, 1)
			}
		default:
			at := cell(pre2, prev, cur)
			out[cls] += sc.value(cls, at)
			if see != nil {
				see.visit(cls, false, at, i, i+n, 1)
			}
		}
		pre2, prev = prev, cur
		i += n
	}
}

// word counts the letters from the start of s on: a run of letters, ended also
// where a capital follows a small letter. A frequent word has its own average;
// others are the sum over their letters. It returns the length and the last two
// runes; 0 where s does not begin with a letter of a known alphabet.
func (sc *scanner) word(s string, offset int, pre2, prev uint32, out *sums, see visitor) (n int, last, before uint32) {
	cls := classLatin
	hash := uint32(wordSeed)
	if prev == ' ' {
		hash = wordSeedSpace
	}
	var acc uint64
	small := false
	i := 0
	for i < len(s) {
		cur, size := uint32(s[i]), 1
		c := classLatin
		if cur < utf8.RuneSelf {
			if kinds[cur] != kindLetter {
				break
			}
			if cur >= 'a' {
				small = true
			} else if small {
				break
			}
		} else {
			r, n := utf8.DecodeRuneInString(s[i:])
			if c = classOf(r); c > classIndic {
				break
			}
			cur, size = uint32(r), n
		}
		if i == 0 {
			cls = c
		}
		at := cell(pre2, prev, cur)
		if v := uint64(sc.text[at]); v != unseen {
			acc += v * v
		} else {
			acc += sc.flat[c]
		}
		if see != nil {
			see.visit(c, false, at, offset+i, offset+i+size, 1)
		}
		hash = (hash ^ cur) * wordPrime
		pre2, prev = prev, cur
		i += size
	}
	if i == 0 {
		return 0, 0, 0
	}
	if v := sc.words.value(hash); v != unseen {
		acc = v * v
	}
	if see != nil {
		see.word(cls, hash, offset, offset+i)
	}
	out[cls] += acc
	return i, prev, pre2
}

// run counts n equal bytes from i on, in whole blocks and a rest.
func (sc *scanner) run(c class, code, ctx, sign uint32, i, n int, out *sums, see visitor) {
	if whole := n / blockRun; whole > 0 {
		at := cell(ctx, sign, code+blockRun)
		out[c] += uint64(whole) * sc.value(c, at)
		if see != nil {
			see.visit(c, false, at, i, i+whole*blockRun, whole)
		}
		i += whole * blockRun
	}
	if rest := n % blockRun; rest > 0 {
		at := cell(ctx, sign, code+uint32(rest))
		out[c] += sc.value(c, at)
		if see != nil {
			see.visit(c, false, at, i, i+rest, 1)
		}
	}
}

// follow is what whitespace follows: tokenizers join a sign and the newline
// after it.
func follow(prev uint32) uint32 {
	switch {
	case prev < utf8.RuneSelf:
		return uint32(kinds[prev])
	case prev >= codeDigit && prev < codeStart:
		return uint32(kindDigit)
	case prev >= codeSpaces:
		return uint32(kindSpace)
	}
	return uint32(kindHigh)
}
