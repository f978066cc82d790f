package providers

import (
	"testing"
	"time"
)

func TestASleepShowsInTheDifferenceOfTheClocks(t *testing.T) {
	for _, c := range []struct {
		wall, monotonic time.Duration
		want            bool
	}{
		{time.Second, time.Second, false},
		{time.Hour, time.Hour, false}, // only a slow look
		{time.Hour, time.Second, true},
		{4 * time.Second, time.Second, false}, // the clock was corrected
		{-time.Hour, time.Second, false},
	} {
		if got := slept(c.wall, c.monotonic); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestAfterASleepAConnectionMustShowThatItLives(t *testing.T) {
	sec := func(s int) int64 { return int64(time.Duration(s) * time.Second) }
	w := &watch{limits: limits{time.Hour, time.Hour}}
	grace := sec(100)
	if err := w.verdict(sec(105), &grace); err != nil || grace < 0 {
		t.Error("no time was given", err)
	}
	if err := w.verdict(sec(109), &grace); err != errSlept {
		t.Error("a dead connection was not noticed:", err)
	}
	w.lastByte.Store(sec(103))
	if err := w.verdict(sec(109), &grace); err != nil || grace != -1 {
		t.Error("a living connection was ended:", err)
	}
}
