package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestFiguresOfTheStart(t *testing.T) {
	if os.Getenv("PERCH_FIGURES") == "" {
		t.Skip("measures; run `make bench`")
	}
	bin := binary(t, "perch")
	var all []time.Duration
	for range 21 {
		start := time.Now()
		if err := exec.Command(bin, "version").Run(); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	st, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("FIGURE\tcommand\tperch version, median\t%.1f ms\t≤ 30 ms\tworst %.1f ms; program of %.0f MB", float64(all[10].Microseconds())/1000, float64(all[20].Microseconds())/1000, float64(st.Size())/1e6)
}
