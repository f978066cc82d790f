package popup

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"path/filepath"
	"strings"

	_ "image/gif"  // dropped pictures come in these formats
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise

	"perch/chat"
	"perch/control"
)

// chipKind is what a chip stands for.
type chipKind uint8

const (
	chipText chipKind = iota
	chipImage
	chipFile
)

// chip is something attached to the message in the entry.
type chip struct {
	kind  chipKind
	label string
	icon  string
	text  string
	image chat.Image
	path  string
	// need is the desktop thing that was attached, which the run may then read.
	need string
}

// into puts the chip into a request.
func (c *chip) into(a *control.Ask) {
	switch c.kind {
	case chipText:
		a.Text = strings.TrimRight(a.Text, "\n") + fmt.Sprintf("\n\n[%s]\n%s", c.label, fenced(c.text))
	case chipImage:
		a.Images = append(a.Images, c.image)
	case chipFile:
		a.Files = append(a.Files, c.path)
	}
	if c.need != "" {
		a.Attached = append(a.Attached, c.need)
	}
}

// fenced puts text between fences longer than any within it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// imageChip makes a chip of a picture's bytes.
func imageChip(data []byte, label, icon, need string) (chip, error) {
	conf, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return chip{}, chat.NewError(chat.ClassMisuse, "err.not_an_image", "This is no picture that Perch can read: %v. Save it as PNG or JPEG.", err)
	}
	return chip{kind: chipImage, label: label, icon: icon, need: need, image: chat.Image{
		MIME: "image/" + format, Width: conf.Width, Height: conf.Height, Size: len(data), Name: label, Data: data,
	}}, nil
}

func (p *Popup) attachChip(c chip) {
	p.chips = append(p.chips, c)
	p.ui.refreshChips()
	p.ui.grow()
	p.ui.focus()
}

// dropChip takes a chip off.
func (p *Popup) dropChip(i int) {
	if i < len(p.chips) {
		p.chips = append(p.chips[:i:i], p.chips[i+1:]...)
		p.ui.refreshChips()
		p.ui.grow()
		p.ui.focus()
	}
}

// attachClip attaches the clipboard, or the selection.
func (p *Popup) attachClip(selection bool) {
	label, icon, need := p.t("popup.chip.clipboard"), "clip", "clipboard.read"
	read := p.svc.Desktop.ReadClipboard
	if selection {
		label, icon, need = p.t("popup.chip.selection"), "select", "selection.read"
		read = p.svc.Desktop.ReadSelection
	}
	do(p, read, func(c control.Clip, err error) {
		switch {
		case err != nil:
			p.fail(err)
		case len(c.PNG) > 0:
			ic, err := imageChip(c.PNG, label, "image", need)
			if err != nil {
				p.fail(err)
				return
			}
			p.attachChip(ic)
		case strings.TrimSpace(c.Text) == "":
			p.ui.notice(p.t("popup.chip.empty"), false)
		default:
			p.attachChip(chip{kind: chipText, label: label, icon: icon, text: c.Text, need: need})
		}
	})
}

// attachShot hides the popup, takes a picture and shows the popup again, so that
// it is not in the picture.
func (p *Popup) attachShot(what string) {
	shot := control.Shot{What: what, Window: p.desk.Previous()}
	if what == "region" { // chosen afterwards, on the picture
		shot.What = "screen"
	}
	p.hideFor(func() {
		do(p, func(ctx context.Context) ([]byte, error) { return p.svc.Desktop.Screenshot(ctx, shot) },
			func(png []byte, err error) {
				p.show(nil)
				if err != nil {
					p.fail(err)
					return
				}
				if what == "region" {
					p.ui.chooseRegion(png)
					return
				}
				c, err := imageChip(png, p.t("popup.chip.screenshot"), "camera", "screenshot")
				if err != nil {
					p.fail(err)
					return
				}
				p.attachChip(c)
			})
	})
}

// attachFile names a file to the model.
func (p *Popup) attachFile(path string) {
	p.attachChip(chip{kind: chipFile, label: filepath.Base(path), icon: "file", path: path})
}
