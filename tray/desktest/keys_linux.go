package desktest

import (
	"time"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// Keysyms of keys that tests hit.
const (
	KeyControl = 0xffe3
	KeyShift   = 0xffe1
	KeySpace   = 0x20
)

// Hit presses keys one after another and lets them go in reverse, by their
// keysyms, and returns when the last one went down. It starts no program, so
// that the time is good for figures of a millisecond.
func (r *Rig) Hit(keysyms ...uint32) time.Time {
	r.t.Helper()
	if err := xtest.Init(r.x); err != nil {
		r.t.Fatalf("XTEST: %v", err)
	}
	var codes []byte
	for _, sym := range keysyms {
		codes = append(codes, r.keycode(sym))
	}
	for _, c := range codes[:len(codes)-1] {
		xtest.FakeInput(r.x, xproto.KeyPress, c, 0, r.root, 0, 0, 0)
	}
	r.x.Sync()
	at := time.Now()
	xtest.FakeInput(r.x, xproto.KeyPress, codes[len(codes)-1], 0, r.root, 0, 0, 0)
	r.x.Sync()
	for i := len(codes) - 1; i >= 0; i-- {
		xtest.FakeInput(r.x, xproto.KeyRelease, codes[i], 0, r.root, 0, 0, 0)
	}
	r.x.Sync()
	return at
}

// keycode is the key that gives a keysym without modifiers.
func (r *Rig) keycode(sym uint32) byte {
	r.t.Helper()
	s := xproto.Setup(r.x)
	n := byte(s.MaxKeycode - s.MinKeycode + 1)
	m, err := xproto.GetKeyboardMapping(r.x, s.MinKeycode, n).Reply()
	if err != nil {
		r.t.Fatalf("keyboard mapping: %v", err)
	}
	per := int(m.KeysymsPerKeycode)
	for i := 0; i < int(n); i++ {
		if uint32(m.Keysyms[i*per]) == sym {
			return byte(s.MinKeycode) + byte(i)
		}
	}
	r.t.Fatalf("no key gives keysym %#x", sym)
	return 0
}
