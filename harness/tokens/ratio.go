package tokens

import "math"

// Limits of a learned ratio. Vendors differ from a family's public vocabulary by
// up to 1.5 times, a wrong family on Chinese by 2.5: the ratio must be able to
// get there, and no single odd report may push it further.
const (
	minRatio = 0.4
	maxRatio = 2.5
)

// Weight of reports. The first is taken as it is; later ones are averaged with
// what was learned, so that one odd conversation does not undo the others.
const (
	keepReports = 8    // reports remembered, in effect
	minLearn    = 200  // tokens; below it the frame outweighs the text
	sizeFull    = 4000 // tokens from which on a report counts fully
)

// Ratio is the learned ratio of reported to estimated tokens of one model. Its
// JSON is what the caller keeps. The zero value has learned nothing.
type Ratio struct {
	Value  float64 `json:"value,omitempty"`
	Weight float64 `json:"weight,omitempty"` // reports behind Value, at most keepReports
}

// Factor corrects an estimate; 1 before anything was learned.
func (r Ratio) Factor() float64 {
	if math.IsNaN(r.Value) || r.Value <= 0 {
		return 1
	}
	return min(max(r.Value, minRatio), maxRatio)
}

// Learn returns the ratio after one more report. Reports on short requests, and
// those without sense, teach nothing.
func (r Ratio) Learn(reported, estimated int) Ratio {
	if reported < minLearn || estimated < minLearn {
		return r
	}
	seen := min(max(float64(reported)/float64(estimated), minRatio), maxRatio)
	w := min(float64(estimated)/sizeFull, 1)
	if math.IsNaN(r.Value) || math.IsNaN(r.Weight) || r.Value <= 0 || r.Weight <= 0 {
		return Ratio{Value: seen, Weight: w}
	}
	old := min(r.Weight, keepReports)
	// In logarithms, so that 0.5 and 2 balance.
	v := math.Exp((math.Log(r.Factor())*old + math.Log(seen)*w) / (old + w))
	return Ratio{Value: v, Weight: min(old+w, keepReports)}
}
