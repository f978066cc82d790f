// Package selection reads and owns the X11 selections, clipboard and primary,
// at any size: what does not fit one request goes in pieces (the INCR protocol
// of the ICCCM), in both directions. Reading never disturbs the owner.
//
// It speaks to the X server by itself since the library for this, which Perch
// uses on the other systems, fails silently above 256 KB and reads the marker of
// a piecewise transfer as content.
package selection
