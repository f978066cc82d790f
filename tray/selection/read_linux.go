package selection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // pictures that programs put on the clipboard
	_ "image/jpeg" // same
	"image/png"
	"slices"
	"strings"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	_ "golang.org/x/image/bmp"  // same
	_ "golang.org/x/image/tiff" // same
	_ "golang.org/x/image/webp" // same
)

// readTimeout is how long a read waits for the owner, which may be busy or
// suspended. Longer transfers go on as long as pieces keep coming.
const readTimeout = 3 * time.Second

// ErrNoAnswer says that the owner of the selection did not answer.
var ErrNoAnswer = errors.New("the program that holds the selection does not answer")

// ErrTooLarge says that the content is beyond what is read.
var ErrTooLarge = fmt.Errorf("the selection holds more than %d MB", maxContent>>20)

// textTargets are the names of text, best first.
var textTargets = []string{"UTF8_STRING", "text/plain;charset=utf-8", "text/plain;charset=UTF-8", "text/plain", "STRING", "TEXT"}

// imageTargets are the names of pictures, best first.
var imageTargets = []string{"image/png", "image/jpeg", "image/webp", "image/bmp", "image/x-bmp", "image/tiff", "image/gif"}

// Read reads a selection of a display. A selection that nobody owns is empty.
func Read(ctx context.Context, display, selection string) (Content, error) {
	c, err := dial(display)
	if err != nil {
		return Content{}, err
	}
	defer c.close()
	var out Content
	sel, err := c.atom(selection)
	if err != nil {
		return out, err
	}
	owner, err := xproto.GetSelectionOwner(c.x, sel).Reply()
	if err != nil {
		return out, fmt.Errorf("owner of %s: %w", selection, err)
	}
	if owner.Owner == xproto.WindowNone {
		return out, nil
	}
	offered, err := c.targets(ctx, sel)
	if err != nil {
		return out, err
	}
	if t := first(textTargets, offered); t != "" {
		b, err := c.convert(ctx, sel, t)
		if err != nil {
			return out, err
		}
		out.Text = text(t, b)
	}
	if t := first(imageTargets, offered); t != "" {
		b, err := c.convert(ctx, sel, t)
		if err != nil {
			return out, err
		}
		if out.PNG, err = toPNG(b); err != nil && out.Text == "" {
			return out, fmt.Errorf("the picture on the clipboard (%s) cannot be read: %w", t, err)
		}
	}
	return out, nil
}

// first is the best of the wanted names that is offered.
func first(wanted, offered []string) string {
	for _, w := range wanted {
		if slices.Contains(offered, w) {
			return w
		}
	}
	return ""
}

// text decodes the bytes of a text target; STRING is Latin-1 by the ICCCM.
func text(target string, b []byte) string {
	if target != "STRING" {
		return strings.TrimSuffix(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00")
	}
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// toPNG keeps a PNG and encodes other pictures as one.
func toPNG(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")) || len(b) == 0 {
		return b, nil
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// targets are the names of what the owner offers. An owner that does not know
// the question is asked for text.
func (c *conn) targets(ctx context.Context, sel xproto.Atom) ([]string, error) {
	b, err := c.convert(ctx, sel, "TARGETS")
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return []string{"STRING"}, nil
	}
	var names []string
	for i := 0; i+4 <= len(b); i += 4 {
		n, err := c.name(xproto.Atom(xgb.Get32(b[i:])))
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	return names, nil
}

// convert asks the owner for one target; nil is a no.
func (c *conn) convert(ctx context.Context, sel xproto.Atom, target string) ([]byte, error) {
	t, err := c.atom(target)
	if err != nil {
		return nil, err
	}
	prop, err := c.atom("PERCH_SELECTION")
	if err != nil {
		return nil, err
	}
	xproto.DeleteProperty(c.x, c.win, prop)
	at, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	xproto.ConvertSelection(c.x, c.win, sel, t, prop, at)
	for {
		ev, err := c.within(ctx, target)
		if err != nil {
			return nil, err
		}
		n, ok := ev.(xproto.SelectionNotifyEvent)
		if !ok || n.Selection != sel || n.Target != t {
			continue
		}
		if n.Property == xproto.AtomNone {
			return nil, nil
		}
		break
	}
	b, kind, err := c.take(prop)
	if err != nil {
		return nil, err
	}
	incr, err := c.atom("INCR")
	if err != nil {
		return nil, err
	}
	if kind != incr {
		return b, nil
	}
	return c.pieces(ctx, target, prop)
}

// pieces reads a transfer in pieces, which ends with an empty one. Taking the
// property is what asks for the next.
func (c *conn) pieces(ctx context.Context, target string, prop xproto.Atom) ([]byte, error) {
	var out []byte
	for {
		ev, err := c.within(ctx, target)
		if err != nil {
			return nil, err
		}
		p, ok := ev.(xproto.PropertyNotifyEvent)
		if !ok || p.Window != c.win || p.Atom != prop || p.State != xproto.PropertyNewValue {
			continue
		}
		b, _, err := c.take(prop)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			return out, nil
		}
		if out = append(out, b...); len(out) > maxContent {
			return nil, ErrTooLarge
		}
	}
}

// take reads and deletes a property of our window.
func (c *conn) take(prop xproto.Atom) ([]byte, xproto.Atom, error) {
	rep, err := xproto.GetProperty(c.x, true, c.win, prop, xproto.GetPropertyTypeAny, 0, maxContent/4).Reply()
	if err != nil {
		return nil, 0, fmt.Errorf("read the selection's property: %w", err)
	}
	if rep.BytesAfter > 0 {
		return nil, 0, ErrTooLarge
	}
	return rep.Value, rep.Type, nil
}

// within is the next event, which must come before the owner counts as dumb.
func (c *conn) within(ctx context.Context, target string) (xgb.Event, error) {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ev, err := c.next(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, fmt.Errorf("%w (asked for %s)", ErrNoAnswer, target)
	}
	return ev, err
}
