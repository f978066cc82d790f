package backend

import (
	"fmt"
	"strconv"
	"strings"
)

// SetName names the set of vectors of a model and dimension. Both are part of
// the name, so that vectors of different models never meet.
func SetName(model string, dim int) string { return fmt.Sprintf("%s@%d", model, dim) }

// ParseSet takes a set's name apart.
func ParseSet(set string) (model string, dim int, ok bool) {
	i := strings.LastIndexByte(set, '@')
	if i < 0 {
		return "", 0, false
	}
	dim, err := strconv.Atoi(set[i+1:])
	return set[:i], dim, err == nil && dim > 0
}
