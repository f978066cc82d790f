package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"perch/chat"
	"perch/control"
	"perch/store"
)

// recentSessions is how many sessions the tray menu lists.
const recentSessions = 10

// statsBucket holds one value a day, keyed by date.
const statsBucket = "stats"

// State is the part of the program's state that the hub knows.
func (h *Hub) State(_ context.Context) (control.State, error) {
	found, err := h.store.List(store.Query{Limit: recentSessions})
	if err != nil {
		return control.State{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := control.State{Problems: append([]string(nil), h.problems...)}
	for _, f := range found {
		i := h.infoLocked(f.SessionMeta)
		i.Problem = f.Problem
		s.Recent = append(s.Recent, i)
		s.Activity = moreUrgent(s.Activity, i.Activity)
	}
	for id, l := range h.live {
		_ = id
		s.Activity = moreUrgent(s.Activity, l.activity(""))
	}
	if h.o.Model != nil {
		s.Model = h.o.Model()
	}
	return s, nil
}

// urgency orders activities by how much they want the user's eye.
var urgency = map[control.Activity]int{control.Idle: 0, control.Done: 1, control.Running: 2, control.Failed: 3, control.Waiting: 4}

func moreUrgent(a, b control.Activity) control.Activity {
	if urgency[b] > urgency[a] {
		return b
	}
	return a
}

// Problem adds a visible line to the state, once.
func (h *Hub) Problem(line string) {
	h.mu.Lock()
	for _, p := range h.problems {
		if p == line {
			h.mu.Unlock()
			return
		}
	}
	h.problems = append(h.problems, line)
	h.mu.Unlock()
	h.stateChanged()
}

// WatchState calls changed after every change of the state, until ctx ends.
// Changes that come while it works are merged.
func (h *Hub) WatchState(ctx context.Context, changed func() error) error {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	h.states[ch] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.states, ch)
		h.mu.Unlock()
	}()
	for {
		if err := changed(); err != nil {
			return err
		}
		select {
		case <-ch:
		case <-h.ctx.Done():
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// StateChanged tells the watchers of the state that something outside the hub
// changed, such as the hotkey.
func (h *Hub) StateChanged() { h.stateChanged() }

func (h *Hub) stateChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.states {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// ended adds a run to the statistics of its day.
func (h *Hub) ended(res chat.Result, calls map[string]int) {
	day := time.Now().Format(time.DateOnly)
	err := h.store.ChangeValue(statsBucket, day, func(old []byte) ([]byte, error) {
		var s control.Stats
		if old != nil {
			if err := json.Unmarshal(old, &s); err != nil {
				s = control.Stats{} // a day that cannot be read begins anew
			}
		}
		addRun(&s, res, calls)
		return json.Marshal(s)
	})
	if err != nil {
		h.o.Log.Error("the statistics were not saved", "error", err.Error())
	}
}

func addRun(s *control.Stats, res chat.Result, calls map[string]int) {
	one := control.Stats{
		Runs: 1, Retries: res.Retries, Compactions: res.Compactions, Rounds: res.Rounds, Refused: res.Refused,
		Usage: res.Usage, ToolCalls: calls, ToolFailures: res.ToolFailures, Timings: res.Timings,
		Models: map[string]control.ModelStat{res.Model: {Runs: 1, Usage: res.Usage}},
	}
	if res.StopReason == chat.StopError {
		one.Failed = 1
	}
	addStats(s, one)
}

// addStats adds b to a.
func addStats(a *control.Stats, b control.Stats) {
	a.Runs += b.Runs
	a.Failed += b.Failed
	a.Retries += b.Retries
	a.Compactions += b.Compactions
	a.Rounds += b.Rounds
	a.Refused += b.Refused
	a.Usage = a.Usage.Add(b.Usage)
	a.Timings.Provider += b.Timings.Provider
	a.Timings.Tools += b.Timings.Tools
	a.Timings.Compaction += b.Timings.Compaction
	a.Timings.Waiting += b.Timings.Waiting
	if a.ToolCalls == nil {
		a.ToolCalls = map[string]int{}
	}
	for k, n := range b.ToolCalls {
		a.ToolCalls[k] += n
	}
	for _, f := range b.ToolFailures {
		addFailure(a, f)
	}
	if a.Models == nil {
		a.Models = map[string]control.ModelStat{}
	}
	for k, m := range b.Models {
		old := a.Models[k]
		a.Models[k] = control.ModelStat{Runs: old.Runs + m.Runs, Usage: old.Usage.Add(m.Usage)}
	}
}

func addFailure(a *control.Stats, f chat.ToolFailures) {
	for i := range a.ToolFailures {
		if a.ToolFailures[i].Tool == f.Tool && a.ToolFailures[i].Kind == f.Kind {
			a.ToolFailures[i].Count += f.Count
			return
		}
	}
	a.ToolFailures = append(a.ToolFailures, f)
}

// Stats are the sums over all days.
func (h *Hub) Stats(context.Context) (control.Stats, error) {
	var all control.Stats
	today := time.Now().Format(time.DateOnly)
	err := h.store.Values(statsBucket, func(key string, value []byte) error {
		var s control.Stats
		if err := json.Unmarshal(value, &s); err != nil {
			return nil // one unreadable day does not hide the others
		}
		if key == today {
			all.Today = s.Usage
		}
		addStats(&all, s)
		return nil
	})
	if err != nil {
		return all, fmt.Errorf("read the statistics: %w", err)
	}
	all.ToolCalls = maps.Clone(all.ToolCalls)
	return all, nil
}

// spentToday is the cost of today's runs in US dollars.
func (h *Hub) spentToday() float64 {
	b, err := h.store.Value(statsBucket, time.Now().Format(time.DateOnly))
	if err != nil || b == nil {
		return 0
	}
	var s control.Stats
	if json.Unmarshal(b, &s) != nil {
		return 0
	}
	return s.Usage.Cost
}
