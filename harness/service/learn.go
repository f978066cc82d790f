package service

import (
	"encoding/json"
	"sync"

	"perch/harness/tokens"
	"perch/store"
)

// ratioBucket holds the learned ratio of each model.
const ratioBucket = "token_ratio"

// Ratios keep, per model, how far the vendor's count is from the estimate.
type Ratios struct {
	s store.Store

	mu    sync.Mutex // protects cache
	cache map[string]tokens.Ratio
}

// NewRatios returns the ratios that a store keeps.
func NewRatios(s store.Store) *Ratios { return &Ratios{s: s, cache: map[string]tokens.Ratio{}} }

func (r *Ratios) get(model string) tokens.Ratio {
	if x, ok := r.cache[model]; ok {
		return x
	}
	var x tokens.Ratio
	if b, err := r.s.Value(ratioBucket, model); err == nil && b != nil {
		if json.Unmarshal(b, &x) != nil {
			x = tokens.Ratio{} // learned anew
		}
	}
	r.cache[model] = x
	return x
}

// Factor corrects an estimate for a model.
func (r *Ratios) Factor(model string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.get(model).Factor()
}

// Learn takes one report in. A ratio that cannot be saved is learned again.
func (r *Ratios) Learn(model string, reported, estimated int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.get(model).Learn(reported, estimated)
	r.cache[model] = x
	if b, err := json.Marshal(x); err == nil {
		_ = r.s.SetValue(ratioBucket, model, b)
	}
}
