// Package assets holds what Perch ships beside its code: the message catalogues
// and the figures fitted for token estimates. It needs no desktop and does no
// I/O at run time: everything is embedded.
package assets

import (
	"embed"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"perch/chat"
)

//go:embed lang/*.toml
var langFiles embed.FS

// Fallback is the language whose catalogue is complete by definition.
const Fallback = "en"

// Texts are the sentences of one interface language. The zero value is not
// usable; see [NewTexts]. It may be used from many goroutines.
type Texts struct {
	lang string
	own  map[string]string
	en   map[string]string
}

// NewTexts returns the texts of a language: "en", "de", "ru", "zh", a locale
// such as "de_AT.UTF-8", or "" for the language of the user's locale. A language
// without a catalogue is English.
func NewTexts(lang string) *Texts {
	if lang == "" {
		lang = Locale()
	}
	lang = match(lang)
	return &Texts{lang: lang, own: catalogue(lang), en: catalogue(Fallback)}
}

// Lang is the language that the texts are in.
func (t *Texts) Lang() string { return t.lang }

// Has reports whether there is a text with that id.
func (t *Texts) Has(id string) bool { return t.own[id] != "" || t.en[id] != "" }

// T returns the text with that id, with {0}, {1}… replaced by args. A text that
// is missing from the language is said in English; an unknown id is returned as
// it is, so that a gap is seen and not hidden.
func (t *Texts) T(id string, args ...any) string {
	s := t.own[id]
	if s == "" {
		s = t.en[id]
	}
	if s == "" {
		s = id
	}
	return fill(s, args)
}

// Error returns the sentence for an error in the interface's language, or its
// English sentence where no catalogue has its id. nil is "".
func (t *Texts) Error(e *chat.Error) string {
	if e == nil {
		return ""
	}
	return t.or(e.ID, e.Args, e.Message)
}

// Notice returns a notice in the interface's language, or its English text.
func (t *Texts) Notice(n *chat.Notice) string {
	if n == nil {
		return ""
	}
	return t.or(n.ID, n.Args, n.Text)
}

// or is the text with that id, or english where there is none.
func (t *Texts) or(id string, args []string, english string) string {
	if id == "" || !t.Has(id) {
		return english
	}
	anys := make([]any, len(args))
	for i, a := range args {
		anys[i] = a
	}
	return t.T(id, anys...)
}

// fill replaces {0}, {1}… in one pass, so that braces in an argument stay what
// they are.
func fill(s string, args []any) string {
	if len(args) == 0 || !strings.Contains(s, "{") {
		return s
	}
	pairs := make([]string, 0, 2*len(args))
	for i, a := range args {
		pairs = append(pairs, fmt.Sprintf("{%d}", i), fmt.Sprint(a))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// Languages are those with a catalogue, sorted.
func Languages() []string {
	files, err := langFiles.ReadDir("lang")
	if err != nil {
		return []string{Fallback}
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	sort.Strings(out)
	return out
}

// match finds the catalogue for a locale name.
func match(locale string) string {
	base := strings.ToLower(locale)
	if i := strings.IndexAny(base, "_-.@"); i >= 0 {
		base = base[:i]
	}
	for _, l := range Languages() {
		if l == base {
			return l
		}
	}
	return Fallback
}

// Locale is the user's locale for messages: LANGUAGE, LC_ALL, LC_MESSAGES and
// LANG in the order of gettext, else what the system says, else "en".
func Locale() string {
	if l := localeOf(os.Getenv); l != "" {
		return l
	}
	if l := systemLocale(); l != "" {
		return l
	}
	return Fallback
}

// localeOf reads the locale from an environment. LANGUAGE counts only where a
// locale other than C is set, as gettext has it.
func localeOf(get func(string) string) string {
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale = get(name); locale != "" {
			break
		}
	}
	if locale == "C" || locale == "POSIX" || strings.HasPrefix(locale, "C.") {
		return Fallback
	}
	if locale == "" {
		return ""
	}
	if list := get("LANGUAGE"); list != "" {
		first, _, _ := strings.Cut(list, ":")
		return first
	}
	return locale
}

var (
	cataloguesMu sync.Mutex // guards catalogues
	catalogues   = map[string]map[string]string{}
)

// catalogue reads a language's texts once. A catalogue that cannot be read is a
// fault of the build, which a test holds; it is empty here.
func catalogue(lang string) map[string]string {
	cataloguesMu.Lock()
	defer cataloguesMu.Unlock()
	if c, ok := catalogues[lang]; ok {
		return c
	}
	c, err := parseCatalogue(lang)
	if err != nil {
		c = map[string]string{}
	}
	catalogues[lang] = c
	return c
}

// parseCatalogue reads lang/LANG.toml: one quoted id and one text a line.
func parseCatalogue(lang string) (map[string]string, error) {
	b, err := langFiles.ReadFile("lang/" + lang + ".toml")
	if err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", lang, err)
	}
	c := map[string]string{}
	if err := toml.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", lang, err)
	}
	return c, nil
}
