package segment

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTermsOfNamesWordsAndScripts(t *testing.T) {
	for _, c := range []struct {
		text string
		lang Lang
		want string // all of these, separated by spaces
	}{
		{"getUserName", "en", "get user name getusernam"},
		{"get_user_name", "en", "get user name getusernam"},
		{"HTTPServer2 utf8", "en", "http server 2 httpserver2 utf 8 utf8"},
		{"fmt.Errorf(\"x\")", "en", "fmt errorf fmt.errorf x"},
		{"/usr/local/lib", "en", "usr local lib usr/local/lib"},
		{`C:\Users\anna`, "en", "c user anna c:/users/anna"},
		{"anna@example.com", "en", "anna exampl com anna@example.com"},
		{"C++ and C#", "en", "c++ c# c and"},
		{"running runs", "en", "run"},
		{"Häuser", "de", "haus"}, {"Straße", "de", "strass"},
		{"café", "fr", "caf"}, {"ежик ёжик", "ru", "ежик"},
		{"知识库", "en", "知 识 库 知识 识库"}, {"한국어", "en", "한 국 어 한국 국어"},
		{"がっこう", "en", "が が\u3063 っ っこ こ こう う"},
		{"ＡＢＣ　１２", "en", "abc 12"}, {"x := y", "en", "x := y"}, {"a && b", "en", "a && b"},
		{"go 🚀!", "en", "go 🚀"}, {"l’avion", "fr", "l avion"}, {"dog's", "en", "dog"},
	} {
		got := NewAnalyzer().Terms(nil, c.text, c.lang)
		for w := range strings.FieldsSeq(c.want) {
			if !slices.Contains(got, w) {
				t.Errorf("%q has no term %q: %v", c.text, w, got)
			}
		}
	}
}

func TestLanguagesAreDetected(t *testing.T) {
	for want, text := range map[Lang]string{
		"en": "The ship was in the harbour and the crew had gone to the town for the night.",
		"de": "Der Hund ist nicht in dem Haus, sondern auf der Straße und wartet auf den Mann.",
		"fr": "Le chat est sur la table et les enfants sont dans le jardin avec leur mère.",
		"es": "El perro está en la casa y los niños juegan con una pelota en el jardín.",
		"it": "Il gatto è sul tavolo e la signora che abita nella casa non è ancora tornata.",
		"pt": "O cão não está em casa e os meninos foram para a escola com uma amiga.",
		"ru": "Собака сидит возле дома и ждёт хозяина.",
		"":   "Zażółć gęślą jaźń, wszyscy ludzie rodzą się wolni i równi pod względem swej godności.",
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := Detect("def f(a, o):\n    for i in o:\n        do(a, se=i)\n"); got != "en" {
		t.Errorf("code is %q", got)
	}
}

func TestFoldIsWhatPeopleCompare(t *testing.T) {
	for in, want := range map[string]string{
		"  Déjà\t\nVU ": "deja vu", "ＦＵＬＬ": "full", "ﬁne": "fine", "Łódź": "lodz", "Й": "й", "知识 库": "知识 库", "ｶﾅ": "カナ",
	} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
	if got := FoldWords("fmt.Errorf(\"%w\", err)"); got != "fmt errorf w err" {
		t.Errorf("FoldWords: %q", got)
	}
}

func FuzzQueryFindsWhatWasIndexed(f *testing.F) {
	f.Add("getUserName 知识库 naïve C++ a@b.c")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 400 {
			t.Skip()
		}
		terms := NewAnalyzer().Terms(nil, s, "en")
		for _, g := range Query(s, []Lang{"en", "de"}) {
			found := false
			for _, v := range g.Variants {
				found = found || slices.Contains(terms, v)
			}
			if !found {
				t.Errorf("%q: no variant of %q in %v", s, g.Variants, terms)
			}
		}
	})
}
