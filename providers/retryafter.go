package providers

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHint bounds what a server may ask for: longer ones are still reported, but
// must fit a duration.
const maxHint = 365 * 24 * time.Hour

// RetryAfter reads how long a server asks to wait: retry-after-ms, then
// retry-after as whole or fractional seconds or as an HTTP date relative to the
// response's Date (now where there is none). A past date is 0; nonsense is no
// hint.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := number(v, time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		if at, err = time.Parse(time.RFC1123Z, v); err != nil {
			return 0, false
		}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxHint), true
}

// retryDelay reads Gemini's duration, "37s" or "0.5s".
func retryDelay(s string) (time.Duration, bool) {
	v, ok := strings.CutSuffix(strings.TrimSpace(s), "s")
	if !ok {
		return 0, false
	}
	return number(v, time.Second)
}

// number reads a count of units; a negative one is 0.
func number(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "+-0123456789.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	if f <= 0 {
		return 0, true
	}
	if f >= float64(maxHint)/float64(unit) {
		return maxHint, true
	}
	return time.Duration(math.Ceil(f * float64(unit))), true
}
