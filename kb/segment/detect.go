package segment

import (
	"strings"
	"unicode"
)

// functionWords are the most frequent words of each language with Latin script
// that are rare or absent in the others. They only decide between stemmers.
var functionWords = map[Lang]string{
	"en": "the and of to is that for it with as was are this be by from at which not have or an you were has had but their its can will would been they if into when what we how there only",
	"de": "der die und das ist nicht ein eine mit dem des auf für von im zu sich auch es als wird werden oder aus bei nach sind einen einer wie noch über zum zur durch kann dass",
	"fr": "le la les et des est une du dans pour que qui par sur pas au avec ce il sont plus cette aux ne ou nous vous mais leur ses été être ont",
	"es": "la los las en que del una por con para es como más su fue entre pero está sus este también muy hay desde sobre",
	"it": "il di che la è una non con del della sono le dei nel alla da gli anche più delle dalla questo nella cui",
	"pt": "os da dos das em um uma que não para com por na é mais ao como foi são ou seu sua pelo pela também nos nas mas",
	"nl": "de het een en van dat te niet op met voor zijn die aan er ook als bij door maar naar uit worden wordt heeft werd nog dit deze",
	"sv": "och att det som en är av för på med till inte har de ett var jag så men från vi kan eller när ska också hade efter vid",
	"da": "og det som en er af på med til ikke har de et var jeg så men fra vi kan eller når skal også havde efter ved blev",
	"no": "og det som en er av på med til ikke har de et var jeg så men fra vi kan eller når skal også hadde etter ved ble",
	"fi": "ja ei että oli hän mutta ovat joka myös kuin ole tai niin sen kun hänen olla vain mukaan jälkeen sitä",
	"hu": "az és hogy nem egy van volt ez de meg csak mint már még be le vagy ki után több lesz azt",
	"ro": "și de la în este pe care cu nu din pentru mai că ce au fost sunt ca prin lui sau după dar",
	"tr": "ve bir bu için ile da de olarak çok daha gibi olan en ne kadar sonra ise ama her olduğu var değil tarafından",
}

// wordLangs says which languages a function word speaks for.
var wordLangs = func() map[string][]Lang {
	m := map[string][]Lang{}
	for _, lang := range latinLangs {
		for w := range strings.FieldsSeq(functionWords[lang]) {
			m[w] = append(m[w], lang)
		}
	}
	return m
}()

// latinLangs is the order in which ties are broken.
var latinLangs = []Lang{"en", "de", "fr", "es", "it", "pt", "nl", "sv", "no", "da", "fi", "hu", "ro", "tr"}

const (
	// detectBytes is how much of a text is looked at.
	detectBytes = 16 << 10
	// minFunctionWords and minFunctionShare are what speaks for a language: in
	// running text a quarter of all words are function words, in a list or in
	// code hardly any.
	minFunctionWords = 2
	minFunctionShare = 0.06
	// foreignFunctionShare is asked of any other language than English: names in
	// code look like function words of one language or another.
	foreignFunctionShare = 0.12
	// foreignShare of letters outside ASCII, in a text whose language is not
	// known, says that English stemming would do harm (Polish, Vietnamese…).
	foreignShare = 0.02
)

// Detect guesses the language of a text for stemming. Code and lists in ASCII
// count as English, since that is the language of most identifiers. A text of a
// language without a stemmer gives LangNone.
func Detect(text string) Lang {
	if len(text) > detectBytes {
		text = text[:detectBytes]
	}
	var letters, foreign, cyrillic, arabic, tamil, other int
	for _, r := range text {
		switch {
		case r < 0x80:
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				letters++
			}
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
			if strings.ContainsRune("іїєґўЈјњљћђџ", r) { // not Russian
				other++
			}
		case unicode.Is(unicode.Arabic, r):
			arabic++
			if strings.ContainsRune("پچژگی", r) { // Persian, Urdu
				other++
			}
		case unicode.Is(unicode.Tamil, r):
			tamil++
		case unicode.Is(unicode.Latin, r):
			letters++
			foreign++
		}
	}
	switch {
	case cyrillic > letters:
		if other*50 > cyrillic {
			return LangNone
		}
		return "ru"
	case arabic > letters:
		if other*50 > arabic {
			return LangNone
		}
		return "ar"
	case tamil > letters:
		return "ta"
	}
	return detectLatin(text, letters, foreign)
}

func detectLatin(text string, letters, foreign int) Lang {
	scores := map[Lang]int{}
	words := 0
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		words++
		if len(w) > 12 { // no function word is longer
			continue
		}
		for _, l := range wordLangs[lower(w)] {
			scores[l]++
		}
	}
	best, score := LangNone, 0
	for _, l := range latinLangs {
		if scores[l] > score {
			best, score = l, scores[l]
		}
	}
	share := float64(score) / float64(max(words, 1))
	if score >= minFunctionWords && (share >= foreignFunctionShare || best == "en" && share >= minFunctionShare) {
		return best
	}
	if float64(foreign) > foreignShare*float64(letters) {
		return LangNone
	}
	return "en"
}
