package harness

import (
	"unicode/utf8"

	"perch/chat"
)

// Shares of the context window that rule compaction. They are the product's
// definition; only the trigger is a setting.
const (
	estimateSafety  = 1.05 // the estimate is multiplied by it before it is compared
	tailShare       = 0.20 // the tail: as much of the newest history as fits
	targetShare     = 0.40 // the result of a compaction is at most this full
	pinnedShare     = 0.10 // pinned messages together
	summaryShare    = 0.08 // the summary
	emergencyShare  = 0.90 // above it, without a summary, results are shortened
	undoneShare     = 0.85 // after an undo automatic compaction waits until here
	minSavingShare  = 0.10 // a compaction that saves less is not done
	growthShare     = 0.10 // growth of the history between two automatic ones
	messageShare    = 0.40 // a single user message above it is refused
	fixedNormal     = 0.20 // prompt and tools up to here: shares are of the window
	fixedTooMuch    = 0.40 // above it tools are left out
	summaryMax      = 4096 // tokens; longer summaries were not seen to help
	summaryMin      = 256  // tokens
	minReply        = 256  // tokens that must be left for an answer
	headOfShortened = 600  // runes kept from the start of a shortened result
	tailOfShortened = 300  // runes kept from its end
)

// budget are the token limits of one run, for a window and what is fixed in it.
type budget struct {
	window  int
	fixed   int // system prompt and tool definitions
	trigger int // total above which to compact
	undone  int // the same after an undo
	target  int // total that a compaction must reach
	tail    int // history tokens of the tail
	pinned  int // history tokens of pinned messages
	summary int // tokens of the summary
	panic   int // total above which results are shortened without a summary
	saving  int // least saving
	growth  int // least growth between two
	message int // largest single message
}

// newBudget computes the limits. Where prompt and tools take more than a fifth
// of the window, the shares apply to what they leave.
func newBudget(window, fixed int, compactAt float64) budget {
	base, room := 0, window
	if float64(fixed) > fixedNormal*float64(window) {
		base, room = fixed, max(window-fixed, 0)
	}
	share := func(f float64) int { return int(f * float64(room)) }
	return budget{
		window: window, fixed: fixed,
		trigger: base + share(compactAt),
		undone:  base + share(undoneShare),
		target:  base + share(targetShare),
		tail:    share(tailShare),
		pinned:  share(pinnedShare),
		summary: min(summaryMax, max(summaryMin, share(summaryShare))),
		panic:   base + share(emergencyShare),
		saving:  share(minSavingShare),
		growth:  share(growthShare),
		message: share(messageShare),
	}
}

// cut is where a compaction divides the view.
type cut struct {
	at int // index of the first message of the tail
	// shorten are indexes of tool results in the tail to shorten, oldest first.
	shorten []int
	// carry are indexes before at that are kept with the tail: the user's last
	// words when the work on them alone is too long.
	carry []int
}

// cutPoint finds where to cut a view of messages with these token counts. first
// is where the tail of an earlier compaction begins: the cut is never before it.
//
// The tail never begins with a tool result and never separates a call from its
// result. It is as much of the newest history as fits the tail's share; the last
// user message and all after it is kept even up to what the target leaves.
// Beyond that, results in the tail are shortened, oldest first; and where even
// that is not enough, the user's last message is carried and older rounds after
// it go into the summary.
//
// ok is false where there is nothing before the cut to summarise.
func cutPoint(msgs []chat.Message, tokens []int, first, pinnedTokens int, b budget) (c cut, ok bool) {
	room := max(b.target-b.fixed-b.summary-min(pinnedTokens, b.pinned), 0)
	lastUser := lastUserIndex(msgs)
	c.at = max(fitFromEnd(msgs, tokens, min(b.tail, room)), first)
	if lastUser >= first && lastUser < c.at {
		c.at = lastUser
	}
	carried := 0
	if lastUser >= 0 && lastUser < first {
		c.carry, carried = []int{lastUser}, tokens[lastUser]
	}
	if sum(tokens[c.at:])+carried > room {
		c.shorten = resultsToShorten(msgs, tokens, c.at, room-carried)
		left := sum(tokens[c.at:]) - saved(msgs, tokens, c.shorten) + carried
		if left > room && lastUser >= 0 {
			later := fitFromEnd(msgs, tokens, max(room-tokens[lastUser], 0))
			if later > max(lastUser+1, c.at) {
				c = cut{at: later, carry: []int{lastUser}}
				c.shorten = resultsToShorten(msgs, tokens, later, room-tokens[lastUser])
			}
		}
	}
	gone := c.at - first
	for _, i := range c.carry {
		if i >= first {
			gone--
		}
	}
	return c, gone > 0
}

// fitFromEnd returns the smallest clean boundary whose tail has at most limit
// tokens. The newest round is always part of the tail.
func fitFromEnd(msgs []chat.Message, tokens []int, limit int) int {
	best, total := len(msgs), 0
	for i := len(msgs) - 1; i >= 0; i-- {
		total += tokens[i]
		if msgs[i].Role == chat.RoleTool {
			continue // never a boundary
		}
		if total > limit && best < len(msgs) {
			break
		}
		best = i
	}
	if best == len(msgs) {
		return 0
	}
	return best
}

func lastUserIndex(msgs []chat.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == chat.RoleUser && msgs[i].Kind == chat.KindOrdinary {
			return i
		}
	}
	return -1
}

// resultsToShorten picks results from start on, oldest first, until the tail
// fits limit or none is left.
func resultsToShorten(msgs []chat.Message, tokens []int, start, limit int) []int {
	var out []int
	over := sum(tokens[start:]) - limit
	for i := start; i < len(msgs) && over > 0; i++ {
		if s := shortSaving(&msgs[i], tokens[i]); s > 0 {
			out = append(out, i)
			over -= s
		}
	}
	return out
}

func saved(msgs []chat.Message, tokens []int, which []int) int {
	n := 0
	for _, i := range which {
		n += shortSaving(&msgs[i], tokens[i])
	}
	return n
}

// shortSaving estimates what shortening a result saves, 0 where it would not.
func shortSaving(m *chat.Message, tokens int) int {
	if m.Result == nil {
		return 0
	}
	n := utf8.RuneCountInString(m.Result.Text)
	keep := headOfShortened + tailOfShortened
	if n <= keep+keep/2 {
		return 0
	}
	return tokens * (n - keep) / n
}

// shortenText keeps head and tail of a text and names the size removed between.
func shortenText(s string) string {
	r := []rune(s)
	keep := headOfShortened + tailOfShortened
	if len(r) <= keep+keep/2 {
		return s
	}
	return string(r[:headOfShortened]) +
		"\n[… " + itoa(len(r)-keep) + " characters removed to save space; call the tool again if they are needed …]\n" +
		string(r[len(r)-tailOfShortened:])
}

func sum(v []int) int {
	n := 0
	for _, x := range v {
		n += x
	}
	return n
}
