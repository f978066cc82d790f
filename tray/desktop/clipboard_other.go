//go:build !linux

package desktop

import (
	"context"

	"github.com/atotto/clipboard"
	syscopy "golang.design/x/clipboard"

	"perch/chat"
	"perch/control"
)

// clipboards is the system's clipboard, which keeps content by itself.
type clipboards struct{}

func newClipboard(func(on bool)) clips { return clipboards{} }

func (clipboards) read(ctx context.Context, primary bool) (control.Clip, error) {
	if primary {
		return control.Clip{}, nil // this system has no such thing
	}
	if syscopy.Init() != nil {
		text, err := clipboard.ReadAll()
		if err != nil {
			return control.Clip{}, noClipboard(err)
		}
		return control.Clip{Text: text}, nil
	}
	text, err := syscopy.Read(ctx, syscopy.FmtText)
	if err != nil {
		return control.Clip{}, noClipboard(err)
	}
	png, err := syscopy.Read(ctx, syscopy.FmtImage)
	if err != nil && len(text) == 0 {
		return control.Clip{}, noClipboard(err)
	}
	return control.Clip{Text: string(text), PNG: png}, nil
}

func (clipboards) write(ctx context.Context, w write) (bool, error) {
	if w.OnlyIfFree {
		return false, nil
	}
	if syscopy.Init() != nil {
		if err := clipboard.WriteAll(w.Clip.Text); err != nil {
			return false, noClipboard(err)
		}
		return true, nil
	}
	var items []syscopy.Option
	if w.Clip.PNG != nil {
		items = append(items, syscopy.Item{Format: syscopy.FmtImage, Bytes: w.Clip.PNG})
	}
	if w.Clip.Text != "" || w.Clip.PNG == nil {
		items = append(items, syscopy.Item{Format: syscopy.FmtText, Bytes: []byte(w.Clip.Text)})
	}
	if _, err := syscopy.WriteAll(ctx, items...); err != nil {
		return false, noClipboard(err)
	}
	return true, nil
}

func (clipboards) close() {}

func noClipboard(err error) error {
	return chat.NewError(chat.ClassMisuse, "err.no_clipboard",
		"The clipboard cannot be reached: %v. Run perch doctor to see what is missing.", err).Wrap(err)
}
