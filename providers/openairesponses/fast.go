package openairesponses

import (
	"strings"

	"perch/providers"
)

// fast reads a delta, of which a stream mostly consists.
func fast(data []byte, e *event) bool {
	return providers.Members(data, func(key []byte, val []byte) (ok bool) {
		switch string(key) {
		case "type":
			e.Type, ok = providers.Str(val)
			return ok && strings.HasSuffix(e.Type, ".delta")
		case "output_index":
			e.OutputIndex, ok = providers.Int(val)
			return ok
		case "summary_index":
			e.SummaryIndex, ok = providers.Int(val)
			return ok
		case "delta":
			e.Delta, ok = providers.Str(val)
			return ok
		}
		return string(key) != "error" && string(key) != "item" && string(key) != "response"
	}) && e.Type != ""
}
