package providers

import (
	"bytes"
	"io"
)

// readSize is how much is asked of the connection at once, in bytes.
const readSize = 32 << 10

// wholeLines hands a body on in whole lines. The event reader looks at all it
// has of an event again at every read: an event of many megabytes in small
// reads would cost quadratic time.
type wholeLines struct {
	r    io.Reader
	buf  []byte
	from int // start of what has not been handed on
	to   int // end of the last whole line
	err  error
}

// Read returns whole lines; at the end of the body, or when a line is longer
// than any event may be, what there is.
func (w *wholeLines) Read(p []byte) (int, error) {
	for w.from == w.to {
		if w.err != nil {
			return 0, w.err
		}
		w.fill()
	}
	n := copy(p, w.buf[w.from:w.to])
	w.from += n
	return n, nil
}

func (w *wholeLines) fill() {
	if w.from > 0 {
		w.buf = w.buf[:copy(w.buf, w.buf[w.from:])]
		w.from, w.to = 0, 0
	}
	if cap(w.buf)-len(w.buf) < readSize {
		w.buf = append(make([]byte, 0, 2*cap(w.buf)+readSize), w.buf...)
	}
	old := len(w.buf)
	n, err := w.r.Read(w.buf[old:cap(w.buf)])
	w.buf = w.buf[:old+n]
	w.err = err
	switch i := bytes.LastIndexAny(w.buf[old:], "\r\n"); {
	case err != nil, len(w.buf) > maxEvent:
		w.to = len(w.buf)
	case i >= 0:
		w.to = old + i + 1
	}
}
