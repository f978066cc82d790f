package harness

import (
	"math/rand/v2"
	"time"

	"perch/chat"
)

// The retry policy. Base and cap are those that vendors' own clients use; the
// longest hint that is waited for is what a person will watch a spinner for.
const (
	backoffBase = time.Second
	backoffCap  = 30 * time.Second // never exceeded, jitter included
	longestHint = 2 * time.Minute
)

// retryPlan says what to do after a failed attempt.
type retryPlan struct {
	again bool
	wait  time.Duration
	// final replaces the error where the reason for giving up is another one.
	final *chat.Error
}

// planRetry decides whether attempt number failed (counted from 1) is followed
// by another one. At most limit retries are made a model call, of all kinds
// together. jitter returns a number in [0,1).
func planRetry(e *chat.Error, failed, limit int, now time.Time, jitter func() float64) retryPlan {
	if !e.Class.Retryable() || failed > limit {
		return retryPlan{}
	}
	if e.HasRetryAfter {
		if e.RetryAfter > longestHint {
			at := clock(now, e.RetryAfter)
			return retryPlan{final: chat.NewError(e.Class, "err.retry_later",
				"%s asks to wait until %s before the next request. Try again then, or choose another model.", orProvider(e), at).Wrap(e)}
		}
		return retryPlan{again: true, wait: e.RetryAfter}
	}
	return retryPlan{again: true, wait: backoff(failed, jitter)}
}

// clock is the time after a wait as a person says it, with the day where that is
// another one.
func clock(now time.Time, wait time.Duration) string {
	at := now.Add(wait)
	if wait < 12*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}

// backoff is exponential with full jitter: uniform in [0, min(cap, base·2ⁿ⁻¹)).
// The cap is applied before the jitter, so no wait is ever longer.
func backoff(failed int, jitter func() float64) time.Duration {
	top := backoffCap
	if failed < 6 {
		top = min(top, backoffBase<<(failed-1))
	}
	return time.Duration(jitter() * float64(top))
}

func orProvider(e *chat.Error) string {
	if e.Provider != "" {
		return e.Provider
	}
	return "The server"
}

// defaultJitter is the source of jitter outside tests.
func defaultJitter() float64 { return rand.Float64() }
