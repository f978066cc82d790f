package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"perch/chat"
)

// appendRounds is enough for a steady median of synced writes.
const appendRounds = 300

// TestAppendCostsLittleMoreThanABarePut compares the medians of both, taken in
// turn so that the disk's moods hit both alike.
func TestAppendCostsLittleMoreThanABarePut(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("a figure, not a behaviour")
	}
	dir := t.TempDir()
	s := openIn(t, dir)
	fill(t, s, "s1")
	bare, err := bbolt.Open(filepath.Join(dir, "bare.db"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	must(t, err)
	defer bare.Close()
	name := []byte("log")
	must(t, bare.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(name); return err }))

	m := user("m", strings.Repeat("x", 1000))
	line, err := encodeMessage(&m)
	must(t, err)
	var own, raw []time.Duration
	for i := range appendRounds {
		m.ID = fmt.Sprintf("m%d", i)
		start := time.Now()
		must(t, s.Append("s1", m))
		own = append(own, time.Since(start))
		start = time.Now()
		must(t, bare.Update(func(tx *bbolt.Tx) error { return tx.Bucket(name).Put(seqKey(uint64(i)), line) }))
		raw = append(raw, time.Since(start))
	}
	p50 := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	a, b := p50(own), p50(raw)
	t.Logf("append p50 %v, bare put p50 %v, ratio %.2f", a, b, float64(a)/float64(b))
	// The goal is 1.2; the bound leaves room for a disk that others use.
	if float64(a) > 1.5*float64(b) {
		t.Errorf("an append takes %v, a bare put %v", a, b)
	}
}

// The time of a repair is part of opening a session.
func TestRepairOfALongSessionIsQuick(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("a figure, not a behaviour")
	}
	msgs := bigSession(10000)
	start := cpu()
	if _, rep := chat.Repair(msgs); rep.Changed() {
		t.Fatal("a sound session was repaired")
	}
	used := cpu() - start
	t.Logf("repair of 10,000 sound messages: %v", used)
	if used > 5*time.Millisecond {
		t.Errorf("repair took %v of CPU", used)
	}
}
