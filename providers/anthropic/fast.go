package anthropic

import "perch/providers"

// fast reads a content_block_delta, of which a stream mostly consists.
func fast(data []byte, e *event) bool {
	return providers.Members(data, func(key []byte, val []byte) (ok bool) {
		switch string(key) {
		case "type":
			e.Type, ok = providers.Str(val)
			return ok && e.Type == "content_block_delta"
		case "index":
			e.Index, ok = providers.Int(val)
			return ok
		case "delta":
			return providers.Members(val, func(key []byte, val []byte) (ok bool) {
				switch string(key) {
				case "type":
					e.Delta.Type, ok = providers.Str(val)
				case "text":
					e.Delta.Text, ok = providers.Str(val)
				case "thinking":
					e.Delta.Thinking, ok = providers.Str(val)
				case "partial_json":
					e.Delta.Input, ok = providers.Str(val)
				}
				return ok
			})
		}
		return false
	}) && e.Type != ""
}
