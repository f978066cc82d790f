// Package tokens estimates how many tokens a model will count, without its
// tokenizer.
//
// A text is read once, without allocation. Each rune adds the number of tokens
// that begin in it on average, given the runes before it; the averages were
// taken from real tokenizers by perch-calibrate and lie in assets/weights, one
// file for each tokenizer family, with the errors they reach on text that was
// held out. What no calibration text covers is counted by class: Han, kana,
// Hangul, other CJK, Latin, other alphabets, digits, punctuation, whitespace,
// emoji, and unknown scripts by their bytes. The sum of each class has a weight
// of its own, fitted so that it is never negative.
//
// An [Anchor] replaces the estimate by what the vendor reported, and a [Ratio]
// corrects it for one model by what was learned.
package tokens
