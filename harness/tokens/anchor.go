package tokens

// Anchor is the input size that a vendor reported, to start the next estimate
// from. It holds for one session and model: drop it (the zero value) at a
// compaction, undo or shortening; another model ignores it by itself.
type Anchor struct {
	Model    string `json:"model"`
	Reported int    `json:"reported"` // tokens the vendor counted
	// Estimated is what the estimate said for the same request.
	Estimated int `json:"estimated"`
}

// Set reports whether there is an anchor for that model.
func (a Anchor) Set(model string) bool { return a.Reported > 0 && a.Model == model }

// Input is the best estimate of a request whose plain estimate is given: the
// reported figure and what came since, corrected by the ratio learned for the
// model (0 is none). Without an anchor for the model it is the corrected
// estimate.
func (a Anchor) Input(model string, estimate int, ratio float64) int {
	if ratio <= 0 {
		ratio = 1
	}
	if !a.Set(model) || estimate < a.Estimated {
		// Fewer than at the anchor: something was taken away, and the anchor
		// would count it still.
		return int(float64(estimate)*ratio + .5)
	}
	return a.Reported + int(float64(estimate-a.Estimated)*ratio+.5)
}
