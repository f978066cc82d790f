package ollama

import "perch/providers"

// fast reads a line that only adds text.
func fast(data []byte, l *line) bool {
	found := false
	return providers.Members(data, func(key []byte, val []byte) (ok bool) {
		switch string(key) {
		case "model":
			l.Model, ok = providers.Str(val)
			return ok
		case "done":
			return string(val) == "false"
		case "error":
			return false
		case "message":
			found = true
			return providers.Members(val, func(key []byte, val []byte) (ok bool) {
				switch string(key) {
				case "content":
					l.Message.Content, ok = providers.Str(val)
				case "thinking":
					l.Message.Thinking, ok = providers.Str(val)
				case "role":
					ok = true
				}
				return ok
			})
		}
		return true
	}) && found
}
