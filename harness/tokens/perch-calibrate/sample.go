package main

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"unicode/utf8"
)

// message is one text as a chat would hold it.
type message struct {
	kind string
	text string
}

// Messages are as long as those that the errors are stated for, in runes.
const (
	minMessage = 500
	maxMessage = 2000
)

// heldOut are the sources that no figure is fitted on.
var heldOut = map[string]bool{
	"debian-handbook": true, "debian-faq-de": true, "debian-faq-fr": true, "debian-faq-it": true, "debian-faq-ja": true,
	"debian-faq-ru": true, "debian-faq-zh-cn": true, "developers-reference": true, "developers-reference-de": true,
	"developers-reference-fr": true, "developers-reference-it": true, "developers-reference-ja": true,
	"developers-reference-ru": true, "maint-guide-ja": true, "maint-guide-zh-cn": true, "fortunes-de": true,
	"fortunes-es": true, "fortunes-it": true, "fortunes-ru": true, "code-held": true,
}

// halved are sources and kinds whose documents are divided between both: the
// only Arabic, the only literature in most languages, and data, of which there is
// little.
var halved = map[string]bool{
	"ar": true, "fa": true, "json": true, "fortunes-de": true, "fortunes-es": true, "fortunes-it": true, "fortunes-ru": true, "anarchism": true,
}

// budgets are how much text of a kind is fitted on, in bytes; other languages
// get otherBudget. Languages of Perch's interface, CJK and code get more: that is
// what its users write.
var budgets = map[string]int{
	"en": 3 << 20, "code": 3 << 20, "json": 1 << 20, "terminal": 512 << 10,
	"zh": 5 << 19, "zh-tw": 1 << 20, "ja": 2 << 20, "ko": 2 << 20, "ru": 1 << 20, "de": 1 << 20,
	"fr": 768 << 10, "es": 768 << 10,
}

const otherBudget = 256 << 10

// heldBudget is how many messages of a kind are measured.
const heldBudget = 60

// cut splits a document into messages that begin and end at lines where it can.
func cut(d document, r *rand.Rand) []message {
	var out []message
	s := d.text
	for {
		s = strings.TrimLeft(s, "\n")
		want := minMessage + r.IntN(maxMessage-minMessage+1)
		end, n, lastLine := 0, 0, 0
		for i, c := range s {
			if n >= want {
				break
			}
			n++
			end = i + utf8.RuneLen(c)
			if c == '\n' && n >= minMessage {
				lastLine = end
			}
		}
		if n < minMessage {
			return out
		}
		if lastLine > 0 && n >= want {
			end = lastLine
		}
		out = append(out, message{d.kind, strings.TrimRight(s[:end], " \n")})
		s = s[end:]
	}
}

// split divides the corpus into messages to fit on and messages to measure.
// It is the same for the same corpus: the generator has a fixed seed.
func split(docs []document) (fit, measure []message) {
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	size, seen := map[string]int{}, map[string]bool{}
	count := map[string]int{}
	for i, d := range docs {
		held := heldOut[d.source]
		// Of some kinds there is one source only: half of its documents go to each.
		if halved[d.source] || halved[d.kind] {
			held = i%2 == 0 && (heldOut[d.source] || halved[d.source])
		}
		budget, ok := budgets[d.kind]
		if !ok {
			budget = otherBudget
		}
		if held {
			if count[d.kind] >= heldBudget {
				continue
			}
		} else if size[d.kind] >= budget {
			continue
		}
		ms := cut(d, r)
		// Translations are often incomplete and hold the same English.
		const perDocument = 12
		if len(ms) > perDocument && held {
			r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
			ms = ms[:perDocument]
		}
		for _, m := range ms {
			if seen[m.text] || !speaks(m) {
				continue
			}
			seen[m.text] = true
			if held {
				measure = append(measure, m)
				count[m.kind]++
			} else {
				fit = append(fit, m)
				size[m.kind] += len(m.text)
			}
		}
	}
	return append(fit, mixtures(fit, r, len(fit)/20)...), append(measure, mixtures(measure, r, heldBudget)...)
}

// speaks reports whether a text that should be of a script of its own is in
// that script for a good part; untranslated pages are left out.
func speaks(m message) bool {
	var from, to rune
	switch m.kind {
	case "zh", "zh-tw":
		from, to = 0x4e00, 0x9fff
	case "ja":
		from, to = 0x3040, 0x9fff
	case "ko":
		from, to = 0xac00, 0xd7a3
	case "ru", "uk", "sr":
		from, to = 0x400, 0x4ff
	case "el":
		from, to = 0x370, 0x3ff
	case "ar", "fa":
		from, to = 0x600, 0x6ff
	case "he":
		from, to = 0x590, 0x5ff
	default:
		return true
	}
	n, all := 0, 0
	for _, r := range m.text {
		if r > ' ' {
			all++
		}
		if r >= from && r <= to {
			n++
		}
	}
	return n*4 >= all
}

// mixtures are messages as chats have them: a question, code and data in one.
func mixtures(from []message, r *rand.Rand, n int) []message {
	by := map[string][]message{}
	for _, m := range from {
		by[m.kind] = append(by[m.kind], m)
	}
	prose := make([]string, 0, len(by))
	for k := range by {
		if k != "code" && k != "json" && k != "terminal" {
			prose = append(prose, k)
		}
	}
	sort.Strings(prose)
	if len(prose) == 0 || len(by["code"]) == 0 || len(by["json"]) == 0 {
		return nil
	}
	pick := func(kind string, most int) string {
		s := []rune(by[kind][r.IntN(len(by[kind]))].text)
		return string(s[:min(len(s), most/2+r.IntN(most/2))])
	}
	common := []string{"en", "en", "zh", "ja", "ko", "de", "ru"}
	out := make([]message, 0, n)
	for len(out) < n {
		lang := common[r.IntN(len(common))]
		if len(by[lang]) == 0 || r.IntN(4) == 0 {
			lang = prose[r.IntN(len(prose))]
		}
		var text string
		switch r.IntN(3) {
		case 0:
			text = fmt.Sprintf("%s\n\n```go\n%s\n```\n\n%s", pick(lang, 500), pick("code", 700), pick(lang, 400))
		case 1:
			text = fmt.Sprintf("%s\n\n```json\n%s\n```", pick(lang, 800), pick("json", 700))
		default:
			text = fmt.Sprintf("{\"path\":\"src/main.go\",\"text\":%q}\n\n%s", pick("code", 500), pick(lang, 900))
		}
		out = append(out, message{"mixed", text})
	}
	return out
}
