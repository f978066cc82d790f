// Command compare measures the knowledge base beside other engines, on the same
// data in the same run: quality on public collections, speed and size on a
// generated corpus. It is a module of its own, so that the engines compared with
// are no part of the product.
//
//	go run . [-n passages] [-engines perch,bleve,sqlite,chromem] [-quality=false]
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	n := flag.Int("n", 100_000, "passages of about 1 kB")
	engines := flag.String("engines", "perch,bleve,sqlite,chromem", "engines to measure")
	quality := flag.Bool("quality", true, "measure nDCG@10 on the public collections")
	speed := flag.Bool("speed", true, "measure speed")
	prof := flag.String("cpuprofile", "", "write a profile of the keyword queries")
	flag.Parse()
	profile = *prof
	want := strings.Split(*engines, ",")
	if *quality {
		if err := measureQuality(want); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if *speed {
		if err := measureSpeed(want, *n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// profile is where the keyword queries' profile goes.
var profile string

// cpuTime is what this process has used, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss is the resident memory in MB.
func rss() float64 {
	runtime.GC()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "VmRSS:"); ok {
			var kb float64
			fmt.Sscan(v, &kb)
			return kb / 1024
		}
	}
	return 0
}

// times are durations of the same operation.
type times []time.Duration

func (t times) at(p float64) float64 {
	s := slices.Clone(t)
	slices.Sort(s)
	return float64(s[min(int(p*float64(len(s))), len(s)-1)].Microseconds()) / 1000
}

// measure runs f for each query and returns wall times and CPU a query in ms.
func measure(queries []string, f func(string) error) (times, float64, error) {
	var ts times
	cpu := cpuTime()
	for _, q := range queries {
		start := time.Now()
		if err := f(q); err != nil {
			return nil, 0, err
		}
		ts = append(ts, time.Since(start))
	}
	return ts, float64((cpuTime() - cpu).Microseconds()) / 1000 / float64(len(queries)), nil
}
