package popup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"golang.org/x/sys/unix"

	"perch/chat"
	"perch/popup/transcript"
)

// Figure is what one more piece of a streaming answer costs.
type Figure struct {
	Answer  int           // bytes that were there before
	Piece   time.Duration // time of the window's thread, drawing included
	Slowest time.Duration // the longest single update, without the painting
}

// MeasurePieces streams pieces of 333 bytes to an answer of each size and
// returns what the window's thread spent on each, painting included. The window
// must be visible.
func MeasurePieces(ctx context.Context, p *Popup, sizes ...int) ([]Figure, error) {
	const pieces = 40
	piece := strings.Repeat("Ein Satz aus ganz gewöhnlichen Wörtern. ", 9)[:333]
	var out []Figure
	for _, size := range sizes {
		var seq int64
		apply := func(text string) {
			seq++
			p.draw(p.tr.Apply(chat.Stamp(&chat.TextDelta{Text: text}, "measured", seq)))
		}
		fyne.DoAndWait(func() {
			p.tr = transcript.New()
			p.view.Clear()
			apply(strings.Repeat(measured, size/len(measured)+1))
			p.view.ToEnd()
		})
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
		f := Figure{Answer: size}
		var begin, end time.Duration
		fyne.DoAndWait(func() { begin = threadTime() })
		for i := range pieces {
			fyne.DoAndWait(func() {
				t := time.Now()
				apply(piece)
				if i%3 == 2 {
					apply("\n\n")
				}
				f.Slowest = max(f.Slowest, time.Since(t))
			})
			if err := pause(ctx, framePause); err != nil {
				return nil, err
			}
		}
		fyne.DoAndWait(func() { end = threadTime() })
		f.Piece = (end - begin) / pieces
		out = append(out, f)
	}
	return out, nil
}

// measured is Markdown as models write it: text, a list, code.
const measured = "## A heading\n\nSome **bold** text with `code` and [a link](https://example.org), long enough to wrap once or twice in a window of ordinary width.\n\n- one item\n- another item\n\n```go\nfunc main() {\n\tprintln(\"hello\")\n}\n```\n\n"

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("measure: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
