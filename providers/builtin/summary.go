package builtin

import (
	"strings"

	"perch/providers"
)

// Marks of the request for a summary, as the harness writes it.
const (
	summaryHead = "The conversation to summarise:"
	summaryTail = "Now write the summary."
)

// isSummaryRequest reports whether the harness asks for a summary. The stand-in
// makes one by extraction, so that long sessions work without a model too.
func isSummaryRequest(req *providers.Request, text string) bool {
	return len(req.Tools) == 0 && strings.Contains(text, summaryHead) &&
		strings.HasSuffix(strings.TrimSpace(text), summaryTail)
}

const (
	// summaryTokens is the size of a summary where the request gives no limit.
	summaryTokens = 1000
	// summaryLine is the most that one entry keeps, in bytes.
	summaryLine = 300
)

// summarise extracts what the user asked and which tools were called, newest
// kept first where not all fits.
func summarise(text string, maxOutput int) string {
	if maxOutput <= 0 {
		maxOutput = summaryTokens
	}
	old, body, _ := strings.Cut(text, summaryHead)
	body = strings.TrimSuffix(strings.TrimSpace(body), summaryTail)
	var entries []string
	for _, l := range strings.Split(old, "\n") {
		if strings.HasPrefix(l, "- ") {
			entries = append(entries, l)
		}
	}
	who := ""
	for _, l := range strings.Split(body, "\n") {
		switch t := strings.TrimSpace(l); {
		case t == "## User":
			who = "The user said: "
		case t == "## Assistant":
			who = ""
		case strings.HasPrefix(t, "[calls "):
			entries = append(entries, "- Tool: "+oneLine(strings.Trim(strings.TrimPrefix(t, "[calls "), "[]")))
			who = ""
		case strings.HasPrefix(t, "[error of "):
			entries = append(entries, "- Failed: "+oneLine(strings.Trim(t, "[]")))
			who = ""
		case t != "" && who != "":
			entries = append(entries, "- "+who+oneLine(t))
			who = ""
		}
	}
	const head = "Extract of the conversation so far (made without a language model):\n"
	room := maxOutput*bytesPerToken - len(head)
	first := len(entries)
	for first > 0 && room > len(entries[first-1])+1 {
		first--
		room -= len(entries[first]) + 1
	}
	if first == len(entries) {
		return strings.TrimSpace(head)
	}
	return head + strings.Join(entries[first:], "\n")
}

// oneLine shortens a text to one entry.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > summaryLine {
		s = clip(s, summaryLine) + " …"
	}
	return s
}
