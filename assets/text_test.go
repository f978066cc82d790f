package assets

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"perch/chat"
)

var sortCatalogues = flag.Bool("sort", false, "write the catalogues back with their keys sorted")

// TestCataloguesAgree holds that every language has the same ids with the same
// placeholders, sorted, and no empty text.
func TestCataloguesAgree(t *testing.T) {
	if *sortCatalogues {
		for _, lang := range Languages() {
			if err := writeSorted(lang); err != nil {
				t.Fatal(err)
			}
		}
		t.Skip("catalogues sorted; run again without -sort")
	}
	en, err := parseCatalogue(Fallback)
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range Languages() {
		own, err := parseCatalogue(lang)
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range en {
			switch {
			case own[id] == "":
				t.Errorf("%s lacks %q", lang, id)
			case placeholders(own[id]) != placeholders(text):
				t.Errorf("%s %q: placeholders %s, want %s", lang, id, placeholders(own[id]), placeholders(text))
			}
		}
		for id := range own {
			if en[id] == "" {
				t.Errorf("%s has %q, which en.toml lacks", lang, id)
			}
		}
		if ids := fileOrder(t, lang); !sort.StringsAreSorted(ids) {
			t.Errorf("lang/%s.toml is not sorted; run go test ./assets -run CataloguesAgree -sort", lang)
		}
	}
}

func writeSorted(lang string) error {
	own, err := parseCatalogue(lang)
	if err != nil {
		return err
	}
	var ids []string
	for id := range own {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "%s = %s\n", tomlString(id), tomlString(own[id]))
	}
	return os.WriteFile("lang/"+lang+".toml", []byte(b.String()), 0o644)
}

func tomlString(s string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	return `"` + r.Replace(s) + `"`
}

var placeholder = regexp.MustCompile(`\{\d\}`)

// placeholders are the distinct placeholders of a text, sorted.
func placeholders(s string) string {
	seen := map[string]bool{}
	var out []string
	for _, p := range placeholder.FindAllString(s, -1) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

func fileOrder(t *testing.T, lang string) []string {
	t.Helper()
	b, err := langFiles.ReadFile("lang/" + lang + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, `"`); ok {
			id, _, _ := strings.Cut(rest, `"`)
			ids = append(ids, id)
		}
	}
	return ids
}

func TestLocaleDecidesTheLanguage(t *testing.T) {
	cases := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"nothing set", nil, ""},
		{"LANG alone", map[string]string{"LANG": "de_DE.UTF-8"}, "de_DE.UTF-8"},
		{"LC_ALL wins", map[string]string{"LANG": "de_DE", "LC_ALL": "ru_RU.UTF-8"}, "ru_RU.UTF-8"},
		{"LC_MESSAGES before LANG", map[string]string{"LANG": "de_DE", "LC_MESSAGES": "zh_CN"}, "zh_CN"},
		{"LANGUAGE list", map[string]string{"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh_CN"},
		{"C is English", map[string]string{"LANG": "C.UTF-8", "LANGUAGE": "de"}, "en"},
		{"POSIX is English", map[string]string{"LC_ALL": "POSIX"}, "en"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := localeOf(func(k string) string { return c.env[k] }); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMatchFindsACatalogueOrEnglish(t *testing.T) {
	for locale, want := range map[string]string{
		"de": "de", "de_AT.UTF-8": "de", "zh-Hans-CN": "zh", "ru@latin": "ru", "fr_FR": "en", "": "en",
	} {
		if got := match(locale); got != want {
			t.Errorf("match(%q) = %q, want %q", locale, got, want)
		}
	}
}

func TestErrorsAreSaidInTheLanguageOrInEnglish(t *testing.T) {
	texts := NewTexts("de")
	if got, want := texts.Error(chat.NewError(chat.ClassAborted, "err.aborted", "Stopped.")), "Angehalten."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := texts.Error(chat.NewError(chat.ClassInternal, "err.nobody_knows", "Only %s.", "English")), "Only English."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := texts.Error(nil); got != "" {
		t.Errorf("nil said %q", got)
	}
	if got := texts.Notice(&chat.Notice{Text: "plain"}); got != "plain" {
		t.Errorf("got %q", got)
	}
}

func TestArgumentsAreNotReadAsPlaceholders(t *testing.T) {
	if got := fill("{0} and {1}", []any{"{1}", 2}); got != "{1} and 2" {
		t.Errorf("got %q", got)
	}
	if got := NewTexts("en").T("no.such.id"); got != "no.such.id" {
		t.Errorf("got %q", got)
	}
}
