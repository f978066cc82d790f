package gemini

import "perch/providers"

// fast reads a chunk that only adds text. Usage is taken by the caller from
// what is returned, since it comes with every chunk.
func fast(data []byte, p *partIn, model *string, usage *[]byte) bool {
	found := false
	return providers.Members(data, func(key []byte, val []byte) (ok bool) {
		switch string(key) {
		case "candidates":
			one, ok := providers.Only(val)
			return ok && providers.Members(one, func(key []byte, val []byte) bool {
				switch string(key) {
				case "index":
					return string(val) == "0"
				case "content":
					found = true
					return fastContent(val, p)
				}
				return string(key) != "finishReason"
			})
		case "usageMetadata":
			*usage = val
			return true
		case "modelVersion":
			*model, ok = providers.Str(val)
			return ok
		case "error", "promptFeedback":
			return false
		}
		return true
	}) && found
}

func fastContent(b []byte, p *partIn) bool {
	return providers.Members(b, func(key []byte, val []byte) bool {
		if string(key) != "parts" {
			return string(key) == "role"
		}
		one, ok := providers.Only(val)
		return ok && providers.Members(one, func(key []byte, val []byte) (ok bool) {
			switch string(key) {
			case "text":
				p.Text, ok = providers.Str(val)
			case "thought":
				p.Thought, ok = string(val) == "true", true
			}
			return ok
		})
	})
}
