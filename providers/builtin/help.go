package builtin

import (
	"embed"
	"strings"
)

//go:embed help/*.md
var helpFiles embed.FS

// helpTopic is one section of a help file.
type helpTopic struct {
	name, title, body string
	keywords          []string
}

// help holds the topics of each language in the order of its file.
var help = loadHelp()

func loadHelp() map[language][]helpTopic {
	out := map[language][]helpTopic{}
	for _, l := range languages {
		b, err := helpFiles.ReadFile("help/" + string(l) + ".md")
		if err != nil {
			panic("embedded help: " + err.Error())
		}
		topics, problem := parseHelp(string(b))
		if problem != "" {
			panic("embedded help " + string(l) + ": " + problem)
		}
		out[l] = topics
	}
	return out
}

// parseHelp reads a help file: sections that begin with "# name: Title" and
// "keywords: a, b, c". It returns a problem, or "".
func parseHelp(s string) ([]helpTopic, string) {
	var out []helpTopic
	for _, section := range strings.Split("\n"+strings.TrimSpace(s), "\n# ")[1:] {
		head, rest, _ := strings.Cut(section, "\n")
		name, title, ok := strings.Cut(head, ": ")
		if !ok {
			return nil, "a heading without a name: " + head
		}
		line, body, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		list, ok := strings.CutPrefix(line, "keywords: ")
		if !ok {
			return nil, name + " has no keywords"
		}
		t := helpTopic{name: name, title: title, body: strings.TrimSpace(body)}
		for _, k := range strings.Split(list, ",") {
			t.keywords = append(t.keywords, strings.ToLower(strings.TrimSpace(k)))
		}
		out = append(out, t)
	}
	return out, ""
}

// helpText is a topic as it is shown.
func helpText(name string, l language) string {
	for _, t := range help[l] {
		if t.name == name {
			return "**" + t.title + "**\n\n" + t.body
		}
	}
	return l.say("see_help")
}

const (
	// strongScore is from where on a question is about Perch for sure: two
	// keywords of a topic, or one and the program's name.
	strongScore = 2
	// shortQuestion is how many words a question may have for one keyword to
	// decide: "hotkey?" asks for the hotkey, a longer text may mean anything.
	shortQuestion = 3
)

// findHelp returns the topic that fits a question best, "" for none, and whether
// the question is surely about Perch.
func findHelp(text string, l language) (topic string, strong bool) {
	low := strings.ToLower(clip(text, maxInput))
	ws := tokens(low)
	named := strings.Contains(low, "perch")
	best := 0
	for _, t := range help[l] {
		score := 0
		for _, k := range t.keywords {
			if l.mentions(low, ws, k) {
				score++
				if strings.ContainsRune(k, ' ') {
					score++ // a phrase says more than a word
				}
			}
		}
		if score > best {
			best, topic = score, t.name
		}
	}
	if best == 0 {
		if named && len(ws) <= shortQuestion+2 {
			return "what", true
		}
		return "", false
	}
	few := len(ws) <= shortQuestion
	if l == chinese {
		few = len([]rune(low)) <= shortQuestion*3 // some three characters stand for a word
	}
	return topic, best >= strongScore || named || few
}

// minStem is the length from which a keyword also matches the beginning of a
// word, so that endings do not matter, in letters.
const minStem = 4

// mentions reports whether a question has a keyword. Chinese has no blanks, and
// a phrase has some: both are searched for as they are. A keyword that ends with
// "*" is a stem.
func (l language) mentions(low string, ws []string, keyword string) bool {
	stem, isStem := strings.CutSuffix(keyword, "*")
	if l == chinese && !isASCII(stem) || strings.ContainsRune(stem, ' ') {
		return strings.Contains(low, stem)
	}
	for _, w := range ws {
		if w == stem || isStem && strings.HasPrefix(w, stem) ||
			len([]rune(stem)) >= minStem && (w == stem+"s" || w == stem+"n" || w == stem+"en") {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
