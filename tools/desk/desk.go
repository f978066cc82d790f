// Package desk holds the tools that reach the user's desktop: clipboard and
// selection, screenshots, generated images.
//
// Nothing here happens on the model's own initiative without a question: each
// tool names its need, which is free only for what the user attached.
package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"perch/chat"
	"perch/control"
	"perch/tools/places"
)

// Subjects of [chat.NeedDesktop].
const (
	SubjectRead       = "clipboard.read"
	SubjectWrite      = "clipboard.write"
	SubjectScreenshot = "screenshot"
)

// Desktop is what the tools need of the desktop role.
type Desktop interface {
	ReadClipboard(ctx context.Context) (control.Clip, error)
	ReadSelection(ctx context.Context) (control.Clip, error)
	WriteClipboard(ctx context.Context, c control.Clip) error
	Screenshot(ctx context.Context, s control.Shot) ([]byte, error)
}

// Tools returns the clipboard and screenshot tools over a desktop. p knows the
// secret places; nil knows none. [GenerateImage] stands apart, since it needs a
// model and no desktop.
func Tools(d Desktop, p *places.Places) []chat.Tool {
	if d == nil {
		d = noDesktop{}
	}
	return []chat.Tool{ReadClipboard(d), WriteClipboard(d, p), TakeScreenshot(d)}
}

// desktopNeed is the need of one desktop thing, free where the user attached it
// or allowed it already.
func desktopNeed(env chat.Env, subject, detail string) chat.Need {
	return chat.Need{Kind: chat.NeedDesktop, Subject: subject, Detail: detail, Free: env.Granted(chat.NeedDesktop, subject)}
}

// errNoDesktop is what the tools say where there is none.
var errNoDesktop = errors.New("there is no desktop here; start Perch inside a graphical session to use clipboard and screenshots")

// noDesktop stands in where there is no desktop.
type noDesktop struct{}

func (noDesktop) ReadClipboard(context.Context) (control.Clip, error) {
	return control.Clip{}, errNoDesktop
}
func (noDesktop) ReadSelection(context.Context) (control.Clip, error) {
	return control.Clip{}, errNoDesktop
}
func (noDesktop) WriteClipboard(context.Context, control.Clip) error { return errNoDesktop }
func (noDesktop) Screenshot(context.Context, control.Shot) ([]byte, error) {
	return nil, errNoDesktop
}

// decode reads a call's input, which the runner has checked against the schema.
func decode(input json.RawMessage, into any) error {
	if err := json.Unmarshal(input, into); err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	return nil
}

// picture is a result image in PNG.
func picture(png []byte, name string) chat.Image {
	return chat.Image{MIME: "image/png", Name: name, Size: len(png), Data: png}
}
