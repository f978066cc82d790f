// Command perch-popup is the window of Perch: a process of its own, started and
// ended by perch, so that graphics can neither cost nor end what runs there.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	pictures := flag.String("pictures", "", "make the pictures of the README into this `folder` and end")
	demo := flag.Bool("demo", false, "show the window with made-up sessions, without a running perch")
	flag.Parse()
	if err := run(*pictures, *demo); err != nil {
		fmt.Fprintln(os.Stderr, "perch-popup:", err)
		os.Exit(1)
	}
}
