//go:build !race

package chatview

// raceEnabled says that the race detector slows everything down.
const raceEnabled = false
