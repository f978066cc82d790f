package exec

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the shortest value that is hidden, in bytes: a shorter one would
// black out ordinary words.
const minSecret = 8

// hiddenText stands where a secret was.
const hiddenText = "[secret hidden]"

// Hide returns a function that replaces these values in a text, also in the
// forms in which programs like to print them (base64, quoted for an address).
func Hide(values ...string) func(string) string {
	var forms []string
	add := func(s string) {
		if len(s) >= minSecret && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	for _, v := range values {
		v = strings.TrimSpace(v)
		if len(v) < minSecret {
			continue
		}
		add(v)
		add(url.QueryEscape(v))
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			// Without the last character, which depends on what follows.
			s := e.EncodeToString([]byte(v))
			add(s[:len(s)-1])
		}
	}
	if len(forms) == 0 {
		return func(s string) string { return s }
	}
	// The longest first, so that no part of a longer one stays.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, hiddenText)
	}
	r := strings.NewReplacer(pairs...)
	return r.Replace
}
