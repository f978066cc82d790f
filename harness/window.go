package harness

import (
	"perch/chat"
	"perch/control"
)

// window is what the model sees and how full that is. Messages are counted once;
// a history is a sum.
type window struct {
	est    Estimator
	ratio  float64 // reported over estimated, learned for this model
	budget budget
	prompt int // tokens of the system prompt
	memory int // the part of prompt that memory takes
	tools  int // tokens of the tool definitions

	view    []chat.Message
	tokens  []int
	first   int // see modelView
	history int // sum of tokens

	// anchor is the input size that the vendor reported for the first anchorLen
	// messages of the view, with prompt and tools; 0 for none.
	anchor    int
	anchorLen int
}

// set replaces the view, as after a load or a compaction.
func (w *window) set(view []chat.Message, first int) {
	w.view, w.first = view, first
	w.tokens = make([]int, len(view))
	w.history = 0
	for i := range view {
		w.tokens[i] = w.count(&view[i])
		w.history += w.tokens[i]
	}
	w.anchor, w.anchorLen = 0, 0
}

func (w *window) count(m *chat.Message) int {
	if m.Tokens > 0 && m.TokensBy == w.est.Name() {
		return m.Tokens
	}
	return w.est.Message(m)
}

func (w *window) add(m chat.Message) {
	if w.est == nil {
		return
	}
	n := w.count(&m)
	w.view = append(w.view, m)
	w.tokens = append(w.tokens, n)
	w.history += n
}

// raw is the estimate without anchor, ratio or safety.
func (w *window) raw() int { return w.prompt + w.tools + w.history }

// total is the best estimate of the next request's input, in tokens: what the
// vendor reported plus what came since, or the weights corrected by what was
// learned.
func (w *window) total() int {
	if w.anchor > 0 {
		return w.anchor + w.scaled(sum(w.tokens[w.anchorLen:]))
	}
	return w.scaled(w.raw())
}

func (w *window) scaled(n int) int {
	if w.ratio <= 0 {
		return n
	}
	return int(float64(n) * w.ratio)
}

// factor is how many tokens stand for one counted by the weights.
func (w *window) factor() float64 { return float64(w.total()) / float64(max(w.raw(), 1)) }

// countBudget is the budget in tokens as the weights count them.
func (w *window) countBudget() budget {
	f := w.factor()
	if f <= 0 {
		return w.budget
	}
	b := w.budget
	for _, n := range []*int{&b.window, &b.trigger, &b.undone, &b.target, &b.tail, &b.pinned, &b.summary, &b.panic, &b.saving, &b.growth, &b.message} {
		*n = int(float64(*n) / f)
	}
	return b
}

// safe is total with the safety factor, to be compared with the budget.
func (w *window) safe() int { return int(float64(w.total()) * estimateSafety) }

// anchorAt notes the input size that the vendor reported for the whole view.
func (w *window) anchorAt(reported int) { w.anchor, w.anchorLen = reported, len(w.view) }

// maxOutput clamps the model's output limit so that input and output fit.
func (w *window) maxOutput(limit int) int {
	left := w.budget.window - w.safe()
	if limit <= 0 || limit > left {
		limit = left
	}
	return max(limit, minReply)
}

// context is the occupancy as views show it.
func (w *window) context() control.Context {
	return control.Context{
		Window: w.budget.window, Prompt: w.scaled(w.prompt), Tools: w.scaled(w.tools),
		Memory: w.scaled(w.memory), History: max(w.total()-w.scaled(w.prompt+w.tools), 0),
	}
}

// Small windows: what is left out first when prompt and tools would take more
// than two fifths of the window, and what must remain.
var toolsLeftOut = []string{
	"generate_image", "take_screenshot", "write_clipboard", "read_clipboard", "read_skill",
	"web_search", "web_fetch", "memory", "knowledge_search", "search_files",
	"list_files", "edit_file", "write_file", "run_command", "read_file",
}

// minHistory is the room for a conversation below which a window is too small.
const minHistory = 1024

// fitTools decides which tools are defined, counts what is fixed and sets up
// the window. Tools of connectors and the user's own go first, then the built-in
// ones in a stated order.
func (x *run) fitTools() *chat.Error {
	w := &x.win
	w.est = x.o.Estimator(x.info)
	w.ratio = x.o.Ratio(x.info.String())
	w.prompt = w.est.Text(x.system)
	w.memory = w.est.Text(x.memory)
	var defs []chat.ToolDef
	if x.info.Tools {
		defs = sortedDefs(x.tools)
	}
	size := x.info.ContextWindow
	dropped := 0
	for _, name := range leaveOutOrder(defs) {
		if float64(w.prompt+w.est.Tools(defs)) <= fixedTooMuch*float64(size) {
			break
		}
		defs = without(defs, name)
		dropped++
	}
	x.defs = defs
	w.tools = w.est.Tools(defs)
	if fixed := w.prompt + w.tools; size-fixed < minHistory+minReply {
		return chat.NewError(chat.ClassBadRequest, "err.window_too_small",
			"%s has a window of %d tokens; Perch needs at least %d with this prompt and memory. Choose a model with a larger window, or shorten the memory.",
			x.info.String(), size, fixed+minHistory+minReply)
	}
	if dropped > 0 {
		x.notice("notice.tools_left_out", "The window of %s is small: %d tools were left out for this run.", x.info.String(), dropped)
	}
	w.budget = newBudget(size, w.prompt+w.tools, x.cfg.Context.CompactAt)
	w.set(modelView(x.sess.Messages, x.sess.View))
	x.anchorFromHistory()
	return nil
}

// anchorFromHistory takes over the input size that the vendor reported in the
// last run, if nothing but messages came since.
func (x *run) anchorFromHistory() {
	w := &x.win
	for i := len(w.view) - 1; i >= w.first; i-- {
		m := &w.view[i]
		if m.Role != chat.RoleAssistant || m.Interrupted {
			continue
		}
		mark := x.sess.View.Active()
		if m.Usage != nil && m.Provider == x.info.Provider && m.Model == x.info.ID &&
			m.Usage.TotalInput() > 0 && (mark == nil || m.Time.After(mark.Time)) {
			w.anchor, w.anchorLen = m.Usage.TotalInput(), i
		}
		return
	}
}
