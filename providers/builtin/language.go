package builtin

import (
	"embed"
	"strconv"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
)

//go:embed words/*.toml
var wordFiles embed.FS

// language is a language that the stand-in answers in: the question's own, as a
// model would, and not that of the interface.
type language string

// The languages there are answers in.
const (
	english language = "en"
	german  language = "de"
	russian language = "ru"
	chinese language = "zh"
)

var languages = []language{english, german, russian, chinese}

// words are the sentences by language and name.
var words = loadWords()

func loadWords() map[language]map[string]string {
	out := map[language]map[string]string{}
	for _, l := range languages {
		b, err := wordFiles.ReadFile("words/" + string(l) + ".toml")
		if err != nil {
			panic("embedded words: " + err.Error())
		}
		m := map[string]string{}
		if err := toml.Unmarshal(b, &m); err != nil {
			panic("embedded words " + string(l) + ": " + err.Error())
		}
		out[l] = m
	}
	return out
}

// say returns a sentence with {0}, {1}… replaced.
func (l language) say(name string, args ...string) string {
	s, ok := words[l][name]
	if !ok {
		s = words[english][name]
	}
	pairs := make([]string, 0, 2*len(args))
	for i, a := range args {
		pairs = append(pairs, "{"+strconv.Itoa(i)+"}", a)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// germanWords are frequent words that no English sentence has.
var germanWords = map[string]bool{
	"der": true, "das": true, "und": true, "ist": true, "ich": true, "nicht": true, "wie": true,
	"wo": true, "kann": true, "ein": true, "eine": true, "mein": true, "meine": true, "meinen": true,
	"auf": true, "für": true, "mit": true, "wer": true, "bist": true, "wann": true, "warum": true,
	"welche": true, "welcher": true, "hilfe": true, "hallo": true, "nach": true, "sind": true, "wieviel": true,
	"viel": true, "viele": true, "mir": true, "mich": true, "geht": true, "danke": true, "du": true,
}

// languageOf guesses a question's language from its script and a few words.
func languageOf(text string) language {
	var han, cyrillic, latin int
	for i, r := range text {
		if i > maxInput {
			break
		}
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.Is(unicode.Latin, r):
			latin++
		}
	}
	switch {
	case han > 0 && han*3 >= latin: // a Han character says as much as some three letters
		return chinese
	case cyrillic > 0 && cyrillic >= latin/2:
		return russian
	}
	for _, w := range tokens(clip(text, maxInput)) {
		if germanWords[w] || strings.ContainsAny(w, "äöüß") {
			return german
		}
	}
	return english
}

// tokens are the words of a text in lower case.
func tokens(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
