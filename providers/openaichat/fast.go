package openaichat

import "perch/providers"

// fastChunk is what a chunk of plain text or arguments holds.
type fastChunk struct {
	model, content, reasoning, plainReasoning string
	args                                      string
	index                                     int
	hasArgs                                   bool
}

// fast reads a chunk that only adds text or a piece of arguments.
func fast(data []byte, c *fastChunk) bool {
	choices := false
	return providers.Members(data, func(key []byte, val []byte) (ok bool) {
		switch string(key) {
		case "model":
			c.model, ok = providers.Str(val)
			return ok
		case "choices":
			choices = true
			one, ok := providers.Only(val)
			return ok && fastChoice(one, c)
		case "usage", "error", "x_groq":
			return providers.Null(val)
		case "object":
			return string(val) == `"chat.completion.chunk"`
		}
		return string(key) != "message"
	}) && choices
}

func fastChoice(b []byte, c *fastChunk) bool {
	return providers.Members(b, func(key []byte, val []byte) bool {
		switch string(key) {
		case "index":
			return string(val) == "0"
		case "finish_reason", "error", "usage":
			return providers.Null(val)
		case "delta":
			return providers.Members(val, func(key []byte, val []byte) (ok bool) {
				if providers.Null(val) {
					return true
				}
				switch string(key) {
				case "content":
					c.content, ok = providers.Str(val)
				case "reasoning_content":
					c.reasoning, ok = providers.Str(val)
				case "reasoning":
					c.plainReasoning, ok = providers.Str(val)
				case "tool_calls":
					one, only := providers.Only(val)
					return only && fastCall(one, c)
				case "role":
					ok = true
				}
				return ok
			})
		}
		return true
	})
}

// fastCall reads a piece of arguments for a call that is named by its index
// alone.
func fastCall(b []byte, c *fastChunk) bool {
	c.index = -1
	return providers.Members(b, func(key []byte, val []byte) (ok bool) {
		switch string(key) {
		case "index":
			c.index, ok = providers.Int(val)
			return ok
		case "id":
			return providers.Null(val)
		case "type":
			return true
		case "function":
			return providers.Members(val, func(key []byte, val []byte) (ok bool) {
				switch string(key) {
				case "arguments":
					c.hasArgs = true
					c.args, ok = providers.Str(val)
				case "name":
					ok = providers.Null(val)
				}
				return ok
			})
		}
		return false
	}) && c.hasArgs && c.index >= 0
}

// take adds what fast read; false where it belongs to no open call.
func (d *decoder) take(a *providers.Answer, c *fastChunk) bool {
	at := -1
	if c.hasArgs {
		for i := len(d.calls) - 1; i >= 0 && at < 0; i-- {
			if d.calls[i].index == c.index {
				at = i
			}
		}
		if at < 0 || d.calls[at].name == "" {
			return false
		}
	}
	if c.model != "" {
		a.Model = c.model
	}
	if !d.sawDetails {
		if c.reasoning != "" {
			a.Thinking(c.reasoning)
		} else {
			a.Thinking(c.plainReasoning)
		}
	}
	a.Text(c.content)
	if c.args != "" {
		k := &d.calls[at]
		if a.Len(k.block) == 0 {
			k.head = c.args[0]
		}
		k.tail = c.args[len(c.args)-1]
		a.Input(k.block, c.args)
	}
	return true
}
