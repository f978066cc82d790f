// Package weights holds the figures for token estimates that `make calibrate`
// fits, one file for each tokenizer family, each with the errors it reaches on
// text that was held out. Nothing here is written by hand.
package weights

import "embed"

// Files are the weight files, FAMILY.json.
//
//go:embed *.json
var Files embed.FS
