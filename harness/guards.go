package harness

import (
	"crypto/sha256"
	"strings"
	"unicode"

	"perch/chat"
)

// Limits of the rules that ask the model once more or end a run.
const (
	// continuations is how often the rest of an answer cut off by the output
	// limit is asked for.
	continuations = 2
	// emptyRetries is how often an empty answer is asked for again.
	emptyRetries = 1
	// repeatNote and repeatEnd are how many times in a row the same call with
	// the same result earns a note, and ends the run.
	repeatNote = 3
	repeatEnd  = 5
)

// What the harness itself says to the model.
const (
	continueText = "Your answer was cut off by the output limit. Go on exactly where it stopped, without repeating anything."
	cutOffText   = "This call was not run: your answer was cut off by the output limit before its arguments were complete. Send the call again, with less in it; write large content in several steps."
	repeatText   = "\n\n[This is the third time in a row that this call was made with these arguments and gave this result. It will not change. Do something else, or answer with what is known.]"
)

// repeats counts how often the same call gave the same result in a row.
type repeats struct {
	last  [sha256.Size]byte
	count int
}

// see notes a call and its result and returns how many times in a row it came.
func (r *repeats) see(c *chat.ToolCall, res *chat.ToolResult) int {
	h := sha256.New()
	for _, s := range []string{c.Name, c.Input, res.Text} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	for _, img := range res.Images {
		h.Write([]byte(img.Hash))
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	if sum != r.last {
		r.last, r.count = sum, 0
	}
	r.count++
	return r.count
}

// isEmpty reports whether an answer holds neither calls nor anything to read.
func isEmpty(m *chat.Message) bool {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case chat.PartCall, chat.PartImage:
			return false
		case chat.PartText:
			if !blank(p.Text) {
				return false
			}
		}
	}
	return true
}

// blank reports whether a text shows nothing: white space and characters without
// a shape, such as the zero-width space.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.IsControl(r) }) < 0
}

// next is what follows a complete answer.
type next uint8

const (
	nextEnd      next = iota + 1 // the run ends
	nextTools                    // run the calls, then ask again
	nextCutOff                   // answer the calls with an error, then ask again
	nextContinue                 // ask for the rest
	nextEmpty                    // ask once more, storing nothing
	nextOverflow                 // compact, then ask again
)

// afterAnswer decides what follows an answer. Calls count whatever the stop
// reason is called, except that an answer cut off by the output limit has none
// of its calls run.
func afterAnswer(m *chat.Message, continued int) next {
	switch {
	case m.Stop == chat.StopRefusal || m.Stop == chat.StopContentFilter:
		return nextEnd
	case m.Stop == chat.StopOverflow:
		return nextOverflow
	case m.HasCalls() && m.Stop == chat.StopOutputLimit:
		return nextCutOff
	case m.HasCalls():
		return nextTools
	case isEmpty(m):
		return nextEmpty
	case m.Stop == chat.StopOutputLimit && continued < continuations:
		return nextContinue
	}
	return nextEnd
}
