package providers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/tmaxmax/go-sse"

	"perch/chat"
)

// maxEvent is the longest event that is read, in bytes: a generated picture or
// a whole answer can come in one event.
const maxEvent = 32 << 20

type frame struct {
	typ  string
	data []byte // valid until the next frame
}

// frames splits a body into events.
func frames(r io.Reader, f Format) iter.Seq2[frame, error] {
	if f == NDJSON {
		return lines(r)
	}
	return func(yield func(frame, error) bool) {
		var buf []byte
		// A closing event whose blank line is missing is complete all the same.
		r = io.MultiReader(&wholeLines{r: r}, strings.NewReader("\n\n"))
		for ev, err := range sse.Read(r, &sse.ReadConfig{MaxEventSize: maxEvent}) {
			if err != nil {
				yield(frame{}, tooLong(err))
				return
			}
			if ev.Data == "" {
				continue
			}
			buf = append(buf[:0], ev.Data...)
			if !yield(frame{ev.Type, buf}, nil) {
				return
			}
		}
	}
}

// lines splits a body of one JSON value a line. A last line without its end is
// cut off and not decoded.
func lines(r io.Reader) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var long []byte
		for {
			b, err := in.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				if long = append(long, b...); len(long) > maxEvent {
					yield(frame{}, tooLong(bufio.ErrTooLong))
					return
				}
				continue
			}
			if len(long) > 0 {
				long = append(long, b...)
				b = long
			}
			if err != nil {
				if err != io.EOF {
					yield(frame{}, err)
				} else if b = bytes.TrimSpace(b); len(b) > 0 && b[len(b)-1] == '}' {
					yield(frame{data: b}, nil) // an error object often has no line end
				}
				return
			}
			if b = bytes.TrimSpace(b); len(b) > 0 {
				if !yield(frame{data: b}, nil) {
					return
				}
			}
			long = long[:0]
		}
	}
}

func tooLong(err error) error {
	if !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return chat.NewError(chat.ClassBadRequest, "err.provider.event_too_long", "The vendor sent an event of more than %d MB, which is refused. Try again or choose another model.", maxEvent>>20).Wrap(err)
}

// Garbled is the error of an event that is no JSON or not of the vendor's form:
// a broken transport more often than anything else.
func Garbled(cause error) error {
	return chat.NewError(chat.ClassTransient, "err.provider.garbled", "The vendor's stream held an event that could not be read. Try again.").Wrap(cause)
}
