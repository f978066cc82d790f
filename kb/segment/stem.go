package segment

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// Lang is the ISO 639-1 code of a language with a stemmer, or LangNone.
type Lang string

// LangNone is a language without a stemmer.
const LangNone Lang = ""

var stemmers = map[Lang]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "nl": dutch.Stem, "en": english.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "de": german.Stem, "hu": hungarian.Stem, "it": italian.Stem, "no": norwegian.Stem,
	"pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "es": spanish.Stem, "sv": swedish.Stem,
	"ta": tamil.Stem, "tr": turkish.Stem,
}

// minStemRunes keeps short words as they are: "is", "us", "go" are no inflections.
const minStemRunes = 3

// stemFolded stems a lower-case word and removes its accents. Words with
// anything but letters are only folded.
func stemFolded(w string, lang Lang) string {
	return fold(stem(w, lang))
}

func stem(w string, lang Lang) string {
	f := stemmers[lang]
	if f == nil || utf8.RuneCountInString(w) < minStemRunes || len(w) > maxTermBytes {
		return w
	}
	for _, r := range w {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.M, r) {
			return w
		}
		if !scriptOf(lang, r) {
			return w
		}
	}
	env := snowballstem.NewEnv(w)
	f(env)
	if s := env.Current(); s != "" {
		return s
	}
	return w
}

// scriptOf reports whether r is of the script that the language's stemmer knows.
func scriptOf(lang Lang, r rune) bool {
	switch lang {
	case "ru":
		return unicode.Is(unicode.Cyrillic, r)
	case "ar":
		return unicode.Is(unicode.Arabic, r) || unicode.Is(unicode.Mn, r)
	case "ta":
		return unicode.Is(unicode.Tamil, r)
	}
	return unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Mn, r)
}
