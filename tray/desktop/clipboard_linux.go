package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/atotto/clipboard"
	wayclip "golang.design/x/clipboard"

	"perch/chat"
	"perch/control"
	"perch/tray/selection"
)

// clipboards is the clipboard of this desktop. What serves it is looked up at
// each use, so that a display that comes later is found.
type clipboards struct {
	owns func(on bool)

	mu      sync.Mutex // guards what follows
	owner   *selection.Owner
	wayland bool // the library has found a Wayland clipboard
}

func newClipboard(owns func(on bool)) clips { return &clipboards{owns: owns} }

// way is how a clipboard is reached.
type way int

const (
	wayX11     way = iota // by the X server, XWayland's too
	wayWayland            // by the compositor's data control
	wayText               // by a program such as xclip or wl-copy, text only
)

// choose is the way for a desktop: data control is the only one that reaches
// Wayland's programs at any time; XWayland's clipboard follows it on most
// desktops; programs are what is left.
func choose(display string, dataControl bool) way {
	switch {
	case dataControl:
		return wayWayland
	case display != "":
		return wayX11
	}
	return wayText
}

// pick chooses the way for this moment.
func (c *clipboards) pick() way {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Init is final in the library, a failure too, and falls back to X11: it is
	// asked only once it cannot but find the compositor.
	if !c.wayland && compositorHas("ext_data_control_manager_v1", "zwlr_data_control_manager_v1") {
		c.wayland = wayclip.Init() == nil
	}
	return choose(os.Getenv("DISPLAY"), c.wayland)
}

func (c *clipboards) read(ctx context.Context, primary bool) (control.Clip, error) {
	switch c.pick() {
	case wayX11:
		name := selection.Clipboard
		if primary {
			name = selection.Primary
		}
		got, err := selection.Read(ctx, os.Getenv("DISPLAY"), name)
		if err != nil {
			return control.Clip{}, readError(err)
		}
		return control.Clip{Text: got.Text, PNG: got.PNG}, nil
	case wayWayland:
		var opts []wayclip.Option
		if primary {
			opts = append(opts, wayclip.FromPrimary())
		}
		text, err := wayclip.Read(ctx, wayclip.FmtText, opts...)
		if err != nil {
			return control.Clip{}, readError(err)
		}
		png, err := wayclip.Read(ctx, wayclip.FmtImage, opts...)
		if err != nil && len(text) == 0 {
			return control.Clip{}, readError(err)
		}
		return control.Clip{Text: string(text), PNG: png}, nil
	}
	if primary {
		return control.Clip{}, noClipboard(errors.New("the selected text cannot be read here"))
	}
	text, err := clipboard.ReadAll()
	if err != nil {
		return control.Clip{}, noClipboard(err)
	}
	return control.Clip{Text: text}, nil
}

func (c *clipboards) write(ctx context.Context, w write) (bool, error) {
	switch c.pick() {
	case wayX11:
		return c.writeX11(ctx, w)
	case wayWayland:
		if w.OnlyIfFree {
			// The compositor does not say whether anybody owns it.
			return false, nil
		}
		return true, c.writeWayland(ctx, w.Clip)
	}
	if w.Clip.PNG != nil {
		return false, noClipboard(errors.New("a picture needs an X11 or Wayland clipboard"))
	}
	if err := clipboard.WriteAll(w.Clip.Text); err != nil {
		return false, noClipboard(err)
	}
	return true, nil
}

// writeX11 takes the X11 clipboard and reads back what others will read.
func (c *clipboards) writeX11(ctx context.Context, w write) (bool, error) {
	display := os.Getenv("DISPLAY")
	if w.OnlyIfFree {
		if free, err := selection.Free(display, selection.Clipboard); err != nil || !free {
			return false, err
		}
	}
	content := selection.Content{Text: w.Clip.Text, PNG: w.Clip.PNG}
	o, err := selection.Own(ctx, display, selection.Clipboard, content)
	if err != nil {
		return false, noClipboard(err)
	}
	c.mu.Lock()
	before := c.owner
	c.owner = o
	c.mu.Unlock()
	if before != nil {
		<-before.Lost() // by taking it ourselves
	}
	c.owns(true)
	go func() {
		<-o.Lost()
		c.mu.Lock()
		last := c.owner == o
		if last {
			c.owner = nil
		}
		c.mu.Unlock()
		if last {
			c.owns(false)
		}
	}()
	back, err := selection.Read(ctx, display, selection.Clipboard)
	if err != nil {
		return true, fmt.Errorf("read back the clipboard: %w", readError(err))
	}
	if back.Text != content.Text || !bytes.Equal(back.PNG, content.PNG) {
		return true, chat.NewError(chat.ClassTransient, "err.clipboard_changed",
			"Another program changed the clipboard at the same moment. Copy again.")
	}
	return true, nil
}

// writeWayland hands content to the compositor.
func (c *clipboards) writeWayland(ctx context.Context, clip control.Clip) error {
	var items []wayclip.Option
	if clip.PNG != nil {
		items = append(items, wayclip.Item{Format: wayclip.FmtImage, Bytes: clip.PNG})
	}
	if clip.Text != "" || clip.PNG == nil {
		items = append(items, wayclip.Item{Format: wayclip.FmtText, Bytes: []byte(clip.Text)})
	}
	lost, err := wayclip.WriteAll(ctx, items...)
	if err != nil {
		return noClipboard(err)
	}
	c.owns(true)
	go func() {
		<-lost
		c.owns(false)
	}()
	return nil
}

// close hands the content to the clipboard manager, where there is one.
func (c *clipboards) close() {
	c.mu.Lock()
	o := c.owner
	c.mu.Unlock()
	if o != nil {
		o.Close()
	}
}

// readError is a sentence for a clipboard that cannot be read.
func readError(err error) error {
	switch {
	case errors.Is(err, selection.ErrNoAnswer):
		return chat.NewError(chat.ClassTransient, "err.clipboard_dumb",
			"The program that holds the clipboard does not answer. Copy again, or try another program.").Wrap(err)
	case errors.Is(err, selection.ErrTooLarge):
		return chat.NewError(chat.ClassMisuse, "err.clipboard_large",
			"The clipboard holds too much to read. Save it to a file and attach that.").Wrap(err)
	}
	return noClipboard(err)
}

func noClipboard(err error) error {
	return chat.NewError(chat.ClassMisuse, "err.no_clipboard",
		"The clipboard cannot be reached: %v. Run perch doctor to see what is missing.", err).Wrap(err)
}
