//go:build !unix

package store

import "time"

var began = time.Now()

// cpu is the time that has passed: no less than the processor time.
func cpu() time.Duration { return time.Since(began) }
